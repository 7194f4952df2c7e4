#include "refactor/guard/packed_assembly.h"

#include <algorithm>
#include <regex>
#include <vector>

namespace lathe::refactor {
namespace {

// The numbers among the operands: "0x80008000U" for a pair is "0x8000U".
std::string numbers_of(const std::string& operands) {
  static const std::regex number(R"((^|[ ,{])(0[xXfFdD][0-9a-fA-F]+U?|-?[0-9][0-9.]*U?)(?=$|[ ,}]))"),
      pair_of_equals(R"(0[xX]([0-9a-fA-F]{4})\1(U?))");
  std::string numbers;
  for (std::sregex_iterator at(operands.begin(), operands.end(), number), end; at != end; ++at)
    numbers += " " + std::regex_replace((*at)[2].str(), pair_of_equals, "0x$1$2");
  return numbers;
}

} // namespace

std::string operations_of(std::string_view assembly) {
  static const std::regex pair(R"((\.b?f16)x2)");
  std::vector<std::string> operations;
  std::string statement;
  bool computes = false;
  const auto finish = [&] {
    const std::size_t begin = statement.find_first_not_of(" \t\n");
    std::string text = begin == std::string::npos ? "" : statement.substr(begin);
    statement.clear();
    if (text.empty() || text.starts_with(".reg"))
      return;
    const std::size_t blank = std::min(text.find_first_of(" \t\n"), text.size());
    const std::string name = text.substr(0, blank), numbers = numbers_of(text.substr(blank));
    const bool moves = name.starts_with("mov") || name.starts_with("prmt");
    if (moves && (numbers.empty() || name.starts_with("prmt")))
      return;
    computes |= !moves;
    const std::string operation =
        (moves ? std::string("mov") : std::regex_replace(name, pair, "$1")) + numbers;
    if (std::ranges::find(operations, operation) == operations.end())
      operations.push_back(operation);
  };
  for (const char c : assembly)
    if (c == ';')
      finish();
    else if (!(statement.find_first_not_of(" \t\n") == std::string::npos && (c == '{' || c == '}')))
      statement += c;
  finish();
  std::string text;
  if (computes)
    for (const std::string& operation : operations)
      text += (text.empty() ? "" : "; ") + operation;
  return text;
}

bool work_on_bits_alone(const std::string& operations) {
  static const std::regex alone(R"(((bfind|shf|bfe|bfi|lop3|fns)\.[^;]*|mov[^;]*)(; |$))");
  return !operations.empty() && std::regex_replace(operations, alone, "").empty();
}

} // namespace lathe::refactor
