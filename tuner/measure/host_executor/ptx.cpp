#include "tuner/measure/host_executor/ptx.h"

#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>

namespace lathe::host {
namespace {

using Words = std::vector<std::string>;

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos)
    return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

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

// PTX type suffix -> type of device/lathe_ptx.h.
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

const std::string PTX = "::lathe_ptx::";

class Translator {
public:
  Translator(const std::vector<AsmOperand>& outputs, const std::vector<AsmOperand>& inputs)
      : operands_(outputs), output_count_(outputs.size()) {
    operands_.insert(operands_.end(), inputs.begin(), inputs.end());
  }

  Result<std::string> translate(std::string_view text) {
    std::string code = "do { ";
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      LATHE_CHECK(declare(i, code));
    }
    LATHE_CHECK(statements(text, code));
    for (std::size_t i = 0; i < output_count_; ++i)
      code += PTX + "write_operand(" + operands_[i].expression + ", lathe_r" + std::to_string(i) + "); ";
    return code + "} while (0)";
  }

private:
  static Error unsupported(std::string_view instruction) {
    return {"cannot run inline assembly on the host executor",
            "the instruction '" + std::string(instruction) + "' is not modelled",
            "check this kernel on a GPU"};
  }

  Status declare(std::size_t i, std::string& code) {
    const AsmOperand& operand = operands_[i];
    static const std::map<char, std::string> REGISTERS{{'r', "u32"}, {'h', "u16"}, {'l', "u64"},
                                                       {'f', "u32"}, {'d', "u64"}, {'n', "u64"}};
    const auto found = REGISTERS.find(operand.constraint.empty() ? '?' : operand.constraint.back());
    if (found == REGISTERS.end())
      return Error{"cannot run inline assembly on the host executor",
                   "the operand constraint '" + operand.constraint + "' is not modelled", ""};
    const std::string name = "lathe_r" + std::to_string(i);
    const bool is_read = i >= output_count_ || operand.constraint[0] == '+';
    code += "[[maybe_unused]] " + PTX + found->second + " " + name + " = " +
            (is_read ? PTX + "read_operand<" + PTX + found->second + ">(" + operand.expression + ")" : "0") +
            "; ";
    return Done{};
  }

  Status statements(std::string_view text, std::string& code) {
    std::string clean;
    for (std::size_t i = 0; i < text.size(); ++i) { // comments
      if (text.substr(i, 2) == "//")
        i = std::min(text.find('\n', i), text.size()) - 1;
      else if (text.substr(i, 2) == "/*")
        i = std::min(text.find("*/", i), text.size() - 2) + 1;
      else
        clean += text[i];
    }
    std::size_t at = 0;
    int scopes = 0;
    while (true) {
      at = clean.find_first_not_of(" \t\r\n;", at);
      if (at == std::string::npos)
        break;
      if (clean[at] == '{' || clean[at] == '}') {
        scopes += clean[at] == '{' ? 1 : -1;
        code += clean[at++];
        code += ' ';
        continue;
      }
      std::size_t end = clean.find(';', at);
      // A scope's closing brace may follow the last instruction directly.
      int depth = 0;
      for (std::size_t i = at; i < std::min(end, clean.size()); ++i) {
        depth += (clean[i] == '{') - (clean[i] == '}');
        if (depth < 0) {
          end = i;
          break;
        }
      }
      LATHE_CHECK(statement(trimmed(std::string_view(clean).substr(at, end - at)), code));
      if (end == std::string::npos)
        break;
      at = clean[end] == ';' ? end + 1 : end;
    }
    if (scopes != 0)
      return unsupported("{");
    return Done{};
  }

