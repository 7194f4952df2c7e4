// <cuda_runtime.h> on the host executor: what headers of the toolkit's libraries (cuRAND's) ask of it beyond
// what every kernel has.
#pragma once

#include <library_types.h>
