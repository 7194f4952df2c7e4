#include "tuner/measure/host_executor/ptx_translator.h"

#include <cstdlib>

namespace lathe::host {

Words split(std::string_view text, char separator) {
  Words parts;
  int depth = 0;
  std::string part;
  for (const char c : text) {
    depth += (c == '{' || c == '[' || c == '(') - (c == '}' || c == ']' || c == ')');
    if (c == separator && depth == 0)
      parts.push_back(trimmed(part)), part.clear();
    else
      part += c;
  }
  if (!trimmed(part).empty() || !parts.empty())
    parts.push_back(trimmed(part));
  return parts;
}

std::optional<std::string> cxx_type(const std::string& suffix) {
  static const std::map<std::string, std::string> TYPES{
      {"b8", "u8"},     {"u8", "u8"},     {"s8", "s8"},       {"b16", "u16"},      {"u16", "u16"},
      {"s16", "s16"},   {"b32", "u32"},   {"u32", "u32"},     {"s32", "s32"},      {"b64", "u64"},
      {"u64", "u64"},   {"s64", "s64"},   {"f32", "f32"},     {"f64", "f64"},      {"f16", "f16"},
      {"pred", "pred"}, {"bf16", "bf16"}, {"f16x2", "f16x2"}, {"bf16x2", "bf16x2"}};
  const auto found = TYPES.find(suffix);
  if (found == TYPES.end())
    return {};
  return found->second;
}

int type_bytes(const std::string& type) {
  if (type.ends_with("x2") || type.ends_with("32"))
    return 4;
  if (type.ends_with("16"))
    return 2;
  return type.ends_with("64") ? 8 : 1;
}

std::string register_type(const std::string& type) {
  if (type == "pred")
    return "bool";
  const int bytes = type_bytes(type);
  return bytes == 8 ? "u64" : bytes == 4 ? "u32" : bytes == 2 ? "u16" : "u8";
}

Status PtxTranslator::instruction(const Words& opcode, const Words& operands, std::string& body) {
  const std::string& base = opcode[0];
  const std::set<std::string> mods(opcode.begin() + 1, opcode.end());
  static const std::set<std::string> NOTHING{"griddepcontrol", "prefetch",      "prefetchu",
                                             "discard",        "applypriority", "setmaxnreg"};
  if (NOTHING.contains(base))
    return Done{};
  if (base == "fence" || base == "membar") {
    body = mods.contains("cta") ? "__threadfence_block();" : "__threadfence();";
    return Done{};
  }
  if (base == "nanosleep") {
    body = "lathe_api->yield();";
    return Done{};
  }
  if (base == "trap" || base == "brkpt") {
    body = "__trap();";
    return Done{};
  }
  if (base == "createpolicy" && !operands.empty()) {
    LATHE_TRY(body, write(operands[0], PTX + "u64(0)"));
    return Done{};
  }
  if (base == "cp") { // cp.async; the bulk forms need an mbarrier
    if (!mods.contains("async") || mods.contains("bulk") || mods.contains("mbarrier"))
      return Error{};
    if (mods.contains("commit_group")) {
      body = "lathe_api->async_commit();";
      return Done{};
    }
    if (mods.contains("wait_all")) {
      body = "lathe_api->async_finish();";
      return Done{};
    }
    if (mods.contains("wait_group") && operands.size() == 1) {
      LATHE_TRY(const std::string pending, read("u32", operands[0]));
      body = "lathe_api->async_wait(" + pending + ");";
      return Done{};
    }
    if (operands.size() < 3)
      return Error{};
    LATHE_TRY(const std::string to, address(operands[0]));
    LATHE_TRY(const std::string from, address(operands[1]));
    LATHE_TRY(const std::string bytes, read("u32", operands[2]));
    std::string source = bytes;
    if (operands.size() > 3) {
      LATHE_TRY(source, read("u32", operands[3]));
    }
    body = "lathe_api->async_copy(" + PTX + "shared_pointer<unsigned char>(" + to + "), " + PTX +
           "global_pointer<unsigned char>(" + from + "), " + bytes + ", " + source + ");";
    return Done{};
  }
  if (base == "cvta" && operands.size() == 2) {
    LATHE_TRY(const std::string value, read(*cxx_type(opcode.back()) == "u32" ? "u32" : "u64", operands[1]));
    std::string result = value;
    if (mods.contains("shared") && mods.contains("to"))
      result = "__cvta_generic_to_shared(reinterpret_cast<void*>(" + value + "))";
    else if (mods.contains("shared"))
      result = "reinterpret_cast<" + PTX + "u64>(" + PTX + "shared_pointer<char>(" + value + "))";
    LATHE_TRY(body, write(operands[0], PTX + "u64(" + result + ")"));
    return Done{};
  }
  if (base == "isspacep" && operands.size() == 2) {
    LATHE_TRY(const std::string value, read("u64", operands[1]));
    if (!mods.contains("shared") && !mods.contains("global"))
      return Error{};
    LATHE_TRY(body, write(operands[0],
                          "0 != " + std::string(mods.contains("shared") ? "__isShared" : "__isGlobal") +
                              "(reinterpret_cast<void*>(" + value + "))"));
    return Done{};
  }
  if (base == "ld" || base == "ldu" || base == "st")
    return memory(opcode, operands, mods, body);
  if (base == "atom" || base == "red")
    return atomic(opcode, operands, mods, body);
  if (base == "cvt")
    return convert(opcode, operands, mods, body);
  static const std::set<std::string> WARP{"shfl", "vote", "redux", "match", "activemask", "bar", "barrier"};
  if (WARP.contains(base))
    return warp(opcode, operands, mods, body);
  if (base == "ldmatrix" || base == "stmatrix" || base == "movmatrix" || base == "mma")
    return matrix(opcode, operands, mods, body);

  const auto type = cxx_type(opcode.back());
  if (!type)
    return Error{};
  if (base == "mov")
    return move(*type, operands, body);
  const bool saturate = mods.contains("sat"), relu = mods.contains("relu");
  const bool is_real = type->find('f') != std::string::npos;
  if (saturate && !is_real)
    return Error{};
  for (const auto& [suffix, name] :
       std::map<std::string, std::string>{{"rz", "rz"}, {"rm", "rd"}, {"rp", "ru"}})
    if (mods.contains(suffix)) {
      static const std::map<std::string, std::pair<std::string, std::size_t>> ROUNDED{
          {"add", {"add", 2}}, {"sub", {"sub", 2}},   {"mul", {"mul", 2}}, {"div", {"div", 2}},
          {"rcp", {"rcp", 1}}, {"sqrt", {"sqrt", 1}}, {"fma", {"fmaf", 3}}};
      const auto found = ROUNDED.find(base);
      if (found == ROUNDED.end() || *type != "f32")
        return Error{};
      LATHE_TRY(body,
                apply("__f" + (found->second.first == "fmaf" ? "maf" : found->second.first) + "_" + name,
                      *type, operands, found->second.second, saturate));
      return Done{};
    }
  if (base == "mul" || base == "mad") {
    const std::string part = mods.contains("hi") ? "mul_hi" : mods.contains("wide") ? "mul_wide" : "mul";
    const std::string wide =
        mods.contains("wide") ? std::string(1, (*type)[0]) + std::to_string(16 * type_bytes(*type)) : *type;
    if (operands.size() != (base == "mad" ? 4u : 3u) || (base == "mad" && is_real))
      return Error{};
    LATHE_TRY(const std::string a, read(*type, operands[1]));
    LATHE_TRY(const std::string b, read(*type, operands[2]));
    std::string value =
        PTX + part + (part == "mul_wide" ? "<" + PTX + wide + ">" : "") + "(" + a + ", " + b + ")";
    if (base == "mad") {
      LATHE_TRY(const std::string c, read(wide, operands[3]));
      value = PTX + "add(" + value + ", " + c + ")";
    }
    if (saturate)
      value = PTX + "saturate(" + value + ")";
    LATHE_TRY(body, write(operands[0], value));
    return Done{};
  }
  static const std::map<std::string, std::pair<std::string, std::size_t>> FUNCTIONS{
      {"add", {"add", 2}},     {"sub", {"sub", 2}},   {"div", {"div", 2}},   {"rem", {"rem", 2}},
      {"min", {"min", 2}},     {"max", {"max", 2}},   {"neg", {"neg", 1}},   {"abs", {"abs", 1}},
      {"fma", {"fma", 3}},     {"and", {"and_", 2}},  {"or", {"or_", 2}},    {"xor", {"xor_", 2}},
      {"not", {"not_", 1}},    {"clz", {"clz", 1}},   {"popc", {"popc", 1}}, {"brev", {"brev", 1}},
      {"ex2", {"ex2", 1}},     {"lg2", {"lg2", 1}},   {"rcp", {"rcp", 1}},   {"sqrt", {"sqrt", 1}},
      {"rsqrt", {"rsqrt", 1}}, {"tanh", {"tanh", 1}}, {"sin", {"sin", 1}},   {"cos", {"cos", 1}},
      {"mul24", {"mul24", 2}}};
  if (const auto found = FUNCTIONS.find(base); found != FUNCTIONS.end()) {
    const std::string function = PTX + found->second.first + (mods.contains("NaN") ? "_nan" : "");
    LATHE_TRY(body, apply(function, *type, operands, found->second.second, saturate, relu));
    return Done{};
  }
  if ((base == "shl" || base == "shr") && operands.size() == 3) {
    LATHE_TRY(const std::string value, read(*type, operands[1]));
    LATHE_TRY(const std::string amount, read("u32", operands[2]));
    LATHE_TRY(body, write(operands[0], PTX + base + "(" + value + ", " + amount + ")"));
    return Done{};
  }
  if (base == "shf" && operands.size() == 4) {
    const std::string function = std::string("__funnelshift_") + (mods.contains("l") ? "l" : "r") +
                                 (mods.contains("clamp") ? "c" : "");
    LATHE_TRY(body, apply(function, "u32", operands, 3));
    return Done{};
  }
  if (base == "prmt" && operands.size() == 4 && opcode.size() == 2) {
    LATHE_TRY(body, apply("__byte_perm", "u32", operands, 3));
    return Done{};
  }
  if (base == "lop3" && operands.size() == 5) {
    std::string table = operands[4];
    if (table.starts_with("%") && table.size() > 1) {
      const std::size_t index = static_cast<std::size_t>(std::atoi(table.c_str() + 1));
      if (index >= operands_.size())
        return Error{};
      table = operands_[index].expression;
    }
    LATHE_TRY(body,
              apply(PTX + "lop3<(" + table + ")>", "u32", Words(operands.begin(), operands.begin() + 4), 3));
    return Done{};
  }
  if ((base == "bfe" && operands.size() == 4) || (base == "bfi" && operands.size() == 5)) {
    const std::size_t values = base == "bfe" ? 1 : 2;
    std::string call = PTX + base + "(";
    for (std::size_t i = 1; i < operands.size(); ++i) {
      LATHE_TRY(const std::string value, read(i <= values ? *type : "u32", operands[i]));
      call += (i > 1 ? ", " : "") + value;
    }
    LATHE_TRY(body, write(operands[0], call + ")"));
    return Done{};
  }
  if (base == "selp" && operands.size() == 4) {
    LATHE_TRY(const std::string a, read(*type, operands[1]));
    LATHE_TRY(const std::string b, read(*type, operands[2]));
    LATHE_TRY(const std::string p, read("pred", operands[3]));
    LATHE_TRY(body, write(operands[0], "(" + p + " ? " + a + " : " + b + ")"));
    return Done{};
  }
  if ((base == "setp" || base == "set") && opcode.size() >= 3 && operands.size() >= 3) {
    LATHE_TRY(const std::string a, read(*type, operands[1]));
    LATHE_TRY(const std::string b, read(*type, operands[2]));
    const std::string test = PTX + "cmp_" + opcode[1];
    if (base == "set") {
      const auto to = opcode.size() >= 4 ? cxx_type(opcode[opcode.size() - 2]) : std::nullopt;
      if (!to || operands.size() != 3)
        return Error{};
      LATHE_TRY(body,
                write(operands[0], PTX + "set_if<" + test + ", " + PTX + *to + ">(" + a + ", " + b + ")"));
      return Done{};
    }
    std::string value = PTX + "compare<" + test + ">(" + a + ", " + b + ")", opposite = "!" + value;
    if (operands.size() == 4) {
      LATHE_TRY(const std::string c, read("pred", operands[3]));
      const std::string combine = mods.contains("and")   ? " & "
                                  : mods.contains("or")  ? " | "
                                  : mods.contains("xor") ? " ^ "
                                                         : "";
      if (combine.empty())
        return Error{};
      value = "bool(" + value + combine + c + ")", opposite = "bool(" + opposite + combine + c + ")";
    }
    const Words to = split(operands[0], '|');
    LATHE_TRY(body, write(to[0], value));
    if (to.size() == 2) {
      LATHE_TRY(const std::string second, write(to[1], opposite));
      body += " " + second;
    }
    return Done{};
  }
  return Error{};
}

Result<std::string> translate_ptx(std::string_view text, const std::vector<AsmOperand>& outputs,
                                  const std::vector<AsmOperand>& inputs) {
  return PtxTranslator(outputs, inputs).translate(text);
}

} // namespace lathe::host