  Status statement(std::string text, std::string& code) {
    if (text.starts_with(".reg"))
      return declare_registers(text, code);
    if (text.ends_with(":") || text.starts_with("."))
      return unsupported(text);
    std::string condition;
    if (text[0] == '@') {
      const auto end = text.find_first_of(" \t\n");
      if (end == std::string::npos)
        return unsupported(text);
      const bool negated = text[1] == '!';
      LATHE_TRY(const std::string value, read("pred", text.substr(negated ? 2 : 1, end - (negated ? 2 : 1))));
      condition = "if (" + std::string(negated ? "!" : "") + value + ") ";
      text = trimmed(std::string_view(text).substr(end));
    }
    const auto space = text.find_first_of(" \t\n");
    const std::string opcode = text.substr(0, space);
    const Words operands =
        space == std::string::npos ? Words{} : split(std::string_view(text).substr(space), ',');
    std::string body;
    auto status = instruction(split(opcode, '.'), operands, body);
    if (!status.ok())
      return status.error().why.empty() ? unsupported(text) : status;
    code += condition + "{ " + body + " } ";
    return Done{};
  }

  Status declare_registers(const std::string& text, std::string& code) {
    // ".reg .b32 a, b": the type may follow ".reg" without a space.
    std::string rest = trimmed(std::string_view(text).substr(4));
    if (rest.empty() || rest[0] != '.')
      return unsupported(text);
    const auto end = rest.find_first_of(" \t\n");
    const auto type = end == std::string::npos ? std::nullopt : cxx_type(rest.substr(1, end - 1));
    if (!type)
      return unsupported(text);
    for (const std::string& name : split(std::string_view(rest).substr(end), ',')) {
      if (name.find('<') != std::string::npos)
        return unsupported(text);
      code += "[[maybe_unused]] " + (*type == "pred" ? "bool" : PTX + register_type(*type)) + " " +
              local(name) + " = 0; ";
    }
    return Done{};
  }

  static std::string local(const std::string& name) {
    std::string result = "lathe_v_";
    for (const char c : name)
      result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return result;
  }

  // The register behind "%3", "%[name]" or a declared name.
  std::optional<std::string> reg(const std::string& operand) const {
    if (operand.empty())
      return {};
    if (operand[0] == '%' && operand.size() > 1 && std::isdigit(static_cast<unsigned char>(operand[1]))) {
      for (const char c : operand.substr(1))
        if (!std::isdigit(static_cast<unsigned char>(c)))
          return {};
      return "lathe_r" + operand.substr(1);
    }
    if (operand.starts_with("%[")) {
      for (std::size_t i = 0; i < operands_.size(); ++i)
        if (operands_[i].name == operand.substr(2, operand.size() - 3))
          return "lathe_r" + std::to_string(i);
      return {};
    }
    if (operand.starts_with("%%"))
      return special(operand.substr(2));
    if (operand == "WARP_SZ")
      return PTX + "u32(32)";
    if (std::isalpha(static_cast<unsigned char>(operand[0])) || operand[0] == '_' || operand[0] == '$')
      return local(operand);
    return {};
  }
  static std::optional<std::string> special(const std::string& name) {
    static const std::map<std::string, std::string> REGISTERS{
        {"laneid", "::lathe_host::lane()"},
        {"warpid", "(::lathe_host::thread().linear / 32)"},
        {"nwarpid", "((::lathe_host::block().threads + 31) / 32)"},
        {"tid.x", "threadIdx.x"},
        {"tid.y", "threadIdx.y"},
        {"tid.z", "threadIdx.z"},
        {"ntid.x", "blockDim.x"},
        {"ntid.y", "blockDim.y"},
        {"ntid.z", "blockDim.z"},
        {"ctaid.x", "blockIdx.x"},
        {"ctaid.y", "blockIdx.y"},
        {"ctaid.z", "blockIdx.z"},
        {"nctaid.x", "gridDim.x"},
        {"nctaid.y", "gridDim.y"},
        {"nctaid.z", "gridDim.z"},
        {"smid", "::lathe_ptx::u32(0)"},
        {"nsmid", "::lathe_ptx::u32(1)"},
        {"lanemask_eq", "(1u << ::lathe_host::lane())"},
        {"lanemask_lt", "((1u << ::lathe_host::lane()) - 1)"},
        {"lanemask_le", "((2u << ::lathe_host::lane()) - 1)"},
        {"lanemask_gt", "~((2u << ::lathe_host::lane()) - 1)"},
        {"lanemask_ge", "~((1u << ::lathe_host::lane()) - 1)"},
        {"clock", "::lathe_ptx::u32(clock64())"},
        {"clock64", "::lathe_ptx::u64(clock64())"},
        {"globaltimer", "::lathe_ptx::u64(__globaltimer())"},
        {"dynamic_smem_size", "::lathe_host::block().shared_bytes"}};
    const auto found = REGISTERS.find(name);
    if (found == REGISTERS.end())
      return {};
    const std::string value = found->second;
    // Index components are recomputed: the preprocessor has already run.
    static const std::map<std::string, std::string> INDEX{{"threadIdx", "thread().thread"},
                                                          {"blockDim", "block().block_dim"},
                                                          {"blockIdx", "block().block"},
                                                          {"gridDim", "block().grid_dim"}};
    const auto dot = value.find('.');
    if (dot != std::string::npos)
      if (const auto index = INDEX.find(value.substr(0, dot)); index != INDEX.end())
        return "::lathe_host::" + index->second + value.substr(dot);
    return value;
  }

