# Every third-party library comes from the distribution's packages (./dev installs them).
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options context)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(NLopt REQUIRED)
find_package(Eigen3 REQUIRED)
find_package(ZLIB REQUIRED)
find_path(LATHE_VALIJSON_INCLUDE valijson/validator.hpp REQUIRED)
if(LATHE_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(LATHE_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()

# CUDA 13: only headers are needed to build; libcuda, NVRTC, CUPTI and NVML are opened at run time.
set(LATHE_CUDA_HOME "" CACHE PATH "CUDA 13.0 toolkit to build against; empty: search the usual places")
find_path(LATHE_CUDA_INCLUDE cuda.h
  HINTS ${LATHE_CUDA_HOME} $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda
  PATH_SUFFIXES include targets/x86_64-linux/include REQUIRED)
add_library(lathe_cuda_headers INTERFACE)
target_include_directories(lathe_cuda_headers SYSTEM INTERFACE ${LATHE_CUDA_INCLUDE})

if(LATHE_BUILD_REFACTOR)
  find_package(CURL 7.85 REQUIRED)
  find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/llvm)
  find_package(Clang REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/clang)
  add_library(lathe_clang INTERFACE)
  target_include_directories(lathe_clang SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${CLANG_INCLUDE_DIRS})
  # Without assertions GCC 12 takes the headers' checked casts for null pointers (-Wnonnull).
  target_compile_options(lathe_clang INTERFACE -fno-rtti -Wno-nonnull)
  target_link_libraries(lathe_clang INTERFACE clang-cpp LLVM)
  find_package(Boost 1.74 REQUIRED COMPONENTS graph)
endif()
