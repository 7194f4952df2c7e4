#include "tuner/measure/cpu_reference.h"

#include "tuner/base/files.h"
#include "tuner/base/subprocess.h"
#include "tuner/measure/fill.h"
#include "tuner/measure/verify.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lathe {
namespace {

constexpr unsigned TIME_LIMIT_S = 60;
constexpr const char* ENTRY = "lathe_reference";
using Function = void (*)(const std::int64_t*, const double*, double* const*);

double number(const Value& value) {
  if (const auto* real = std::get_if<double>(&value))
    return *real;
  if (const auto* truth = std::get_if<bool>(&value))
    return *truth ? 1 : 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return static_cast<double>(*integer);
  return 0;
}

// Doubles that a child process may change.
class SharedNumbers {
public:
  explicit SharedNumbers(std::size_t count) : bytes_(std::max<std::size_t>(count, 1) * sizeof(double)) {
    void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    data_ = memory == MAP_FAILED ? nullptr : static_cast<double*>(memory);
  }
  SharedNumbers(const SharedNumbers&) = delete;
  SharedNumbers& operator=(const SharedNumbers&) = delete;
  ~SharedNumbers() {
    if (data_)
      ::munmap(data_, bytes_);
  }
  double* data() const { return data_; }

private:
  std::size_t bytes_;
  double* data_ = nullptr;
};

Status run_in_child(Function function, const std::int64_t* dimensions, const double* scalars,
                    double* const* buffers) {
  const pid_t child = ::fork();
  if (child < 0)
    return Error{"cannot run the CPU reference", std::strerror(errno), ""};
  if (child == 0) {
    ::alarm(TIME_LIMIT_S);
    function(dimensions, scalars, buffers);
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status))
    return Error{"the CPU reference failed",
                 WTERMSIG(status) == SIGALRM ? "it did not end within " + std::to_string(TIME_LIMIT_S) + " s"
                                             : std::string("it ended with ") + ::strsignal(WTERMSIG(status)),
                 "mend it, or take it out of the specification"};
  return Done{};
}

bool is_result(const Workload::Buffer& buffer) {
  return buffer.direction != Direction::in && buffer.count > 0;
}

// The results whose contents were not handed over, as the order of their elements changes from run to run,
// and whether there are others.
struct LeftOut {
  std::string names; // quoted, with commas between
  bool all = true;
};

LeftOut results_without_contents(const Workload& workload,
                                 const std::vector<std::vector<std::byte>>& outputs) {
  LeftOut left_out;
  for (std::size_t i = 0; i < workload.buffers.size(); ++i)
    if (is_result(workload.buffers[i]) && outputs[i].empty())
      left_out.names += (left_out.names.empty() ? "'" : ", '") + workload.buffers[i].name + "'";
    else if (is_result(workload.buffers[i]))
      left_out.all = false;
  if (!left_out.names.empty())
    left_out.names += " (in no fixed order)";
  return left_out;
}

} // namespace

// The compiled reference, or why there is none.
class CpuReferences::Library {
public:
  explicit Library(const std::filesystem::path& source) {
    auto folder = TemporaryFolder::create("lathe-reference");
    if (!folder.ok()) {
      missing_ = folder.error().sentence();
      return;
    }
    folder_.emplace(std::move(*folder));
    const std::filesystem::path library = folder_->path() / "reference.so";
    std::string complaint;
    for (const char* compiler : {"c++", "g++", "clang++", "clang++-19"}) {
      const auto built = run_subprocess(
          {compiler, "-std=c++20", "-O2", "-shared", "-fPIC", "-o", library.string(), source.string()}, {});
      if (!built.ok())
        continue;
      if (built->exit_code != 0) {
        complaint = built->errors.substr(0, built->errors.find('\n'));
        continue;
      }
      void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
      function_ = handle ? reinterpret_cast<Function>(::dlsym(handle, ENTRY)) : nullptr;
      if (!function_)
        broken_ = std::string("it has no function ") + ENTRY;
      return;
    }
    if (complaint.empty())
      missing_ = "no C++ compiler was found";
    else
      broken_ = complaint;
  }

  Function function() const { return function_; }
  const std::string& missing() const { return missing_; } // what this machine lacks
  const std::string& broken() const { return broken_; }   // what is wrong with the file

private:
  std::optional<TemporaryFolder> folder_;
  Function function_ = nullptr;
  std::string missing_, broken_;
};

CpuReferences::CpuReferences() = default;
CpuReferences::~CpuReferences() = default;

bool CpuReferences::is_small_enough(const Workload& workload) {
  std::uint64_t elements = 0;
  for (const Workload::Buffer& buffer : workload.buffers)
    elements += buffer.count;
  return elements <= MOST_ELEMENTS;
}