  // The operand's value as `type`.
  Result<std::string> read(const std::string& type, const std::string& operand) const {
    if (type == "pred" && operand.starts_with("!")) {
      LATHE_TRY(const std::string value, read(type, operand.substr(1)));
      return "!" + value;
    }
    const std::string cxx = type == "pred" ? "bool" : PTX + type;
    if (const auto name = reg(operand)) {
      return PTX + "get<" + cxx + ">(" + *name + ")";
    }
    if (operand.empty())
      return Error{};
    const bool is_integer = type[0] == 'u' || type[0] == 's' || type == "pred";
    if (operand.starts_with("0f") || operand.starts_with("0F") || operand.starts_with("0d") ||
        operand.starts_with("0D")) {
      const bool single = operand[1] == 'f' || operand[1] == 'F';
      const std::string bits = (single ? PTX + "u32" : PTX + "u64") + "(0x" + operand.substr(2) + "ull)";
      if (is_integer)
        return cxx + "(" + bits + ")";
      return PTX + "immediate_real<" + cxx + ">(::lathe_host::bits_as<" + (single ? "float" : "double") +
             ">(" + bits + "))";
    }
    std::string number = operand;
    const bool negative = number[0] == '-';
    if (negative)
      number = trimmed(std::string_view(number).substr(1));
    if (number.empty() || !std::isdigit(static_cast<unsigned char>(number[0])))
      return Error{};
    const bool is_hex = number.starts_with("0x") || number.starts_with("0X");
    if (!is_hex && number.find_first_of(".eE") != std::string::npos)
      return PTX + "immediate_real<" + cxx + ">(" + operand + ")";
    while (!number.empty() && (number.back() == 'U' || number.back() == 'u'))
      number.pop_back();
    return PTX + "immediate<" + cxx + ">(" + (negative ? "0 - " : "") + number + "ull)";
  }
  Result<std::string> write(const std::string& operand, const std::string& value) const {
    if (operand == "_")
      return "(void)(" + value + ");";
    const auto name = reg(operand);
    if (!name || name->find("lathe_") != 0)
      return Error{};
    return PTX + "set(" + *name + ", " + value + ");";
  }
  // "name(read(operands[1]), ...)" written to operands[0].
  Result<std::string> apply(const std::string& function, const std::string& type, const Words& operands,
                            std::size_t count, bool saturate = false, bool relu = false) const {
    if (operands.size() != count + 1)
      return Error{};
    std::string value = function + "(";
    for (std::size_t i = 1; i <= count; ++i) {
      LATHE_TRY(const std::string argument, read(type, operands[i]));
      value += (i > 1 ? ", " : "") + argument;
    }
    value += ")";
    if (saturate)
      value = PTX + "saturate(" + value + ")";
    if (relu)
      value = PTX + "relu(" + value + ")";
    return write(operands[0], value);
  }

  // "[%1+16]": the address as u64.
  Result<std::string> address(const std::string& operand) const {
    if (operand.size() < 3 || operand.front() != '[' || operand.back() != ']')
      return Error{};
    const std::string inside = trimmed(std::string_view(operand).substr(1, operand.size() - 2));
    const auto plus = inside.find('+');
    const auto name = reg(trimmed(std::string_view(inside).substr(0, plus)));
    if (!name)
      return Error{};
    std::string result = PTX + "u64(" + *name + ")";
    if (plus != std::string::npos)
      result += " + " + PTX + "u64(" + trimmed(std::string_view(inside).substr(plus + 1)) + ")";
    return result;
  }

