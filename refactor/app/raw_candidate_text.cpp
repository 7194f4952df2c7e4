#include "refactor/app/raw_candidate_builder.h"
#include "tuner/base/text.h"

#include <algorithm>
#include <map>
#include <regex>

namespace lathe::refactor {

bool plain_word(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_word);
}

std::string in_place_of_name(const std::string& value) {
  return plain_word(value) || !Expression::parse(value).ok() ? value : "(" + value + ")";
}

std::vector<std::string> conjuncts(const std::string& condition) {
  std::vector<std::string> parts{""};
  int depth = 0;
  bool is_split = false, is_other = false; // at the top: by `and`, by something that binds less
  const auto is_word_at = [&](std::size_t at, std::string_view word) {
    return condition.compare(at, word.size(), word) == 0 && (at == 0 || !is_word(condition[at - 1])) &&
           (at + word.size() == condition.size() || !is_word(condition[at + word.size()]));
  };
  for (std::size_t at = 0; at < condition.size(); ++at) {
    const char letter = condition[at];
    depth += (letter == '(' || letter == '[') - (letter == ')' || letter == ']');
    const bool is_sign = condition.compare(at, 2, "&&") == 0;
    if (depth == 0 && (is_sign || is_word_at(at, "and"))) {
      at += is_sign ? 1 : 2;
      parts.emplace_back();
      is_split = true;
      continue;
    }
    is_other |= depth == 0 && (letter == '?' || condition.compare(at, 2, "||") == 0 || is_word_at(at, "or") ||
                               is_word_at(at, "if"));
    parts.back() += letter;
  }
  if (is_other)
    return {condition};
  if (!is_split) {
    // (a && b): what parentheses around everything hold.
    const std::string inner = trimmed(condition);
    if (inner.size() < 2 || inner.front() != '(' || inner.back() != ')')
      return {condition};
    int open = 0;
    for (std::size_t at = 0; at + 1 < inner.size(); ++at) {
      open += (inner[at] == '(') - (inner[at] == ')');
      if (open == 0)
        return {condition};
    }
    return conjuncts(inner.substr(1, inner.size() - 2));
  }
  std::vector<std::string> all;
  for (const std::string& part : parts)
    for (std::string& each : conjuncts(trimmed(part)))
      all.push_back(std::move(each));
  return all;
}

std::string substitute(const std::string& text, const std::map<std::string, std::string>& names) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word(text[i])) {
      result += text[i++];
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_word(text[end]))
      ++end;
    const std::string word = text.substr(i, end - i);
    const auto found = names.find(word);
    result += found == names.end() ? word : found->second;
    i = end;
  }
  return result;
}

std::string without_sizeof(const std::string& text) {
  static const std::regex pattern(R"(sizeof\s*\(\s*(\w+)\s*\))");
  return std::regex_replace(text, pattern, "sizeof_$1");
}

std::optional<std::pair<std::string, std::string>> operands_of_gcd(const std::string& text) {
  constexpr std::string_view call = "gcd(";
  if (!text.starts_with(call) || !text.ends_with(')'))
    return {};
  std::size_t comma = std::string::npos, depth = 0;
  for (std::size_t i = call.size(); i + 1 < text.size(); ++i) {
    if (text[i] == ')' && depth == 0)
      return {}; // the call ends before the text does
    depth += text[i] == '(' ? 1 : 0;
    depth -= text[i] == ')' ? 1 : 0;
    if (text[i] == ',' && depth == 0)
      comma = i;
  }
  if (comma == std::string::npos)
    return {};
  const std::size_t second = text.find_first_not_of(' ', comma + 1);
  return std::pair(text.substr(call.size(), comma - call.size()),
                   text.substr(second, text.size() - 1 - second));
}

std::string without_qualifiers(std::string type) {
  for (const std::string prefix : {"const ", "volatile "})
    if (type.starts_with(prefix))
      type = type.substr(prefix.size());
  return type;
}

bool is_eight_bit_real(const std::string& dtype) {
  return dtype == "e4m3" || dtype == "e5m2";
}

std::string dtype_of_vector(const std::string& type) {
  static const std::map<std::string, std::string> vectors{
      {"half2", "f16"}, {"__half2", "f16"}, {"nv_bfloat162", "bf16"}, {"__nv_bfloat162", "bf16"},
      {"float", "f32"}, {"double", "f64"},  {"char", "i8"},           {"uchar", "u8"},
      {"short", "i16"}, {"ushort", "u16"},  {"int", "i32"},           {"uint", "u32"},
      {"long", "i64"},  {"ulong", "u64"},   {"longlong", "i64"},      {"ulonglong", "u64"}};
  if (type.empty() || type.back() < '1' || type.back() > '4')
    return "";
  auto found = vectors.find(type);
  if (found == vectors.end())
    found = vectors.find(type.substr(0, type.size() - 1));
  return found == vectors.end() ? "" : found->second;
}

std::string dtype_of_type(std::string type) {
  static const std::map<std::string, std::string> known{{"float", "f32"},
                                                        {"double", "f64"},
                                                        {"half", "f16"},
                                                        {"__half", "f16"},
                                                        {"nv_half", "f16"},
                                                        {"__nv_bfloat16", "bf16"},
                                                        {"nv_bfloat16", "bf16"},
                                                        {"__nv_fp8_e4m3", "e4m3"},
                                                        {"__nv_fp8_e5m2", "e5m2"},
                                                        {"__nv_fp8_storage_t", "u8"},
                                                        {"at::Half", "f16"},
                                                        {"c10::Half", "f16"},
                                                        {"at::BFloat16", "bf16"},
                                                        {"c10::BFloat16", "bf16"},
                                                        {"at::Float8_e4m3fn", "e4m3"},
                                                        {"c10::Float8_e4m3fn", "e4m3"},
                                                        {"at::Float8_e5m2", "e5m2"},
                                                        {"c10::Float8_e5m2", "e5m2"},
                                                        {"bool", "bool"},
                                                        {"char", "i8"},
                                                        {"signed char", "i8"},
                                                        {"int8_t", "i8"},
                                                        {"unsigned char", "u8"},
                                                        {"uint8_t", "u8"},
                                                        {"short", "i16"},
                                                        {"int16_t", "i16"},
                                                        {"unsigned short", "u16"},
                                                        {"uint16_t", "u16"},
                                                        {"int", "i32"},
                                                        {"int32_t", "i32"},
                                                        {"unsigned", "u32"},
                                                        {"unsigned int", "u32"},
                                                        {"uint", "u32"},
                                                        {"uint32_t", "u32"},
                                                        {"long", "i64"},
                                                        {"long long", "i64"},
                                                        {"int64_t", "i64"},
                                                        {"unsigned long", "u64"},
                                                        {"unsigned long long", "u64"},
                                                        {"uint64_t", "u64"},
                                                        {"size_t", "u64"},
                                                        {"ptrdiff_t", "i64"},
                                                        {"intptr_t", "i64"},
                                                        {"uintptr_t", "u64"}};
  type = without_qualifiers(std::move(type));
  if (type.starts_with("std::"))
    type = type.substr(5);
  while (!type.empty() && type.back() == ' ')
    type.pop_back();
  const auto found = known.find(type);
  return found == known.end() ? "" : found->second;
}

} // namespace lathe::refactor
