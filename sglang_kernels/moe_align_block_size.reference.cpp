// moe_align_block_size. Buffers in parameter order: topk_ids [numel], sorted_token_ids [max_slots, rounded up
// to a multiple of 4], expert_of_block (its first total_slots / block_size), total_slots [1], cumsum
// [num_experts + 1]. Scalars in parameter order: num_experts, block_size, numel, pad_sorted_token_ids,
// scan_size, max_slots.
#include <cstdint>
#include <vector>

extern "C" void lathe_reference(const std::int64_t*, const double* scalars, double* const* buffers) {
  const auto num_experts = static_cast<std::int64_t>(scalars[0]),
             block_size = static_cast<std::int64_t>(scalars[1]),
             numel = static_cast<std::int64_t>(scalars[2]), max_slots = static_cast<std::int64_t>(scalars[5]);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(num_experts));
  for (std::int64_t i = 0; i < numel; ++i)
    ++counts[static_cast<std::size_t>(buffers[0][i]) + 1];
  std::int64_t slots = 0, block = 0;
  for (std::int64_t expert = 0; expert < num_experts; ++expert) {
    buffers[4][expert] = static_cast<double>(slots);
    const std::int64_t blocks = (counts[static_cast<std::size_t>(expert)] + block_size - 1) / block_size;
    for (std::int64_t i = 0; i < blocks; ++i)
      buffers[2][block++] = static_cast<double>(expert - 1);
    slots += blocks * block_size;
  }
  buffers[4][num_experts] = buffers[3][0] = static_cast<double>(slots);
  for (std::int64_t i = 0; scalars[3] != 0 && i < (max_slots + 3) / 4 * 4; ++i)
    buffers[1][i] = static_cast<double>(numel);
}