  Status instruction(const Words& opcode, const Words& operands, std::string& body);
  Status memory(const Words& opcode, const Words& operands, const std::set<std::string>& mods,
                std::string& body);
  Status move(const std::string& type, const Words& operands, std::string& body);
  Status convert(const Words& opcode, const Words& operands, const std::set<std::string>& mods,
                 std::string& body);
  Status atomic(const Words& opcode, const Words& operands, const std::set<std::string>& mods,
                std::string& body);
  Status warp(const Words& opcode, const Words& operands, const std::set<std::string>& mods,
              std::string& body);

  std::vector<AsmOperand> operands_;
  std::size_t output_count_;
};

Words vector_parts(const std::string& operand) {
  if (operand.size() > 2 && operand.front() == '{' && operand.back() == '}')
    return split(std::string_view(operand).substr(1, operand.size() - 2), ',');
  return {operand};
}

Status Translator::move(const std::string& type, const Words& operands, std::string& body) {
  if (operands.size() != 2)
    return Error{};
  const Words to = vector_parts(operands[0]), from = vector_parts(operands[1]);
  if (to.size() == 1 && from.size() == 1) {
    LATHE_TRY(const std::string value, read(type, from[0]));
    LATHE_TRY(body, write(to[0], value));
    return Done{};
  }
  const std::size_t parts = std::max(to.size(), from.size());
  const int part_bits = 8 * type_bytes(type) / static_cast<int>(parts);
  const std::string part = part_bits == 64 ? "u64" : part_bits == 32 ? "u32" : part_bits == 16 ? "u16" : "u8";
  const std::string whole = PTX + register_type(type);
  if (to.size() == 1) {
    std::string value = whole + "(0)";
    for (std::size_t i = 0; i < parts; ++i) {
      LATHE_TRY(const std::string item, read(part, from[i]));
      value += " | " + whole + "(" + item + ") << " + std::to_string(static_cast<int>(i) * part_bits);
    }
    LATHE_TRY(body, write(to[0], value));
    return Done{};
  }
  if (from.size() != 1)
    return Error{};
  LATHE_TRY(const std::string value, read(register_type(type), from[0]));
  body = "const " + whole + " lathe_whole = " + value + "; ";
  for (std::size_t i = 0; i < parts; ++i) {
    LATHE_TRY(const std::string item,
              write(to[i],
                    PTX + part + "(lathe_whole >> " + std::to_string(static_cast<int>(i) * part_bits) + ")"));
    body += item + " ";
  }
  return Done{};
}

