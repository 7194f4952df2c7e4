// Strides of tensors that a kernel is told as numbers of their own.
#pragma once

#include "refactor/app/raw_candidate.h"

#include <map>
#include <string>
#include <vector>

namespace lathe::refactor {

// The dimensions that are strides of tensors by their names (x_stride, stride_batch, params_q_row_stride), in
// the order in which the kernel is told them. The stride of a loop or of a window is none: those are called
// so, go along the axes of an image alone, or are not multiplied with an index. None that the launch follows.
std::vector<std::string> tensor_strides(const Candidate& raw);

// `raw` without these dimensions.
Candidate without_dimensions(Candidate raw, const std::vector<std::string>& names);

// Takes the tensors to be contiguous: each of the `strides` becomes an expression over the other dimensions
// wherever the candidate has it, and is a dimension no more. `notes` says what each is. They are passed with
// the outermost first, and a stride steps over as much as the kernel reaches with all strides that come
// after it, which traced runs on the host executor show. What these do not show stays a dimension, and so do
// all where the kernel does not run so. `base`: sizes of the other dimensions that the kernel supports.
void take_as_contiguous(Candidate& raw, const std::vector<std::string>& strides,
                        const std::map<std::string, std::int64_t>& base, const std::string& architecture,
                        std::vector<std::string>& notes);

} // namespace lathe::refactor
