// Runs the tuned silu_and_mul on a GPU, checks it against a CPU computation, and prints raw against tuned.
#include "silu_and_mul.h"

#include <algorithm>
#include <chrono>
#include <climits>
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

// Several launches as one graph: its replay costs the GPU's time, not the host's time of launching.
template <class Launch> cudaGraphExec_t record(Launch launch, int launches, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  require(launch(), "launch"); // once outside, so that everything is loaded
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (int i = 0; i < launches; ++i)
    require(launch(), "launch");
  require(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  require(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  require(cudaGraphDestroy(graph), "cudaGraphDestroy");
  return executable;
}

float median(std::vector<float> times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

// Microseconds of one launch of each, medians of samples taken in turn.
template <class First, class Second>
void compare(First first, Second second, cudaStream_t stream, float (&result)[2]) {
  constexpr int samples = 41, launches = 20;
  cudaEvent_t begin, end;
  require(cudaEventCreate(&begin), "cudaEventCreate");
  require(cudaEventCreate(&end), "cudaEventCreate");
  const cudaGraphExec_t graphs[2] = {record(first, launches, stream), record(second, launches, stream)};
  std::vector<float> times[2];
  for (int i = 0; i < samples; ++i)
    for (int which = 0; which < 2; ++which) {
      require(cudaEventRecord(begin, stream), "cudaEventRecord");
      require(cudaGraphLaunch(graphs[which], stream), "cudaGraphLaunch");
      require(cudaEventRecord(end, stream), "cudaEventRecord");
      require(cudaEventSynchronize(end), "cudaEventSynchronize");
      float milliseconds = 0;
      require(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
      times[which].push_back(milliseconds * 1000 / launches);
    }
  for (int which = 0; which < 2; ++which) {
    result[which] = median(times[which]);
    require(cudaGraphExecDestroy(graphs[which]), "cudaGraphExecDestroy");
  }
  require(cudaEventDestroy(begin), "cudaEventDestroy");
  require(cudaEventDestroy(end), "cudaEventDestroy");
}

// Nanoseconds of the host that the choice of a configuration takes.
double dispatch_ns() {
  constexpr int calls = 1000000;
  int sum = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i)
    sum += tuned::select(tuned::current_device(), 0, {1 + i % 4096, 4096});
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  return sum == INT_MIN ? 0 : spent.count() / calls; // the sum is looked at, lest the loop vanish
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
  float times[2];
  compare([&] { return tuned::launch_raw(problem, stream, device_out, device_input, d); },
          [&] { return tuned::launch(problem, stream, device_out, device_input, d); }, stream, times);
  const bool is_tuned = tuned::select(tuned::current_device(), 0, problem) >= 0;
  std::printf("%6d x %6d  %s (error %.4f)  raw %8.2f us  tuned %8.2f us  %.2fx%s\n", num_tokens, d,
              correct ? "correct" : "WRONG", error, times[0], times[1], times[0] / times[1],
              is_tuned ? "" : "  (the raw kernel: not tuned for this size)");
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
  std::printf("choosing a configuration: %.0f ns a call\n", dispatch_ns());
  return correct ? 0 : 1;
}
