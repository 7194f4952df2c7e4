// Making a search over a domain instead of a space, for replay and for tests.
#pragma once

#include "tuner/search/domain.h"
#include "tuner/search/search.h"

#include <memory>

namespace lathe::search {

Result<std::unique_ptr<Search>> make_search(std::unique_ptr<Domain> domain, const SearchOptions& options);

} // namespace lathe::search
