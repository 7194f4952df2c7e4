#include "refactor/extract/system_headers.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <utility>
#include <vector>

namespace lathe::refactor {
namespace {

namespace fs = std::filesystem;

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// The part after the last "/include/" (or "/cccl/"), the way a source would spell it.
std::string spelled(const std::string& path) {
  for (const std::string marker : {"/cccl/", "/include/"}) {
    const std::size_t at = path.rfind(marker);
    if (at != std::string::npos)
      return path.substr(at + marker.size());
  }
  return path;
}

// cuda/std/__type_traits/is_same.h -> cuda/std/type_traits, where that is a header, and
// cuda/std/detail/libcxx/include/tuple -> cuda/std/tuple.
std::string public_header(const std::string& path, const std::string& name) {
  constexpr std::string_view LIBRARY = "cuda/std/detail/libcxx/include/";
  if (name.starts_with(LIBRARY))
    return public_header(path.substr(0, path.size() - name.size()) + "cuda/std/" +
                             name.substr(LIBRARY.size()),
                         "cuda/std/" + name.substr(LIBRARY.size()));
  // Which of the two public ones has the overload that is meant, its own place does not say.
  if (name.starts_with("cuda/__memcpy_async/"))
    return "cuda/pipeline";
  const std::size_t internal = name.find("/__");
  if (internal == std::string::npos)
    return name;
  const std::size_t end = name.find('/', internal + 3);
  const std::string wanted = name.substr(0, internal + 1) + name.substr(internal + 3, end - internal - 3);
  const std::string root = path.substr(0, path.size() - name.size());
  std::error_code failure;
  return fs::is_regular_file(root + wanted, failure) ? wanted : name;
}

const std::vector<std::pair<const char*, const char*>>& standard_headers() {
  // First match wins; parts of paths of libstdc++, glibc and Clang.
  static const std::vector<std::pair<const char*, const char*>> known{
      {"/cuda_wrappers/algorithm", "algorithm"},
      {"/bits/stl_algo", "algorithm"},
      {"/bits/ranges_", "algorithm"},
      {"/algorithm", "algorithm"},
      {"/cuda_wrappers/cmath", "cmath"},
      {"/bits/move.h", "utility"},
      {"/bits/utility.h", "utility"},
      {"/bits/stl_pair.h", "utility"},
      {"/utility", "utility"},
      {"/type_traits", "type_traits"},
      {"/bits/stl_function.h", "functional"},
      {"/functional", "functional"},
      {"/bits/stl_numeric.h", "numeric"},
      {"/numeric", "numeric"},
      {"/std_abs.h", "cmath"},
      {"/cmath", "cmath"},
      {"/complex", "complex"},
      {"/__clang_cuda_cmath.h", "cmath"},
      {"/cstdint", "cstdint"},
      {"/stdint", "cstdint"},
      {"/cstddef", "cstddef"},
      {"/c++config.h", "cstddef"},
      {"/cstdlib", "cstdlib"},
      {"/cstring", "cstring"},
      {"/climits", "climits"},
      {"/cfloat", "cfloat"},
      {"/float.h", "cfloat"},
      {"/array", "array"},
      {"/bits/range_access.h", "array"},
      {"/tuple", "tuple"},
      {"/bits/types.h", "cstdint"},
      {"/bits/types/", "cstdint"},
      {"/sys/types.h", "cstdint"},
      {"/assert.h", "cassert"},
      {"/cassert", "cassert"}};
  return known;
}

} // namespace

bool is_toolkit_file(const std::string& path) {
  return contains(path, "/cuda") || contains(path, "/cccl/") || contains(path, "/crt/");
}

bool is_host_library(const std::string& path) {
  const std::string name = spelled(path);
  return std::ranges::any_of(std::array{"cufft", "cublas", "cusparse", "cusolver", "nccl", "cudnn"},
                             [&](const char* library) { return name.starts_with(library); });
}

std::string nvrtc_header(const std::string& path) {
  const std::string name = spelled(path);
  const auto quoted = [](const std::string& header) { return fmt::format("<{}>", header); };
  for (const std::string cuda : {"cuda_fp16", "cuda_bf16", "cuda_fp8", "cuda_fp6", "cuda_fp4"})
    if (name.starts_with(cuda))
      return quoted(cuda + ".h");
  if (name.starts_with("cooperative_groups")) {
    // Its header, and the file below details/ that has what it declares.
    constexpr std::array<std::pair<const char*, const char*>, 3> parts{
        {{"reduce", "reduce"}, {"scan", "scan"}, {"memcpy_async", "async"}}};
    for (const auto& [part, detail] : parts)
      if (name == fmt::format("cooperative_groups/{}.h", part) ||
          contains(name, fmt::format("details/{}", detail).c_str()))
        return quoted(fmt::format("cooperative_groups/{}.h", part));
    return quoted("cooperative_groups.h");
  }
  if (name.starts_with("crt/mma") || name == "mma.h")
    return quoted("mma.h");
  if (name.starts_with("cuda_pipeline_primitives"))
    return quoted("cuda_pipeline_primitives.h");
  if (name.starts_with("cuda_pipeline"))
    return quoted("cuda_pipeline.h");
  if (name.starts_with("curand"))
    return quoted("curand_kernel.h");
  if (name == "cuComplex.h" || name == "math_constants.h" || name == "cuda_awbarrier.h" ||
      name == "cuda_awbarrier_primitives.h")
    return quoted(name);
  if (contains(path, "/cub/") || contains(path, "/thrust/") || name.starts_with("cuda/") ||
      name.starts_with("nv/"))
    return quoted(public_header(path, name));
  if (contains(path, "/cuda") && !contains(path, "/cuda_wrappers/"))
    return ""; // the toolkit's own device functions and types
  if (contains(path, "/clang/") && contains(path, "/limits.h"))
    return quoted("climits");
  if (path.ends_with("/limits"))
    return quoted("limits");
  if (path.ends_with("/limits.h"))
    return quoted("climits");
  for (const std::string header : {"bit", "concepts", "numbers"})
    if (path.ends_with("/" + header))
      return quoted(header);
  for (const auto& [part, header] : standard_headers())
    if (contains(path, part))
      return quoted(header);
  return "";
}

} // namespace lathe::refactor
