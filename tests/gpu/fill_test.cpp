// The device's data is the host's, bit for bit: every dtype and every kind of fill.
#include "tests/gpu/cases.h"

#include "tuner/compile/compile.h"
#include "tuner/measure/fill.h"
#include "tuner/measure/runner_device.h"

namespace lathe::test {
namespace {

TEST(Fill, IsTheSameOnTheDevice) {
  auto opened = RunnerDevice::open(0);
  ASSERT_TRUE(opened.ok()) << opened.error().sentence();
  RunnerDevice& device = **opened;
  const auto path = shipped_file("runner/gpu_utilities.cu");
  ASSERT_TRUE(path.ok());
  const auto compiled = compile_kernel(read_file(*path).value(), "lathe_fill",
                                       {"-I" + path->parent_path().string(), "--fmad=false"},
                                       list_cuda_devices()->at(0).architecture(), path->string());
  ASSERT_TRUE(compiled.ok()) << compiled.error().sentence();
  Launch launch;
  launch.grid[0] = 64;
  launch.block[0] = 256;
  CUfunction fill = nullptr;
  ASSERT_TRUE(device.load({*compiled->cubin, compiled->cubin_hash, compiled->entry, launch}, fill).ok());
  constexpr std::uint64_t COUNT = 50021;
  DeviceMemory memory;
  ASSERT_EQ(memory.allocate(device.cuda(), COUNT * 8), CUDA_SUCCESS);

  int checked = 0;
  for (const char* dtype : {"f64", "f32", "f16", "bf16", "e4m3", "e5m2", "i64", "i32", "i16", "i8", "u64",
                            "u32", "u16", "u8", "bool"})
    for (const Fill::Kind kind : {Fill::Kind::normal, Fill::Kind::uniform, Fill::Kind::integer,
                                  Fill::Kind::zero, Fill::Kind::permutation, Fill::Kind::offsets}) {
      Workload::Buffer buffer{"b", dtype, Direction::in, COUNT, {}};
      buffer.fill.kind = kind;
      buffer.fill.mean = 0.1;
      buffer.fill.spread = 3.7;
      buffer.fill.low = -1.3;
      buffer.fill.high = 17.1;
      buffer.integer_low = -5;
      buffer.integer_high = kind == Fill::Kind::offsets ? 120 : 1000; // 120: the narrowest holds it
      element::FillPlan plan = plan_fill(buffer, 42, 3);
      const std::size_t bytes = COUNT * static_cast<std::size_t>(element::size_of(plan.dtype));
      std::vector<std::byte> host(bytes), from_device(bytes);
      fill_buffer(plan, host);
      CUdeviceptr data = memory.address();
      void* arguments[] = {&plan, &data};
      ASSERT_TRUE(device.launch(fill, launch, arguments).ok());
      ASSERT_TRUE(device.wait(10).ok());
      ASSERT_EQ(device.cuda().cuMemcpyDtoH(from_device.data(), data, bytes), CUDA_SUCCESS);
      EXPECT_TRUE(host == from_device) << dtype << " fill " << static_cast<int>(kind);
      ++checked;
    }
  std::printf("%d combinations of dtype and fill are alike\n", checked);
}

} // namespace
} // namespace lathe::test