Result<std::string> CpuReferences::check(const Workload& workload, std::uint64_t seed,
                                         const std::vector<std::vector<std::byte>>& outputs) {
  const TuningSpec& spec = *workload.spec;
  if (spec.cpu_reference.empty())
    return std::string("the specification names no CPU reference");
  if (!is_small_enough(workload))
    return std::string("the problem is too large for the CPU reference");
  const LeftOut left_out = results_without_contents(workload, outputs);
  if (left_out.all && !left_out.names.empty())
    return "the CPU reference was not run: it has no say about " + left_out.names;
  const std::string source = (spec.path.parent_path() / spec.cpu_reference).lexically_normal().string();
  std::unique_ptr<Library>& library = libraries_[source];
  if (!library)
    library = std::make_unique<Library>(source);
  if (!library->missing().empty())
    return "the CPU reference was not run: " + library->missing();
  if (!library->function())
    return Error{"cannot use the CPU reference " + source, library->broken(),
                 "mend it, or take it out of the specification"};

  std::vector<std::unique_ptr<SharedNumbers>> numbers;
  std::vector<double*> pointers;
  std::vector<element::DType> types;
  for (std::size_t i = 0; i < workload.buffers.size(); ++i) {
    const Workload::Buffer& buffer = workload.buffers[i];
    const auto size = static_cast<std::size_t>(dtype_size(buffer.dtype));
    types.push_back(element_type(buffer.dtype).value_or(element::u8));
    std::vector<std::byte> filled(buffer.count * size);
    fill_buffer(plan_fill(buffer, seed, i), filled);
    numbers.push_back(std::make_unique<SharedNumbers>(buffer.count));
    if (!numbers.back()->data())
      return Error{"cannot run the CPU reference", "out of memory", "use a smaller problem"};
    for (std::uint64_t at = 0; at < buffer.count; ++at)
      numbers.back()->data()[at] = decode_element(types[i], element::load(types[i], filled.data(), at));
    pointers.push_back(numbers.back()->data());
  }
  std::vector<std::int64_t> dimensions;
  for (const std::string& name : spec.dimensions)
    dimensions.push_back(workload.problem.dimensions.at(name));
  std::vector<double> scalars;
  for (const Workload::Parameter& parameter : workload.parameters)
    if (!parameter.is_buffer)
      scalars.push_back(number(parameter.value));
  LATHE_CHECK(run_in_child(library->function(), dimensions.data(), scalars.data(), pointers.data()));

  for (std::size_t i = 0; i < workload.buffers.size(); ++i) {
    const Workload::Buffer& buffer = workload.buffers[i];
    if (buffer.direction == Direction::in || outputs[i].empty())
      continue;
    const auto size = static_cast<std::size_t>(dtype_size(buffer.dtype));
    const std::vector<std::byte> unwritten(size, POISONS[0]);
    std::vector<std::byte> expected(outputs[i].size());
    for (std::uint64_t at = 0; at < buffer.count; ++at) {
      std::byte* place = expected.data() + at * size;
      const std::uint64_t bits = encode_element(types[i], numbers[i]->data()[at]);
      // What the raw kernel left as it was, the reference has no say about.
      if (std::memcmp(outputs[i].data() + at * size, unwritten.data(), size) == 0)
        std::memcpy(place, unwritten.data(), size);
      else
        std::memcpy(place, &bits, size);
    }
    const Tolerance allowed = tolerance_for(spec.tolerances, buffer.dtype);
    const double size_of_results = magnitude(types[i], expected);
    const double reordering = reordering_share(buffer.dtype, operations_an_output(workload));
    const element::ErrorRule rule{types[i], allowed.relative, allowed.absolute + reordering * size_of_results,
                                  size_of_results};
    const BufferDifference difference = compare_buffers(rule, outputs[i], expected);
    if (difference.acceptable())
      continue;
    const auto text = [&](const std::vector<std::byte>& bytes) {
      return std::to_string(
          decode_element(types[i], element::load(types[i], bytes.data(), difference.first)));
    };
    return Error{"the raw kernel of " + spec.name + " is wrong for " + workload.key(),
                 buffer.name + "[" + std::to_string(difference.first) + "] is " + text(outputs[i]) +
                     " where the CPU reference gives " + text(expected) + " (and " +
                     std::to_string(difference.failures - 1) + " more of " + std::to_string(buffer.count) +
                     " elements)",
                 "mend the kernel, its reference, or the tolerance"};
  }
  return "the raw kernel agrees with its CPU reference" +
         (left_out.names.empty() ? "" : ", which has no say about " + left_out.names);
}

} // namespace lathe
