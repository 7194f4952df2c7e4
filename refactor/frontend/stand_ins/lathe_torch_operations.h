// Declarations of what PyTorch's host code computes with tensors between their arguments and a launch. Each
// gives a tensor of which nothing is known; they are here so that what follows from it (its type, its sizes)
// is read.
#pragma once

namespace at {

#define LATHE_OPERATION(name) template <class... Arguments> Tensor name(const Tensor&, Arguments&&...);
LATHE_OPERATION(abs)
LATHE_OPERATION(add)
LATHE_OPERATION(addmm)
LATHE_OPERATION(argsort)
LATHE_OPERATION(bmm)
LATHE_OPERATION(clamp)
LATHE_OPERATION(constant_pad_nd)
LATHE_OPERATION(cumsum)
LATHE_OPERATION(div)
LATHE_OPERATION(exp)
LATHE_OPERATION(flip)
LATHE_OPERATION(gather)
LATHE_OPERATION(index_select)
LATHE_OPERATION(log)
LATHE_OPERATION(masked_fill)
LATHE_OPERATION(matmul)
LATHE_OPERATION(mean)
LATHE_OPERATION(mm)
LATHE_OPERATION(mul)
LATHE_OPERATION(nonzero)
LATHE_OPERATION(repeat_interleave)
LATHE_OPERATION(softmax)
LATHE_OPERATION(sqrt)
LATHE_OPERATION(squeeze)
LATHE_OPERATION(sub)
LATHE_OPERATION(sum)
LATHE_OPERATION(transpose)
LATHE_OPERATION(unsqueeze)
LATHE_OPERATION(where)
#undef LATHE_OPERATION

#define LATHE_OPERATOR(sign)                                                                                 \
  Tensor operator sign(const Tensor&, const Tensor&);                                                        \
  Tensor operator sign(const Tensor&, Scalar);                                                               \
  Tensor operator sign(Scalar, const Tensor&);
LATHE_OPERATOR(+)
LATHE_OPERATOR(-)
LATHE_OPERATOR(*)
LATHE_OPERATOR(/)
LATHE_OPERATOR(<)
LATHE_OPERATOR(<=)
LATHE_OPERATOR(>)
LATHE_OPERATOR(>=)
#undef LATHE_OPERATOR
Tensor operator-(const Tensor&);

} // namespace at