Status Translator::convert(const Words& opcode, const Words& operands, const std::set<std::string>& mods,
                           std::string& body) {
  if (opcode.size() < 3 || operands.size() < 2)
    return Error{};
  const std::string &to = opcode[opcode.size() - 2], &from = opcode.back();
  const bool saturating = mods.contains("sat"), relu = mods.contains("relu");
  static const std::map<std::string, std::array<std::string, 2>> MODES{
      {"rn", {"nearest", "false"}}, {"rz", {"zero", "false"}},    {"rm", {"down", "false"}},
      {"rp", {"up", "false"}},      {"rni", {"nearest", "true"}}, {"rzi", {"zero", "true"}},
      {"rmi", {"down", "true"}},    {"rpi", {"up", "true"}}};
  std::array<std::string, 2> mode{"nearest", "false"};
  for (const auto& [name, value] : MODES)
    if (mods.contains(name))
      mode = value;
  const std::string arguments =
      ", ::lathe_host::Rounding::" + mode[0] + ", " + mode[1] + ", " + (saturating ? "true" : "false") + ")";
  const auto one = [&](const std::string& to_type, const std::string& from_type,
                       const std::string& operand) -> Result<std::string> {
    LATHE_TRY(const std::string value, read(from_type, operand));
    const std::string converted = PTX + "convert<" + PTX + to_type + ">(" + value + arguments;
    return relu ? PTX + "relu(" + converted + ")" : converted;
  };
  const bool to_fp8 = to == "e4m3x2" || to == "e5m2x2", from_fp8 = from == "e4m3x2" || from == "e5m2x2";
  if (to_fp8 || from_fp8) {
    const std::string format = "::lathe_ptx::" + (to_fp8 ? to : from).substr(0, 4);
    if (to_fp8 && from == "f32" && operands.size() == 3) {
      LATHE_TRY(const std::string hi, read("f32", operands[1]));
      LATHE_TRY(const std::string lo, read("f32", operands[2]));
      LATHE_TRY(body, write(operands[0], PTX + "u16(" + format + "_encode(" + lo + ") | " + format +
                                             "_encode(" + hi + ") << 8)"));
      return Done{};
    }
    if (to_fp8 && from == "f16x2" && operands.size() == 2) {
      LATHE_TRY(const std::string pair, read("f16x2", operands[1]));
      LATHE_TRY(body, write(operands[0], PTX + "u16(" + format + "_encode((float)" + pair + ".lo) | " +
                                             format + "_encode((float)" + pair + ".hi) << 8)"));
      return Done{};
    }
    if (from_fp8 && to == "f16x2" && operands.size() == 2) {
      LATHE_TRY(const std::string pair, read("u16", operands[1]));
      LATHE_TRY(body,
                write(operands[0], PTX + "f16x2{(" + PTX + "f16)" + format + "_decode(" + pair +
                                       " & 255), (" + PTX + "f16)" + format + "_decode(" + pair + " >> 8)}"));
      return Done{};
    }
    return Error{};
  }
  if ((to == "f16x2" || to == "bf16x2") && from == "f32" && operands.size() == 3) {
    const std::string half = to == "f16x2" ? "f16" : "bf16";
    LATHE_TRY(const std::string hi, one(half, "f32", operands[1]));
    LATHE_TRY(const std::string lo, one(half, "f32", operands[2]));
    LATHE_TRY(body, write(operands[0], PTX + to + "{" + lo + ", " + hi + "}"));
    return Done{};
  }
  const auto to_type = cxx_type(to), from_type = cxx_type(from);
  if (!to_type || !from_type || operands.size() != 2)
    return Error{};
  LATHE_TRY(const std::string value, one(*to_type, *from_type, operands[1]));
  LATHE_TRY(body, write(operands[0], value));
  return Done{};
}

Status Translator::memory(const Words& opcode, const Words& operands, const std::set<std::string>& mods,
                          std::string& body) {
  const bool is_load = opcode[0] == "ld" || opcode[0] == "ldu";
  const auto type = cxx_type(opcode.back());
  if (!type || operands.size() < 2 || mods.contains("param") || mods.contains("local"))
    return Error{};
  const Words parts = vector_parts(operands[is_load ? 0 : 1]);
  const std::size_t wanted = mods.contains("v8") ? 8 : mods.contains("v4") ? 4 : mods.contains("v2") ? 2 : 1;
  if (parts.size() != wanted)
    return Error{};
  const bool shared = mods.contains("shared") || mods.contains("shared::cta");
  if (mods.contains("shared::cluster"))
    return Error{};
  LATHE_TRY(const std::string where, address(operands[is_load ? 1 : 0]));
  body = "const auto lathe_p = " + PTX + (shared ? "shared" : "global") + "_pointer<" + PTX + *type + ">(" +
         where + "); " + PTX + "aligned<" + std::to_string(static_cast<int>(wanted) * type_bytes(*type)) +
         ">(lathe_p); ";
  // All parts are loaded before the first is written: a destination may be the address.
  for (std::size_t i = 0; i < wanted && is_load; ++i)
    body += "const auto lathe_l" + std::to_string(i) + " = " + PTX + "load(lathe_p + " + std::to_string(i) +
            "); ";
  for (std::size_t i = 0; i < wanted; ++i) {
    if (is_load) {
      LATHE_TRY(const std::string item, write(parts[i], "lathe_l" + std::to_string(i)));
      body += item + " ";
    } else {
      LATHE_TRY(const std::string value, read(*type, parts[i]));
      body += PTX + "store(lathe_p + " + std::to_string(i) + ", " + value + "); ";
    }
  }
  return Done{};
}

