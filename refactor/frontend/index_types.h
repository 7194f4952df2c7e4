// Type parameters that stand for integers although nothing instantiates them.
#pragma once

#include <string>

namespace lathe::refactor {

// Whether a type parameter is an index or a count: by its default argument ("int", "std::size_t"), or where
// it has none by a name one of whose words says so (index_t, IdxType, OffsetT, LocalOrdinal, a graph's
// vertex_t).
bool is_index_type(const std::string& name, const std::string& default_argument);

} // namespace lathe::refactor
