// What `lathe templatize` says of what it made.
#pragma once

#include "refactor/app/retreat.h"
#include "refactor/app/spec_assembly.h"

#include <string>

namespace lathe::refactor {

// A template with its files.
struct Product : JudgedTemplate {
  OutputPaths paths;
};

// Knobs, rules, assumptions, checks and paths, on the standard output; `checked`: the guard was asked.
void print_product(const Product& outcome, bool checked);
// The same as an object, for --json.
std::string product_json(const Product& outcome);

} // namespace lathe::refactor