Status Translator::atomic(const Words& opcode, const Words& operands, const std::set<std::string>& mods,
                          std::string& body) {
  const bool has_result = opcode[0] == "atom";
  const std::size_t first = has_result ? 1 : 0;
  const auto type = cxx_type(opcode.back());
  if (!type || operands.size() < first + 2 || mods.contains("v2") || mods.contains("v4"))
    return Error{};
  static const std::map<std::string, std::string> OPERATIONS{
      {"add", "::lathe_ptx::add(lathe_old, lathe_b)"},
      {"min", "::lathe_ptx::min(lathe_old, lathe_b)"},
      {"max", "::lathe_ptx::max(lathe_old, lathe_b)"},
      {"and", "::lathe_ptx::and_(lathe_old, lathe_b)"},
      {"or", "::lathe_ptx::or_(lathe_old, lathe_b)"},
      {"xor", "::lathe_ptx::xor_(lathe_old, lathe_b)"},
      {"exch", "lathe_b"},
      {"cas", "lathe_old == lathe_b ? lathe_c : lathe_old"},
      {"inc", "lathe_old >= lathe_b ? 0 : lathe_old + 1"},
      {"dec", "lathe_old == 0 || lathe_old > lathe_b ? lathe_b : lathe_old - 1"}};
  std::string operation;
  for (const auto& [name, expression] : OPERATIONS)
    if (mods.contains(name))
      operation = expression;
  if (operation.empty() || (mods.contains("cas") && operands.size() < first + 3))
    return Error{};
  const bool shared = mods.contains("shared") || mods.contains("shared::cta");
  const std::string cxx = PTX + *type;
  LATHE_TRY(const std::string where, address(operands[first]));
  LATHE_TRY(const std::string b, read(*type, operands[first + 1]));
  body = "const auto lathe_b = " + b + "; ";
  if (mods.contains("cas")) {
    LATHE_TRY(const std::string c, read(*type, operands[first + 2]));
    body += "const auto lathe_c = " + c + "; ";
  }
  const std::string call = PTX + "atomic(" + PTX + (shared ? "shared" : "global") + "_pointer<" + cxx + ">(" +
                           where + "), [=](" + cxx + " lathe_old) -> " + cxx + " { return " + operation +
                           "; })";
  LATHE_TRY(const std::string item, write(has_result ? operands[0] : "_", call));
  body += item;
  return Done{};
}

