// A driver library that says little: its version, that there is no device, and to everything else that it
// failed.
#include "tuner/device/driver.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

// Defined under other names, so that they may differ from cuda.h's declarations, and exported under the real
// ones.
#define FAKE_STUB(name)                                                                                      \
  extern "C" int JOIN(fake_, name)() __asm__("stub_" TEXT(name));                                            \
  extern "C" int JOIN(fake_, name)() {                                                                       \
    return 999;                                                                                              \
  }                                                                                                          \
  __asm__(".weak " TEXT(name) "\n.set " TEXT(name) ", stub_" TEXT(name));
LATHE_CUDA_FUNCTIONS(FAKE_STUB)

extern "C" int version(int* value) __asm__("cuDriverGetVersion");
extern "C" int version(int* value) {
  *value = FAKE_VERSION;
  return 0;
}
extern "C" int initialise(unsigned) __asm__("cuInit");
extern "C" int initialise(unsigned) {
  return 100;
} // CUDA_ERROR_NO_DEVICE
