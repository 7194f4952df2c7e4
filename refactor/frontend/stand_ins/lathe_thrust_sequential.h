// Stand-in for the algorithms of Thrust that a thread calls in a kernel: there they run on that thread alone,
// with thrust::seq and with thrust::device alike. Kernels that call them are compiled with this text, which
// therefore belongs to what a certificate trusts. Of its paragraphs a kernel is given those that it needs:
// each has all overloads of one name.
namespace thrust {

struct lathe_one_thread {};
static __device__ constexpr lathe_one_thread seq{}, device{};

struct lathe_sum {
  template <class A, class B> __device__ auto operator()(const A& a, const B& b) const { return a + b; }
};
struct lathe_is_less {
  template <class A, class B> __device__ bool operator()(const A& a, const B& b) const { return a < b; }
};

template <class It, class T, class Op>
__device__ T reduce(lathe_one_thread, It first, It last, T init, Op op) {
  for (; first != last; ++first)
    init = op(init, *first);
  return init;
}
template <class It, class T> __device__ T reduce(lathe_one_thread policy, It first, It last, T init) {
  return thrust::reduce(policy, first, last, init, lathe_sum());
}
template <class It> __device__ auto reduce(lathe_one_thread policy, It first, It last) {
  auto zero = *first;
  zero = 0;
  return thrust::reduce(policy, first, last, zero, lathe_sum());
}

template <class It, class Unary, class T, class Op>
__device__ T transform_reduce(lathe_one_thread, It first, It last, Unary unary, T init, Op op) {
  for (; first != last; ++first)
    init = op(init, unary(*first));
  return init;
}

template <class A, class B, class T>
__device__ T inner_product(lathe_one_thread, A first, A last, B other, T init) {
  for (; first != last; ++first, ++other)
    init = init + *first * *other;
  return init;
}

// What lies in the way of a result is read before it is written: results may take the place of their inputs.
template <class It, class Out, class Op>
__device__ Out inclusive_scan(lathe_one_thread, It first, It last, Out out, Op op) {
  if (first == last)
    return out;
  auto sum = *first;
  *out = sum;
  for (++first, ++out; first != last; ++first, ++out)
    *out = sum = op(sum, *first);
  return out;
}
template <class It, class Out>
__device__ Out inclusive_scan(lathe_one_thread policy, It first, It last, Out out) {
  return thrust::inclusive_scan(policy, first, last, out, lathe_sum());
}

template <class It, class Out, class T, class Op>
__device__ Out exclusive_scan(lathe_one_thread, It first, It last, Out out, T init, Op op) {
  for (; first != last; ++first, ++out) {
    const T next = op(init, *first);
    *out = init;
    init = next;
  }
  return out;
}
template <class It, class Out, class T>
__device__ Out exclusive_scan(lathe_one_thread policy, It first, It last, Out out, T init) {
  return thrust::exclusive_scan(policy, first, last, out, init, lathe_sum());
}
template <class It, class Out>
__device__ Out exclusive_scan(lathe_one_thread policy, It first, It last, Out out) {
  if (first == last)
    return out;
  auto zero = *first;
  zero = 0;
  return thrust::exclusive_scan(policy, first, last, out, zero, lathe_sum());
}

// By insertion, which keeps equal elements in their order as Thrust's merge sort does.
template <class It, class Less> __device__ void sort(lathe_one_thread, It first, It last, Less less) {
  for (It end = first; end != last; ++end) {
    auto moved = *end;
    It place = end;
    for (; place != first && less(moved, *(place - 1)); --place)
      *place = *(place - 1);
    *place = moved;
  }
}
template <class It> __device__ void sort(lathe_one_thread policy, It first, It last) {
  thrust::sort(policy, first, last, lathe_is_less());
}

template <class It, class Less>
__device__ void stable_sort(lathe_one_thread policy, It first, It last, Less less) {
  thrust::sort(policy, first, last, less);
}
template <class It> __device__ void stable_sort(lathe_one_thread policy, It first, It last) {
  thrust::sort(policy, first, last, lathe_is_less());
}

template <class Keys, class Values, class Less>
__device__ void sort_by_key(lathe_one_thread, Keys first, Keys last, Values values, Less less) {
  for (Keys end = first; end != last; ++end) {
    auto key = *end;
    auto value = values[end - first];
    Keys place = end;
    for (; place != first && less(key, *(place - 1)); --place) {
      *place = *(place - 1);
      values[place - first] = values[place - first - 1];
    }
    *place = key;
    values[place - first] = value;
  }
}
template <class Keys, class Values>
__device__ void sort_by_key(lathe_one_thread policy, Keys first, Keys last, Values values) {
  thrust::sort_by_key(policy, first, last, values, lathe_is_less());
}

template <class It, class T> __device__ void fill(lathe_one_thread, It first, It last, const T& value) {
  for (; first != last; ++first)
    *first = value;
}

template <class It, class Out> __device__ Out copy(lathe_one_thread, It first, It last, Out out) {
  for (; first != last; ++first, ++out)
    *out = *first;
  return out;
}

template <class It, class Unary> __device__ It for_each(lathe_one_thread, It first, It last, Unary unary) {
  for (; first != last; ++first)
    unary(*first);
  return first;
}

template <class It, class Out, class Unary>
__device__ Out transform(lathe_one_thread, It first, It last, Out out, Unary unary) {
  for (; first != last; ++first, ++out)
    *out = unary(*first);
  return out;
}
template <class A, class B, class Out, class Op>
__device__ Out transform(lathe_one_thread, A first, A last, B other, Out out, Op op) {
  for (; first != last; ++first, ++other, ++out)
    *out = op(*first, *other);
  return out;
}

template <class It> __device__ It max_element(lathe_one_thread, It first, It last) {
  It found = first;
  for (; first != last; ++first)
    if (*found < *first)
      found = first;
  return found;
}

template <class It> __device__ It min_element(lathe_one_thread, It first, It last) {
  It found = first;
  for (; first != last; ++first)
    if (*first < *found)
      found = first;
  return found;
}

template <class It, class T> __device__ It find(lathe_one_thread, It first, It last, const T& value) {
  while (first != last && !(*first == value))
    ++first;
  return first;
}

template <class It, class T> __device__ auto count(lathe_one_thread, It first, It last, const T& value) {
  auto found = last - last;
  for (; first != last; ++first)
    if (*first == value)
      ++found;
  return found;
}

template <class It, class T> __device__ It lower_bound(lathe_one_thread, It first, It last, const T& value) {
  while (first != last) {
    const It middle = first + (last - first) / 2;
    if (*middle < value)
      first = middle + 1;
    else
      last = middle;
  }
  return first;
}

template <class It, class T> __device__ It upper_bound(lathe_one_thread, It first, It last, const T& value) {
  while (first != last) {
    const It middle = first + (last - first) / 2;
    if (value < *middle)
      last = middle;
    else
      first = middle + 1;
  }
  return first;
}

template <class It, class T>
__device__ bool binary_search(lathe_one_thread policy, It first, It last, const T& value) {
  const It found = thrust::lower_bound(policy, first, last, value);
  return found != last && !(value < *found);
}

} // namespace thrust
