// Stand-in for a standard header that NVRTC lacks.
#include "cstddef"
