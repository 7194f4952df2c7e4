#include "refactor/rewrite/constant_knob.h"

#include "refactor/knobs/geometry.h"
#include "refactor/knobs/vector_model.h"
#include "refactor/rewrite/launch_facts.h"
#include "refactor/rewrite/template_argument.h"

#include <clang/AST/Decl.h>
#include <clang/AST/Stmt.h>

#include <algorithm>
#include <regex>

namespace lathe::refactor {

using namespace clang;

namespace {

// The text of the helper type that carries a pack of any width.
const char* const pack_type = R"(// A pack of BYTES bytes, moved by accesses of at most 16 bytes.
template <unsigned BYTES> struct alignas(BYTES < 16 ? BYTES : 16) lathe_pack {
  unsigned words[BYTES / 4];
};
)";

// `if (THREADS > 32)` decides what is compiled at all: the branch that the raw kernel has stays.
void keep_branches(const KernelView& view, const std::string& count, const ConstantUnderStudy& constant,
                   std::int64_t value, std::vector<Condition>& conditions) {
  view.visit([&](const Stmt* statement) {
    const auto* branch = dyn_cast<IfStmt>(statement);
    const auto parts = branch ? binary_parts(branch->getCond()->IgnoreParenImpCasts()) : std::nullopt;
    if (!parts || !BinaryOperator::isRelationalOp(parts->operation))
      return;
    const bool left = view.evaluate(parts->left) == Polynomial::atom(count);
    const bool right = view.evaluate(parts->right) == Polynomial::atom(count);
    const auto against = view.evaluate(left ? parts->right : parts->left).as_constant();
    if (left == right || !against)
      return;
    const std::string sign = " " + BinaryOperator::getOpcodeStr(parts->operation).str() + " ";
    const auto compared = [&](const std::string& threads) {
      const std::string number = std::to_string(*against);
      return left ? threads + sign + number : number + sign + threads;
    };
    const auto taken =
        make_expression(compared(std::to_string(value))).evaluate_condition([](std::string_view) {
          return std::nullopt;
        });
    if (taken.ok())
      conditions.push_back(make_condition(
          *taken ? compared(constant.name) : "!(" + compared(constant.name) + ")",
          "the branch at " + view.at_line(branch->getBeginLoc()) + " is the one that the raw kernel takes"));
  });
}

std::optional<std::string> keep_rounds_whole(ParsedSource& source, const KernelInfo& kernel,
                                             const Candidate& candidate, const ConstantUnderStudy& constant,
                                             const std::vector<WholeRounds>& rounds,
                                             std::vector<Condition>& conditions) {
  KernelView view = view_of(source, kernel, candidate);
  LaunchFacts facts = launch_facts_of(kernel, candidate);
  std::vector<const ValueDecl*> named = constant.beside;
  named.push_back(constant.declaration);
  for (const ValueDecl* declaration : named) {
    facts.names[declaration] = declaration->getNameAsString();
    if (const auto* variable = dyn_cast<VarDecl>(declaration))
      view.keep(variable, "constant:" + declaration->getNameAsString());
  }
  return keep_rounds_whole(view, facts, rounds, "", conditions);
}

std::variant<std::string, Proposal> as_block(ParsedSource& source, const KernelInfo& kernel,
                                             const Candidate& candidate, const ConstantUnderStudy& constant,
                                             std::int64_t value) {
  std::string reason = "it is not the launcher's block size";
  for (int axis = 0; axis < 3; ++axis) {
    const Expression raw = candidate.launch.block[static_cast<std::size_t>(axis)];
    if (constant_of(raw) != value || value == 1)
      continue;
    KernelView view = view_of(source, kernel, candidate);
    if (const auto* variable = dyn_cast<VarDecl>(constant.declaration))
      view.keep(variable, "constant:" + constant.name);
    const ThreadAxis thread_axis{"threadIdx." + std::string(1, "xyz"[axis]),
                                 view.atom_of(constant.declaration)};
    auto analysed = analyse_threads(view, thread_axis, false);
    if (const auto* refusal = std::get_if<ThreadRefusal>(&analysed)) {
      reason = refusal->reason;
      continue;
    }
    const ThreadModel& model = std::get<ThreadModel>(analysed);
    Proposal proposal;
    const BlockKnob block{constant.name, axis, raw, constant.name};
    LaunchGeometry launch = candidate.launch;
    if (auto problem = fit_grid(block, model, candidate, false, launch, proposal.conditions)) {
      reason = *problem;
      continue;
    }
    if (auto problem = follow_launch_bounds(view, block, value, proposal.edits, proposal.conditions)) {
      reason = *problem;
      continue;
    }
    if (auto problem = follow_cub(view, constant.name, block_threads(launch), proposal.conditions)) {
      reason = *problem;
      continue;
    }
    add_block_conditions(block, model, false, proposal.conditions);
    if (auto problem =
            keep_rounds_whole(source, kernel, candidate, constant, model.whole_rounds, proposal.conditions)) {
      reason = *problem;
      continue;
    }
    if (auto problem = keep_guarded_threads(view, launch_facts_of(kernel, candidate), model, block, false,
                                            proposal.conditions)) {
      reason = *problem;
      continue;
    }
    keep_branches(view, thread_axis.count, constant, value, proposal.conditions);
    proposal.conditions.push_back(make_condition(block_threads(launch) + " <= device.max_threads_per_block",
                                                 "a block has no more threads than the device allows"));
    proposal.launch = launch;
    proposal.knobs.push_back(make_knob(constant.name, KnobKind::block, constant.type,
                                       block_values(candidate, axis, value, false), constant.default_text,
                                       "the launcher's block size, dealt out at " + model.evidence));
    return proposal;
  }
  return reason;
}

std::variant<std::string, Proposal> as_vector(ParsedSource& source, const KernelInfo& kernel,
                                              const Candidate& candidate,
                                              const ConstantUnderStudy& constant) {
  KernelView view = view_of(source, kernel, candidate);
  auto analysed = analyse_vector(view, constant.declaration);
  if (const auto* refusal = std::get_if<VectorRefusal>(&analysed))
    return refusal->reason;
  const VectorModel& model = std::get<VectorModel>(analysed);
  for (const Expression& size : candidate.launch.block)
    if (const auto threads = constant_of(size);
        threads && *threads > 1 && threads == constant_of(make_expression(constant.default_text)))
      return "the block has as many threads, which would have to follow";
  Proposal proposal;
  LaunchGeometry launch = candidate.launch;
  const Expression raw = make_expression(constant.default_text);
  int count = 0, in_grid = 0;
  const auto follow = [&](Expression& expression, int& counter) {
    auto changed = replace_subtree(expression, raw, constant.name, counter);
    if (changed.ok())
      expression = std::move(changed).value();
  };
  // A bare number may mean anything in the launcher; a formula such as 16 / sizeof(T) is the constant itself.
  if (!constant_of(raw)) {
    for (Expression& expression : launch.grid)
      follow(expression, in_grid);
    for (Expression& expression : launch.block)
      follow(expression, count);
    follow(launch.shared_bytes, count);
  }
  if (model.grid_follows && in_grid == 0)
    return "the grid " + candidate.launch.grid[0].text() + " does not show how it follows " + constant.name;
  for (const std::string& parameter : model.divided_parameters) {
    const auto value = value_of_parameter(candidate, parameter);
    if (!value)
      return "the parameter " + parameter + " must be a multiple of it, but its value is not known";
    if (constant_of(make_expression(*value)))
      continue;
    proposal.conditions.push_back(
        make_condition("(" + *value + ") % " + constant.name + " == 0",
                       "rows and packs stay aligned: " + parameter + " is a multiple of " + constant.name));
  }
  for (const std::string& name : model.divided_constants)
    proposal.conditions.push_back(
        make_condition(name + " % " + constant.name + " == 0",
                       "rows and packs stay aligned: " + name + " is a multiple of " + constant.name));
  if (auto problem =
          keep_rounds_whole(source, kernel, candidate, constant, model.whole_rounds, proposal.conditions))
    return *problem;
  std::string element = model.pack_element;
  if (element.empty() && !candidate.types.empty())
    element = candidate.types.front().name;
  const bool typed = std::any_of(candidate.types.begin(), candidate.types.end(),
                                 [&](const TypeParameter& type) { return type.name == element; });
  if (typed)
    proposal.conditions.push_back(
        make_condition(constant.name + " * sizeof_" + element + " <= 32" +
                           (constant_of(raw) ? " || " + constant.name + " == " + constant.default_text : ""),
                       "at most two 16-byte accesses a pack, or as in the raw kernel"));
  if (!model.pack_types.empty()) {
    for (const TextRange& range : model.pack_types)
      proposal.edits.push_back(
          replace(range, "lathe_pack<" + constant.name + " * sizeof(" + model.pack_element + ")>"));
    if (!has_helper(candidate.text, "lathe_pack"))
      proposal.edits.push_back(insert(prelude_position(candidate.text), std::string("\n") + pack_type));
    if (typed)
      proposal.conditions.push_back(
          make_condition(constant.name + " * sizeof_" + element + " >= 4", "a pack has whole 32-bit words"));
  }
  proposal.launch = launch;
  proposal.knobs.push_back(make_knob(constant.name, KnobKind::vector, constant.type, {1, 2, 4, 8, 16, 32},
                                     constant.default_text,
                                     "elements a thread takes at once, " + constant.where));
  return proposal;
}

} // namespace

