// libstdc++ writes __attribute__((__noinline__)) here, which the executor's __noinline__ for kernels would
// break.
#pragma push_macro("__noinline__")
#undef __noinline__
#include_next <bits/shared_ptr_base.h>
#pragma pop_macro("__noinline__")
