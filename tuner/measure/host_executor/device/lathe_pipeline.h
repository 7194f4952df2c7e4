// <cuda_pipeline.h> and <cuda_pipeline_primitives.h> on the host executor: the primitives that C code uses.
#pragma once

LATHE_DEVICE void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
  if (bytes != 4 && bytes != 8 && bytes != 16)
    lathe_api->fail("an asynchronous copy of other than 4, 8 or 16 bytes", nullptr, 0);
  lathe_api->async_copy(to, from, static_cast<unsigned>(bytes), static_cast<unsigned>(bytes - zeros));
}
LATHE_DEVICE void __pipeline_commit() {
  lathe_api->async_commit();
}
LATHE_DEVICE void __pipeline_wait_prior(size_t pending) {
  lathe_api->async_wait(static_cast<unsigned>(pending));
}