Status Translator::warp(const Words& opcode, const Words& operands, const std::set<std::string>& mods,
                        std::string& body) {
  const std::string& base = opcode[0];
  if (base == "shfl" && operands.size() >= 4) {
    static const std::map<std::string, std::string> KINDS{
        {"idx", "index"}, {"up", "up"}, {"down", "down"}, {"bfly", "exclusive_or"}};
    std::string kind;
    for (const auto& [name, value] : KINDS)
      if (mods.contains(name))
        kind = value;
    const Words to = split(operands[0], '|');
    LATHE_TRY(const std::string value, read("u32", operands[1]));
    LATHE_TRY(const std::string operand, read("u32", operands[2]));
    LATHE_TRY(const std::string clamp, read("u32", operands[3]));
    std::string mask = "0xffffffffu";
    if (mods.contains("sync")) {
      if (operands.size() != 5)
        return Error{};
      LATHE_TRY(mask, read("u32", operands[4]));
    }
    const auto inside = to.size() == 2 ? reg(to[1]) : std::optional<std::string>("lathe_inside");
    if (kind.empty() || !inside)
      return Error{};
    LATHE_TRY(body, write(to[0], PTX + "shfl(::lathe_host::Shuffle::" + kind + ", " + value + ", " + operand +
                                     ", " + clamp + ", " + mask + ", " + *inside + ", __LINE__)"));
    body = "[[maybe_unused]] bool lathe_inside = false; " + body;
    return Done{};
  }
  if (base == "vote" && mods.contains("sync") && operands.size() == 3) {
    LATHE_TRY(const std::string predicate, read("pred", operands[1]));
    LATHE_TRY(const std::string mask, read("u32", operands[2]));
    const std::string function = mods.contains("ballot") ? "__ballot_sync"
                                 : mods.contains("all")  ? "0 != __all_sync"
                                 : mods.contains("any")  ? "0 != __any_sync"
                                                         : "";
    if (function.empty())
      return Error{};
    LATHE_TRY(body, write(operands[0], function + "(" + mask + ", " + predicate + ")"));
    return Done{};
  }
  if (base == "redux" && operands.size() == 3) {
    for (const std::string operation : {"add", "min", "max", "and", "or", "xor"})
      if (mods.contains(operation)) {
        const auto type = cxx_type(opcode.back());
        if (!type || (*type != "u32" && *type != "s32"))
          return Error{};
        LATHE_TRY(const std::string value, read(*type, operands[1]));
        LATHE_TRY(const std::string mask, read("u32", operands[2]));
        LATHE_TRY(body, write(operands[0], "__reduce_" + operation + "_sync(" + mask + ", " + value + ")"));
        return Done{};
      }
    return Error{};
  }
  if (base == "match" && mods.contains("any") && operands.size() == 3) {
    const auto type = cxx_type(opcode.back());
    if (!type)
      return Error{};
    LATHE_TRY(const std::string value, read(*type, operands[1]));
    LATHE_TRY(const std::string mask, read("u32", operands[2]));
    LATHE_TRY(body, write(operands[0], "__match_any_sync(" + mask + ", " + value + ")"));
    return Done{};
  }
  if (base == "activemask" && operands.size() == 1) {
    LATHE_TRY(body, write(operands[0], "__activemask()"));
    return Done{};
  }
  // bar.sync, barrier.sync[.aligned], bar.arrive, bar.warp.sync
  if ((base == "bar" || base == "barrier") && !operands.empty() && !mods.contains("red") &&
      !mods.contains("cluster")) {
    LATHE_TRY(const std::string id, read("u32", operands[0]));
    if (mods.contains("warp")) {
      body = "__syncwarp(" + id + ");";
      return Done{};
    }
    std::string count = "0u";
    if (operands.size() > 1) {
      LATHE_TRY(count, read("u32", operands[1]));
    }
    const std::string wait = mods.contains("arrive") ? "false" : "true";
    body =
        "lathe_api->barrier(" + id + ", " + count + ", " + wait + ", ::lathe_host::Vote::none, 0, __LINE__);";
    return Done{};
  }
  return Error{};
}

Status Translator::instruction(const Words& opcode, const Words& operands, std::string& body) {
  const std::string& base = opcode[0];
  const std::set<std::string> mods(opcode.begin() + 1, opcode.end());
  static const std::set<std::string> NOTHING{"griddepcontrol", "prefetch",      "prefetchu",
                                             "discard",        "applypriority", "setmaxnreg"};
  if (NOTHING.contains(base))
    return Done{};
  if (base == "fence" || base == "membar") {
    body = "__threadfence();";
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
  if (base == "cp") { // cp.async: complete at once; the bulk forms need an mbarrier
    if (!mods.contains("async") || mods.contains("bulk") || mods.contains("mbarrier"))
      return Error{};
    if (mods.contains("commit_group") || mods.contains("wait_group") || mods.contains("wait_all"))
      return Done{};
    if (operands.size() < 3)
      return Error{};
    LATHE_TRY(const std::string to, address(operands[0]));
    LATHE_TRY(const std::string from, address(operands[1]));
    LATHE_TRY(const std::string bytes, read("u32", operands[2]));
    std::string source = bytes;
    if (operands.size() > 3) {
      LATHE_TRY(source, read("u32", operands[3]));
    }
    body = PTX + "copy(" + PTX + "shared_pointer<unsigned char>(" + to + "), " + PTX +
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

} // namespace

Result<std::string> translate_ptx(std::string_view text, const std::vector<AsmOperand>& outputs,
                                  const std::vector<AsmOperand>& inputs) {
  return Translator(outputs, inputs).translate(text);
}

} // namespace lathe::host
