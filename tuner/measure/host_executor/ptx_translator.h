// How inline PTX is turned into C++ of device/lathe_ptx.h; for the files named ptx*.cpp only.
#pragma once

#include "tuner/base/text.h"
#include "tuner/measure/host_executor/ptx.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::host {

using Words = std::vector<std::string>;

// The parts between separators that no bracket encloses, trimmed.
Words split(std::string_view text, char separator);
// PTX type suffix -> type of device/lathe_ptx.h. None: not modelled.
std::optional<std::string> cxx_type(const std::string& suffix);
int type_bytes(const std::string& type);
// The operands in "{%0, %1}", or the one that stands alone.
Words vector_parts(const std::string& operand);
// The type of the register that holds a value of `type`.
std::string register_type(const std::string& type);

inline const std::string PTX = "::lathe_ptx::";

// One asm statement. Members named after what an instruction does fill `body` with C++ that does it; an empty
// error says that the instruction is not modelled.
class PtxTranslator {
public:
  PtxTranslator(const std::vector<AsmOperand>& outputs, const std::vector<AsmOperand>& inputs)
      : operands_(outputs), output_count_(outputs.size()) {
    operands_.insert(operands_.end(), inputs.begin(), inputs.end());
  }

  Result<std::string> translate(std::string_view text);

private:
  static Error unsupported(std::string_view instruction);

  Status declare(std::size_t i, std::string& code);

  Status statements(std::string_view text, std::string& code);

  Status statement(std::string text, std::string& code);

  Status declare_registers(const std::string& text, std::string& code);

  static std::string local(const std::string& name);

  // The register behind "%3", "%[name]" or a declared name.
  std::optional<std::string> reg(const std::string& operand) const;
  static std::optional<std::string> special(const std::string& name);

  // The operand's value as `type`.
  Result<std::string> read(const std::string& type, const std::string& operand) const;
  Result<std::string> write(const std::string& operand, const std::string& value) const;
  // "name(read(operands[1]), ...)" written to operands[0].
  Result<std::string> apply(const std::string& function, const std::string& type, const Words& operands,
                            std::size_t count, bool saturate = false, bool relu = false) const;

  // "[%1+16]": the address as u64.
  Result<std::string> address(const std::string& operand) const;

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
  // ldmatrix, stmatrix, movmatrix, mma.
  Status matrix(const Words& opcode, const Words& operands, const std::set<std::string>& mods,
                std::string& body);
  // "const u32 a[2] = {...}; " of the registers that an operand lists.
  Result<std::string> listed(const std::string& name, const std::string& type, const Words& registers) const;
  Status multiply(const Words& opcode, const Words& operands, const std::set<std::string>& mods,
                  std::string& body);

  std::vector<AsmOperand> operands_;
  std::size_t output_count_;
};

} // namespace lathe::host
