// The judgement of outputs, shared by the GPU runner and the host executor.
//
// A verified run is made twice, with outputs poisoned by each of POISONS; the reference (the raw kernel) is
// run the same way, and each run is compared with the reference's run under the same poison. So an element
// that only the candidate leaves unwritten, or only the candidate writes, differs in at least one of the two.
#pragma once

#include "tuner/measure/element.h"
#include "tuner/measure/fill.h"
#include "tuner/spec/spec.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

namespace lathe {

// The specification's tolerance for this dtype, or the default: a few units in the last place of the format,
// since the reference is the raw kernel on the same device and only the order of operations may differ.
//
//   f64 2^-42   f32 2^-15   f16 2^-9   bf16 2^-6   e4m3 2^-3   e5m2 2^-2   integers and bool: exact
Tolerance tolerance_for(const std::map<std::string, Tolerance>& given, const std::string& dtype);

// What sums may differ by when their terms are added in another order, as a share of the results' magnitude.
// A sum of n terms then differs by some sqrt(n) unit roundoffs of its size, if rounding errors are taken for
// independent (N. J. Higham and T. Mary, "A New Approach to Probabilistic Rounding Error Analysis", SIAM J.
// Sci. Comput. 41(5), 2019); eight times that is allowed, for at most 2^20 terms. Formats below 32 bits are
// summed in f32. 0 for integers, and where `terms` is 0: not known.
double reordering_share(const std::string& dtype, double terms);

// Operations that each output element comes from, about, by the cost model; 0 where it does not say.
double operations_an_output(const Workload& workload);

// Of the finite elements below a limit, by absolute value.
struct Sizes {
  double squares = 0, largest = 0; // sum of squares; 0 for no element
  std::uint64_t count = 0;
  bool may_repeat = true; // false: the largest is there once
};

// Root mean square of the finite elements; 0 for none. A number that comes again and again and lies a
// thousand times above all others (what masks a score) is left out: it says nothing of the others' size.
// `below` may be asked three times.
double magnitude(const std::function<Sizes(double limit)>& below);
// The same of a buffer. For a reference run twice, elements that differ between the runs (poison that it left
// in place) are left out when `other_run` is given.
double magnitude(element::DType dtype, std::span<const std::byte> data,
                 std::span<const std::byte> other_run = {});

struct BufferDifference {
  double error = 0;           // worst element, in units of what is allowed: above 1 fails
  std::uint64_t failures = 0; // elements above 1
  std::uint64_t first = 0;    // index of the first failure
  bool acceptable() const { return failures == 0; }
};

// Compares element by element by element_error(); both spans hold the same number of elements.
BufferDifference compare_buffers(const element::ErrorRule& rule, std::span<const std::byte> out,
                                 std::span<const std::byte> reference);

// The same of buffers in which only counts which elements they hold, bit for bit; `first` is a place in the
// sorted elements.
BufferDifference compare_sets(element::DType dtype, std::span<const std::byte> out,
                              std::span<const std::byte> reference);

// "out holds other elements than the raw kernel's, in whatever order"
std::string describe_other_set(const std::string& buffer);

// "out[17] is 3.5 where the raw kernel gives 1.25 (and 12 more of 4096 elements)"; says "was not written"
// when the element still holds the poison byte.
std::string describe_difference(const std::string& buffer, element::DType dtype,
                                const BufferDifference& difference, std::uint64_t out_bits,
                                std::uint64_t reference_bits, std::uint64_t count, std::byte poison);

// What to do where a difference looks like a long sum in another order that nobody said is one (`reordering`:
// the share that was allowed): a few real elements of many, a little more than allowed. Else empty.
std::string reordering_hint(element::DType dtype, const BufferDifference& difference, std::uint64_t count,
                            double reordering);

// Offset of the first byte of a guard band that changed, or nothing.
std::optional<std::size_t> damaged_guard(std::span<const std::byte> band);

} // namespace lathe
