#include "tuner/measure/host_executor/globals.h"

#include <algorithm>
#include <cstring>

namespace lathe::host {

Globals::Globals(const lathe_host::SharedVariable* table) {
  for (; table != nullptr && table->begin != nullptr; ++table) {
    unsigned char* end = table->begin + table->bytes;
    const bool is_zero = std::all_of(table->begin, end, [](unsigned char byte) { return byte == 0; });
    variables_.push_back(
        {table->begin, is_zero ? std::vector<unsigned char>() : std::vector<unsigned char>(table->begin, end),
         table->bytes});
  }
}

void Globals::restore() const {
  for (const Variable& variable : variables_)
    if (variable.value.empty())
      std::memset(variable.begin, 0, variable.bytes);
    else
      std::memcpy(variable.begin, variable.value.data(), variable.bytes);
}

} // namespace lathe::host
