// Stands in for the header cuda/pipeline in kernels that the host executor compiles: pipelines of one thread
// each, over the same asynchronous copies as cp.async. A stage's copies arrive when its thread waits for the
// stage, never earlier. Pipelines that threads share (pipeline_shared_state) and barriers as objects are not
// here.
#ifndef LATHE_CUDA_PIPELINE_H
#define LATHE_CUDA_PIPELINE_H

#include "lathe_cuda_atomic.h"

namespace cuda {

// A size whose pointers are aligned to Alignment, too.
template <size_t Alignment> struct aligned_size_t {
  static constexpr size_t align = Alignment;
  size_t value;
  explicit constexpr aligned_size_t(size_t size) : value(size) {}
  constexpr operator size_t() const { return value; }
};

template <thread_scope Scope> class pipeline;

template <> class pipeline<thread_scope_thread> {
public:
  pipeline(pipeline&&) = default;
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  void producer_acquire() {}
  void producer_commit() {
    lathe_api->async_commit();
    ++committed_;
  }
  // For the oldest stage that nobody has waited for.
  void consumer_wait() {
    if (waited_ == committed_)
      return;
    lathe_api->async_wait(committed_ - waited_ - 1);
    ++waited_;
  }
  void consumer_release() {}
  bool quit() { return true; }

private:
  pipeline() = default;
  unsigned committed_ = 0, waited_ = 0;
  friend pipeline make_pipeline();
  template <unsigned char Prior> friend void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>&);
};

LATHE_INLINE pipeline<thread_scope_thread> make_pipeline() {
  return {};
}
template <unsigned char Prior> void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>& stages) {
  lathe_api->async_wait(Prior);
  stages.waited_ = stages.committed_ - Prior;
}

// As the hardware does, in pieces of 4 bytes where everything is aligned to that.
LATHE_INLINE void lathe_copy(void* to, const void* from, size_t bytes, size_t first, size_t step) {
  const bool in_words =
      (reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes) % 4 == 0;
  const unsigned each = in_words ? 4 : 1;
  for (size_t i = first * each; i < bytes; i += step * each)
    lathe_api->async_copy(static_cast<unsigned char*>(to) + i, static_cast<const unsigned char*>(from) + i,
                          each, each);
}
template <class To, class From, class Size>
void memcpy_async(To* to, const From* from, Size bytes, pipeline<thread_scope_thread>&) {
  lathe_copy(to, from, static_cast<size_t>(bytes), 0, 1);
}
// Each thread of the group copies its share.
template <class Group, class To, class From, class Size>
void memcpy_async(const Group& group, To* to, const From* from, Size bytes, pipeline<thread_scope_thread>&) {
  lathe_copy(to, from, static_cast<size_t>(bytes), group.thread_rank(), group.size());
}

} // namespace cuda

#endif