std::variant<std::string, Proposal> study_constant(ParsedSource& source, const KernelInfo& kernel,
                                                   const Candidate& candidate,
                                                   const ConstantUnderStudy& constant) {
  const Expression value = make_expression(constant.default_text);
  std::string reason;
  if (const auto number = constant_of(value)) {
    auto block = as_block(source, kernel, candidate, constant, *number);
    if (std::holds_alternative<Proposal>(block))
      return block;
    reason = std::get<std::string>(block) + "; ";
  }
  auto vector = as_vector(source, kernel, candidate, constant);
  if (std::holds_alternative<Proposal>(vector))
    return vector;
  return constant.name + " (" + constant.where + "): " + reason + std::get<std::string>(vector);
}

std::optional<std::string> to_expression(std::string cxx, const Candidate& candidate) {
  for (const TypeParameter& type : candidate.types) {
    for (const std::string& spelled : {"{" + type.name + "}", type.name})
      for (const std::string& size : {"sizeof(" + spelled + ")", "sizeof (" + spelled + ")"})
        for (std::size_t at; (at = cxx.find(size)) != std::string::npos;)
          cxx.replace(at, size.size(), "sizeof_" + type.name);
  }
  cxx = std::regex_replace(cxx, std::regex(R"(\{(\w+)\})"), "$1");
  cxx = std::regex_replace(cxx, std::regex(R"(\b(\d+)[uUlL]+\b)"), "$1");
  for (const auto& [type, size] : std::map<std::string, int>{{"float", 4},
                                                             {"int", 4},
                                                             {"double", 8},
                                                             {"char", 1},
                                                             {"uint4", 16},
                                                             {"int4", 16},
                                                             {"float4", 16},
                                                             {"uint2", 8},
                                                             {"int2", 8},
                                                             {"float2", 8}})
    cxx = std::regex_replace(cxx, std::regex("sizeof\\s*\\(" + type + "\\)"), std::to_string(size));
  cxx = fold_extrema(cxx);
  auto parsed = Expression::parse(cxx);
  if (!parsed.ok())
    return std::nullopt;
  for (const std::string& name : parsed->names())
    if (name.rfind("sizeof_", 0) != 0 && std::find(candidate.dimensions.begin(), candidate.dimensions.end(),
                                                   name) == candidate.dimensions.end())
      return std::nullopt;
  return cxx;
}

} // namespace lathe::refactor
