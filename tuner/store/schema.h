// The tables of a results store, and bringing a file to their present version.
#pragma once

#include "tuner/store/database.h"

namespace lathe::store {

// Finds what is wrong with an existing file before anything is written to it.
Status check_content(const Database& database);

// Creates the tables in an empty file, adds what an older version lacked, and refuses the files of other
// programs and of newer versions.
Status create_or_check_schema(const Database& database);

} // namespace lathe::store
