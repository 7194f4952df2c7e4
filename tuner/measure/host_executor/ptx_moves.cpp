#include "tuner/measure/host_executor/ptx_translator.h"

#include <array>

namespace lathe::host {

Words vector_parts(const std::string& operand) {
  if (operand.size() > 2 && operand.front() == '{' && operand.back() == '}')
    return split(std::string_view(operand).substr(1, operand.size() - 2), ',');
  return {operand};
}

Status PtxTranslator::move(const std::string& type, const Words& operands, std::string& body) {
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

Status PtxTranslator::convert(const Words& opcode, const Words& operands, const std::set<std::string>& mods,
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

Status PtxTranslator::memory(const Words& opcode, const Words& operands, const std::set<std::string>& mods,
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

Status PtxTranslator::atomic(const Words& opcode, const Words& operands, const std::set<std::string>& mods,
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

Status PtxTranslator::warp(const Words& opcode, const Words& operands, const std::set<std::string>& mods,
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

} // namespace lathe::host
