#include "tuner/measure/host_executor/ptx_translator.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace lathe::host {

Result<std::string> PtxTranslator::translate(std::string_view text) {
  std::string code = "do { ";
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    LATHE_CHECK(declare(i, code));
  }
  LATHE_CHECK(statements(text, code));
  for (std::size_t i = 0; i < output_count_; ++i)
    code += PTX + "write_operand(" + operands_[i].expression + ", lathe_r" + std::to_string(i) + "); ";
  return code + "} while (0)";
}

Error PtxTranslator::unsupported(std::string_view instruction) {
  return {"cannot run inline assembly on the host executor",
          "the instruction '" + std::string(instruction) + "' is not modelled", "check this kernel on a GPU"};
}

Status PtxTranslator::declare(std::size_t i, std::string& code) {
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

Status PtxTranslator::statements(std::string_view text, std::string& code) {
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

Status PtxTranslator::statement(std::string text, std::string& code) {
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
  // Operands in brackets may follow without a space.
  const auto end_of_opcode = text.find_first_of(" \t\n{[");
  const std::string opcode = text.substr(0, end_of_opcode);
  const Words operands =
      end_of_opcode == std::string::npos ? Words{} : split(std::string_view(text).substr(end_of_opcode), ',');
  std::string body;
  auto status = instruction(split(opcode, '.'), operands, body);
  if (!status.ok())
    return status.error().why.empty() ? unsupported(text) : status;
  code += condition + "{ " + body + " } ";
  return Done{};
}

Status PtxTranslator::declare_registers(const std::string& text, std::string& code) {
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

std::string PtxTranslator::local(const std::string& name) {
  std::string result = "lathe_v_";
  for (const char c : name)
    result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return result;
}

std::optional<std::string> PtxTranslator::reg(const std::string& operand) const {
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

std::optional<std::string> PtxTranslator::special(const std::string& name) {
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

Result<std::string> PtxTranslator::read(const std::string& type, const std::string& operand) const {
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
    return PTX + "immediate_real<" + cxx + ">(::lathe_host::bits_as<" + (single ? "float" : "double") + ">(" +
           bits + "))";
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

Result<std::string> PtxTranslator::write(const std::string& operand, const std::string& value) const {
  if (operand == "_")
    return "(void)(" + value + ");";
  const auto name = reg(operand);
  if (!name || name->find("lathe_") != 0)
    return Error{};
  return PTX + "set(" + *name + ", " + value + ");";
}

Result<std::string> PtxTranslator::apply(const std::string& function, const std::string& type,
                                         const Words& operands, std::size_t count, bool saturate,
                                         bool relu) const {
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

Result<std::string> PtxTranslator::address(const std::string& operand) const {
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

} // namespace lathe::host
