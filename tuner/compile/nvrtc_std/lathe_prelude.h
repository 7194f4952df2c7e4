// Read before every source: what nvcc's implicit cuda_runtime.h brings and NVRTC does not.
#pragma once
#ifndef INFINITY
#define INFINITY (__builtin_bit_cast(float, 0x7f800000u))
#endif
#ifndef NAN
#define NAN (__builtin_bit_cast(float, 0x7fc00000u))
#endif
#ifndef HUGE_VALF
#define HUGE_VALF INFINITY
#define HUGE_VAL (__builtin_bit_cast(double, 0x7ff0000000000000ull))
#endif
#define __asm__ asm
#define __volatile__ volatile
#define __extension__
