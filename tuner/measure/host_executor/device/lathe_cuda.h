// The prelude of every kernel that the host executor compiles: the C++ library, NVIDIA's own types and small
// floating point formats (their host definitions, and their inline assembly translated), and the executor's
// CUDA.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <math.h> // isinf, isnan and their like outside namespace std
#include <numeric>
#include <tuple>
#include <type_traits>
#include <utility>

#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __LATHE_HOST_EXECUTOR__ 1
#pragma GCC diagnostic ignored "-W#warnings"
#include <crt/host_defines.h>

// In this order: each group needs the ones above it.
#include "lathe_context.h"

#include <vector_types.h>

#include <vector_functions.h>

#include "lathe_math.h"

#include "lathe_special_math.h"

#include "lathe_device.h"

#include "lathe_nv_atomic.h"

#include "lathe_ptx.h"

#include <driver_types.h>

#include <cuda_fp16.h>

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include "lathe_fp8.h"
#include "lathe_matrix.h"
#include "lathe_simd.h"

#include "lathe_entry.h"
#ifndef LATHE_CUDA_ARCH
#define LATHE_CUDA_ARCH 900
#endif
#define __CUDA_ARCH__ LATHE_CUDA_ARCH
