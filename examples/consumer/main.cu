// Runs the tuned silu_and_mul on a GPU, checks it against a CPU computation, and prints raw against tuned.
#include "silu_and_mul.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

cudaError_t launch_from_second_unit(__nv_bfloat16* out, const __nv_bfloat16* input, int num_tokens, int d,
                                    cudaStream_t stream);

namespace {

using Element = __nv_bfloat16;
namespace tuned = lathe_tuned::silu_and_mul;

void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess)
    return;
  std::fprintf(stderr, "consumer: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

// Values in [-3, 3) that differ from element to element.
float sample(size_t index) {
  return static_cast<float>((index * 2654435761u) % 6000) / 1000.0f - 3.0f;
}

// The largest |out - expected| / (|expected| + 1) over the rows given.
double worst_error(const std::vector<Element>& out, const std::vector<Element>& input, int num_tokens,
                   int d) {
  double worst = 0;
  for (int token = 0; token < num_tokens; ++token)
    for (int i = 0; i < d; ++i) {
      const double gate = __bfloat162float(input[size_t(token) * 2 * d + i]);
      const double up = __bfloat162float(input[size_t(token) * 2 * d + d + i]);
      const double expected = gate / (1 + std::exp(-gate)) * up;
      const double error = std::fabs(__bfloat162float(out[size_t(token) * d + i]) - expected);
      worst = std::max(worst, std::isfinite(error) ? error / (std::fabs(expected) + 1) : HUGE_VAL);
    }
  return worst;
}

template <class Launch> float median_us(Launch launch, cudaStream_t stream) {
  constexpr int warm_up = 5, repeats = 31, launches = 10;
  cudaEvent_t begin, end;
  require(cudaEventCreate(&begin), "cudaEventCreate");
  require(cudaEventCreate(&end), "cudaEventCreate");
  for (int i = 0; i < warm_up; ++i)
    require(launch(), "launch");
  std::vector<float> times;
  for (int i = 0; i < repeats; ++i) {
    require(cudaEventRecord(begin, stream), "cudaEventRecord");
    for (int j = 0; j < launches; ++j)
      require(launch(), "launch");
    require(cudaEventRecord(end, stream), "cudaEventRecord");
    require(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    times.push_back(milliseconds * 1000 / launches);
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[repeats / 2];
}

bool run(int num_tokens, int d, cudaStream_t stream) {
  std::vector<Element> input(size_t(num_tokens) * 2 * d), out(size_t(num_tokens) * d);
  for (size_t i = 0; i < input.size(); ++i)
    input[i] = __float2bfloat16(sample(i));
  Element *device_input, *device_out;
  require(cudaMalloc(&device_input, input.size() * sizeof(Element)), "cudaMalloc");
  require(cudaMalloc(&device_out, out.size() * sizeof(Element)), "cudaMalloc");
  require(cudaMemcpy(device_input, input.data(), input.size() * sizeof(Element), cudaMemcpyHostToDevice),
          "cudaMemcpy");

  const tuned::problem problem{num_tokens, d};
  double error = 0;
  for (int unit = 0; unit < 2; ++unit) {
    require(cudaMemset(device_out, 0xff, out.size() * sizeof(Element)),
            "cudaMemset"); // NaN where nothing is written
    require(unit == 0 ? tuned::launch(problem, stream, device_out, device_input, d)
                      : launch_from_second_unit(device_out, device_input, num_tokens, d, stream),
            "launch");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    require(cudaMemcpy(out.data(), device_out, out.size() * sizeof(Element), cudaMemcpyDeviceToHost),
            "cudaMemcpy");
    error = std::max(error, worst_error(out, input, num_tokens, d));
  }
  constexpr double bf16_tolerance = 1.0 / 128; // one unit in the last place of a bf16 result
  const bool correct = error <= bf16_tolerance;
  const float raw =
      median_us([&] { return tuned::launch_raw(problem, stream, device_out, device_input, d); }, stream);
  const float best =
      median_us([&] { return tuned::launch(problem, stream, device_out, device_input, d); }, stream);
  std::printf("%6d x %6d  %s (error %.4f)  raw %8.2f us  tuned %8.2f us  %.2fx\n", num_tokens, d,
              correct ? "correct" : "WRONG", error, raw, best, raw / best);
  require(cudaFree(device_input), "cudaFree");
  require(cudaFree(device_out), "cudaFree");
  return correct;
}

} // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fputs("consumer: no GPU here: built, not run\n", stderr);
    return 77;
  }
  cudaStream_t stream;
  require(cudaStreamCreate(&stream), "cudaStreamCreate");
  bool correct = true;
  // Tuned sizes, and one that no row of the table names.
  for (const int num_tokens : {1, 7, 64, 1024, 4096})
    for (const int d : {4096, 5120, 14336})
      correct &= run(num_tokens, d, stream);
  return correct ? 0 : 1;
}
