#include "tests/gpu/cases.h"

namespace lathe::test {
namespace {

template <class T> T value_of(Result<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.error().sentence();
    std::abort();
  }
  return std::move(result).value();
}

LaunchGeometry geometry(const std::array<std::string, 3>& launch) {
  LaunchGeometry result;
  const Expression one = parse("1");
  result.grid = {parse(launch[0]), one, one};
  result.block = {parse(launch[1]), one, one};
  result.shared_bytes = parse(launch[2]);
  return result;
}

} // namespace

Expression parse(const std::string& text) {
  return value_of(Expression::parse(text));
}

Argument buffer(const std::string& name, const std::string& dtype, Direction direction,
                const std::string& count) {
  Argument argument;
  argument.name = name;
  argument.dtype = dtype;
  argument.direction = direction;
  argument.count = parse(count);
  return argument;
}

Argument scalar(const std::string& name, const std::string& dtype, const std::string& value) {
  Argument argument;
  argument.name = name;
  argument.is_buffer = false;
  argument.dtype = dtype;
  argument.value = parse(value);
  return argument;
}

Case::Case(std::string raw_source, std::string raw_instance, std::array<std::string, 3> raw_launch,
           std::string kernel_source, std::string kernel_instance, std::array<std::string, 3> kernel_launch,
           std::vector<Argument> arguments, std::map<std::string, std::int64_t> dimensions)
    : folder_(value_of(TemporaryFolder::create("gpu-test"))) {
  spec_.name = "case";
  for (const auto& [name, size] : dimensions)
    spec_.dimensions.push_back(name);
  Knob knob;
  knob.name = "V";
  for (std::int64_t v = 0; v < 32; ++v)
    knob.values.emplace_back(std::in_place_type<std::int64_t>, v);
  knob.default_value = parse("0");
  spec_.knobs.push_back(knob);
  spec_.arguments = std::move(arguments);
  Problem problem;
  problem.dimensions = std::move(dimensions);
  problem.label = "case";
  spec_.problems.push_back(problem);
  spec_.reference.file = folder_.path() / "raw.cu";
  spec_.reference.instance = std::move(raw_instance);
  spec_.reference.launch = geometry(raw_launch);
  spec_.kernel.file = folder_.path() / "kernel.cu";
  spec_.kernel.instance = std::move(kernel_instance);
  spec_.kernel.launch = geometry(kernel_launch);
  value_of(write_file(spec_.reference.file, raw_source));
  value_of(write_file(spec_.kernel.file, kernel_source));
}

const Workload& Case::workload() {
  const std::vector<DeviceInfo> devices = value_of(list_cuda_devices());
  workload_ = value_of(bind_workload(spec_, spec_.problems[0], {}, devices[0].limits()));
  return workload_;
}

MeasureOptions Case::options() const {
  MeasureOptions options;
  options.cache_folder = (folder_.path() / "cache").string();
  options.time_limit_s = 2;
  return options;
}

std::unique_ptr<Backend> prepared(Case& test_case, const MeasureOptions& options) {
  std::unique_ptr<Backend> backend = value_of(make_cuda_backend(0));
  const Status status = backend->prepare(test_case.workload(), options);
  EXPECT_TRUE(status.ok()) << status.error().sentence();
  return status.ok() ? std::move(backend) : nullptr;
}

} // namespace lathe::test
