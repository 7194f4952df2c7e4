// A template argument in C++ and in the language of Lathe's expressions: min and max are no constant
// expressions in device code, and a comparison would end the argument list.
#pragma once

#include <string>

namespace lathe::refactor {

// "max(a, b)" -> "((a) > (b) ? (a) : (b))", min alike, std:: or not, in each other too; what compares outside
// parentheses is put into them. Other text stays as it is.
std::string to_template_argument(const std::string& expression);

// The reverse: "((a) > (b) ? (a) : (b))" -> "max(a, b)", where it was written exactly so.
std::string fold_extrema(const std::string& argument);

} // namespace lathe::refactor
