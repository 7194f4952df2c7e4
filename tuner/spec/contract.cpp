#include "tuner/base/hash.h"
#include "tuner/spec/spec.h"

namespace lathe {
namespace {

class Contract {
public:
  void add(std::string_view part) {
    text_ += part;
    text_ += '\n';
  }
  void add(const Expression& expression) { add(expression.text()); }
  void add(const LaunchGeometry& launch) {
    for (const auto* axes : {&launch.grid, &launch.block})
      for (const Expression& axis : *axes)
        add(axis);
    add(launch.shared_bytes);
  }
  // Where its file lies does not matter: texts have hashes of their own.
  void add(const KernelSource& kernel) {
    add(kernel.instance);
    for (const std::string& option : kernel.compile_options)
      add(option);
    add(kernel.launch);
  }
  void add_types(const TuningSpec& spec) {
    for (const std::string& dimension : spec.dimensions)
      add(dimension);
    for (const TypeParameter& type : spec.types) {
      add(type.name);
      for (const std::string& dtype : type.dtypes)
        add(dtype);
    }
  }
  // Their values are what runs see beside the problems.
  void add_text_sizes(const TuningSpec& spec) {
    for (const TextSize& size : spec.text_sizes) {
      add(size.dimension);
      add(size.macro);
      add(std::to_string(size.value));
      for (const std::int64_t trial : size.trials)
        add(std::to_string(trial));
    }
  }
  void add_arguments(const TuningSpec& spec) {
    for (const Argument& argument : spec.arguments) {
      add(argument.name);
      add(argument.dtype);
      add(argument.is_buffer ? std::to_string(static_cast<int>(argument.direction)) : "scalar");
      add(argument.count);
      add(argument.value);
      if (argument.is_null)
        add("null");
    }
  }
  std::string hash() const { return content_hash(text_); }

private:
  std::string text_;
};

} // namespace

std::string contract_hash(const TuningSpec& spec) {
  Contract contract;
  contract.add(spec.name);
  contract.add_types(spec);
  contract.add_text_sizes(spec);
  for (const Knob& knob : spec.knobs) {
    contract.add(knob.name);
    contract.add(knob.type);
    contract.add(knob.is_macro ? "macro" : "argument");
    for (const Value& value : knob.values)
      contract.add(to_string(value));
    contract.add(knob.default_value);
    if (knob.size)
      contract.add(*knob.size);
  }
  for (const Condition& condition : spec.conditions)
    contract.add(condition.expression);
  contract.add_arguments(spec);
  for (const auto& [dtype, tolerance] : spec.tolerances) {
    contract.add(dtype);
    contract.add(std::to_string(tolerance.relative) + " " + std::to_string(tolerance.absolute));
  }
  contract.add(spec.kernel);
  contract.add(spec.reference);
  return contract.hash();
}

std::string reference_hash(const TuningSpec& spec) {
  Contract contract;
  contract.add_types(spec);
  contract.add_text_sizes(spec);
  contract.add_arguments(spec);
  contract.add(spec.reference);
  return contract.hash();
}

} // namespace lathe
