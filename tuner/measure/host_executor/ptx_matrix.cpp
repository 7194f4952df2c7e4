// Instructions of tensor cores (PTX ISA, warp-level matrix instructions), as calls of device/lathe_matrix.h.
#include "tuner/measure/host_executor/ptx_translator.h"

#include <cstdlib>
#include <fmt/format.h>

namespace lathe::host {
namespace {

struct MatrixShape {
  int rows, depth; // m and k; n is 8
};

std::optional<MatrixShape> shape_of(const Words& opcode) {
  for (const std::string& word : opcode)
    for (const int rows : {8, 16})
      if (const std::string front = fmt::format("m{}n8k", rows); word.starts_with(front))
        return MatrixShape{rows, std::atoi(word.c_str() + front.size())};
  return {};
}

// The bits of an operand's element. None: no such operand is modelled.
std::optional<int> element_bits(const std::string& type) {
  static const std::map<std::string, int> BITS{{"f16", 16}, {"bf16", 16}, {"tf32", 32}, {"e4m3", 8},
                                               {"e5m2", 8}, {"f64", 64},  {"s8", 8},    {"u8", 8},
                                               {"s4", 4},   {"u4", 4},    {"b1", 1}};
  const auto found = BITS.find(type);
  if (found == BITS.end())
    return {};
  return found->second;
}

} // namespace

Result<std::string> PtxTranslator::listed(const std::string& name, const std::string& type,
                                          const Words& registers) const {
  std::string code = fmt::format("const {}{} {}[] = {{", PTX, type, name);
  for (const std::string& one : registers) {
    LATHE_TRY(const std::string value, read(type, one));
    code += value + ", ";
  }
  return code + "}; ";
}

Status PtxTranslator::multiply(const Words& opcode, const Words& operands, const std::set<std::string>& mods,
                               std::string& body) {
  const auto shape = shape_of(opcode);
  if (!shape || operands.size() != 4 || mods.contains("sp") || !mods.contains("row") || !mods.contains("col"))
    return Error{};
  Words types; // of d, a, b and c
  for (const std::string& word : opcode)
    if (element_bits(word) || word == "f32" || word == "s32")
      types.push_back(word);
  if (types.size() != 4)
    return Error{};
  const auto bits = element_bits(types[1]), other_bits = element_bits(types[2]);
  if (!bits || bits != other_bits)
    return Error{};
  // A lane has a quarter of a row, in registers of 32 bits, or of 64 for f64.
  const int register_bits = *bits == 64 ? 64 : 32;
  const int depth_registers = shape->depth * *bits / (4 * register_bits);
  const std::string saturated = mods.contains("satfinite") && types[3] == "s32" ? "_saturated" : "";
  const std::string type = register_bits == 64 ? "u64" : "u32";
  const Words to = vector_parts(operands[0]), a = vector_parts(operands[1]), b = vector_parts(operands[2]),
              c = vector_parts(operands[3]);
  const std::size_t halves = shape->rows == 8 ? 1 : 2; // of eight rows each
  const auto sums = [&](const std::string& sum) { return halves * (sum == "f16" ? 1 : 2); };
  if (depth_registers < 1 || b.size() != static_cast<std::size_t>(depth_registers) ||
      a.size() != b.size() * halves || to.size() != sums(types[0]) || c.size() != sums(types[3]))
    return Error{};
  // Volta's quarters of a warp lie otherwise.
  if (shape->rows == 8 && *bits == 16)
    return Error{};
  std::string products = fmt::format("{0}products<{0}matrix_{1}, {0}matrix_{2}>", PTX, types[1], types[2]);
  if (*bits == 1)
    products = PTX + (mods.contains("and") ? "products_and" : "products_xor");
  LATHE_TRY(const std::string a_list, listed("lathe_a", type, a));
  LATHE_TRY(const std::string b_list, listed("lathe_b", type, b));
  LATHE_TRY(const std::string c_list, listed("lathe_c", type, c));
  body = fmt::format(
      "{}{}{}{}{} lathe_d[{}] = {{}}; {}mma<{}, {}, {}sum_{}, {}sum_{}{}>(lathe_a, lathe_b, lathe_c, "
      "lathe_d, __LINE__); ",
      a_list, b_list, c_list, PTX, type, to.size(), PTX, shape->rows, products, PTX, types[3], PTX, types[0],
      saturated);
  for (std::size_t i = 0; i < to.size(); ++i) {
    LATHE_TRY(const std::string item, write(to[i], fmt::format("lathe_d[{}]", i)));
    body += item + " ";
  }
  return Done{};
}

Status PtxTranslator::matrix(const Words& opcode, const Words& operands, const std::set<std::string>& mods,
                             std::string& body) {
  const std::string& base = opcode[0];
  if (base == "mma")
    return multiply(opcode, operands, mods, body);
  if (operands.size() != 2 || !mods.contains("m8n8") || !mods.contains("b16"))
    return Error{};
  if (base == "movmatrix") {
    LATHE_TRY(const std::string value, read("u32", operands[1]));
    LATHE_TRY(body, write(operands[0], PTX + "transposed_matrix(" + value + ", __LINE__)"));
    return Done{};
  }
  const bool is_load = base == "ldmatrix";
  const Words registers = vector_parts(operands[is_load ? 0 : 1]);
  const std::size_t wanted = mods.contains("x4") ? 4 : mods.contains("x2") ? 2 : mods.contains("x1") ? 1 : 0;
  if (registers.size() != wanted)
    return Error{};
  LATHE_TRY(const std::string where, address(operands[is_load ? 1 : 0]));
  const bool is_shared = mods.contains("shared") || mods.contains("shared::cta");
  const std::string pointer =
      PTX + (is_shared ? "shared" : "global") + "_pointer<" + PTX + "u32>(" + where + ")";
  const std::string transposed = mods.contains("trans") ? "true" : "false";
  if (!is_load) {
    LATHE_TRY(const std::string values, listed("lathe_m", "u32", registers));
    body = values + PTX + "store_matrices<" + transposed + ">(" + pointer + ", lathe_m, __LINE__);";
    return Done{};
  }
  body = fmt::format("{0}u32 lathe_m[{1}] = {{}}; {0}load_matrices<{2}>({3}, lathe_m, __LINE__); ", PTX,
                     wanted, transposed, pointer);
  for (std::size_t i = 0; i < wanted; ++i) {
    LATHE_TRY(const std::string item, write(registers[i], fmt::format("lathe_m[{}]", i)));
    body += item + " ";
  }
  return Done{};
}

} // namespace lathe::host
