// Stands in for those headers of Thrust that device code uses, in kernels that the host executor compiles:
// its tuples, pairs and function objects are the C++ library's under another name.
#ifndef LATHE_THRUST_H
#define LATHE_THRUST_H

#include "lathe_cuda_std.h"

namespace thrust {
using ::std::get;
using ::std::make_pair;
using ::std::make_tuple;
using ::std::pair;
using ::std::swap;
using ::std::tie;
using ::std::tuple;
using ::std::tuple_element;
using ::std::tuple_size;

using ::cuda::maximum;
using ::cuda::minimum;
using ::std::divides;
using ::std::equal_to;
using ::std::greater;
using ::std::greater_equal;
using ::std::less;
using ::std::less_equal;
using ::std::logical_and;
using ::std::logical_not;
using ::std::logical_or;
using ::std::minus;
using ::std::modulus;
using ::std::multiplies;
using ::std::negate;
using ::std::not_equal_to;
using ::std::plus;
} // namespace thrust

#endif
