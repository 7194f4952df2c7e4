// The tuning specification: the contract between the stages (docs/specification.md). A superset of the FAIR
// community's T1 format; what T1 lacks lives under the key "Lathe".
#pragma once

#include "tuner/base/result.h"
#include "tuner/expression/expression.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

enum class KnobKind { block, tile, unroll, vector, coarsen, occupancy, stage, cache, size, flag };

struct Knob {
  std::string name;
  KnobKind kind = KnobKind::flag;
  std::string type = "int"; // the C++ type of the template parameter, or "string"/"real" for a T1 file's
  std::vector<Value> values;
  // What the raw kernel does. May mention problem dimensions and sizeof_<type parameter>: "16 / sizeof_T".
  Expression default_value;
  bool is_macro = false; // reaches the compiler as -D<name>=<value> instead of a template argument
  // Of a knob with the values 0 and 1: where it is 1 its template argument is this, over dimensions and
  // sizeof_<type parameter>. A size is then known when the kernel is compiled.
  std::optional<Expression> size;
  std::string why; // one sentence: where in the raw kernel it comes from
};

struct Condition {
  Expression expression; // over knobs, dimensions, sizeof_<T>, device.* limits
  std::string why;
};

struct LaunchGeometry {
  static std::array<Expression, 3> ones() {
    const Expression one(Value{std::int64_t{1}});
    return {one, one, one};
  }
  std::array<Expression, 3> grid = ones();  // blocks
  std::array<Expression, 3> block = ones(); // threads
  Expression shared_bytes;                  // dynamic shared memory
};

enum class Direction { in, out, inout };

// How a buffer is filled before a run: element values are functions of (seed, index) so that the host
// executor and the GPU see the same data.
struct Fill {
  // offsets: where ranges begin, as row pointers and cumulative lengths say it: from 0 to integer_high, never
  // falling, some of them empty.
  enum class Kind { normal, uniform, integer, zero, permutation, offsets } kind = Kind::normal;
  double low = -1, high = 1;            // uniform
  double mean = 0, spread = 1;          // normal
  Expression integer_low, integer_high; // integer: inclusive bounds; offsets: the last one is integer_high
  bool operator==(const Fill&) const = default;
};

// One kernel parameter, in declaration order.
struct Argument {
  std::string name;
  bool is_buffer = true;
  // "f64 f32 f16 bf16 e4m3 e5m2 i64 i32 i16 i8 u64 u32 u16 u8 bool", or the name of a type parameter ("T").
  std::string dtype;
  Direction direction = Direction::in; // buffers
  Expression count;                    // buffers: elements
  Expression value;                    // scalars (may be real-valued)
  Fill fill;
  // Buffers: the program passes a null pointer, and so do tuned and raw runs. What the buffer would be
  // otherwise is for the guard, where the kernel asks whether it is there.
  bool is_null = false;
};

struct TypeParameter {
  std::string name;                // "T"
  std::vector<std::string> dtypes; // in use, the first is tuned by default: {"bf16", "f16", "f32"}
};

// Every way of choosing one dtype for each of these, by the parameter's name; the first choice is the tuned
// one.
std::vector<std::map<std::string, std::string>> type_choices(const std::vector<TypeParameter>& types);

// A dimension that both kernels' texts fix by a macro (`#ifndef N`, `#define N 4096`, `#endif`). All problems
// have that value; to be judged at sizes that a run can afford, both texts are compiled with others.
struct TextSize {
  std::string dimension, macro;
  std::int64_t value = 0;           // what the texts have
  std::vector<std::int64_t> trials; // as many for each text size: those of one place go together
};

enum class ProblemRole { tune, select, report };

struct Problem {
  std::map<std::string, std::int64_t> dimensions;
  ProblemRole role = ProblemRole::tune;
  std::string label; // "n=4096 d=14336", from the dimensions when not given
};

// A kernel that NVRTC and the host executor can compile alone.
struct KernelSource {
  std::filesystem::path file; // absolute once loaded
  // The instance to compile, with {name} for a type parameter's C++ type, a knob or a dimension:
  // "act_and_mul_kernel<{T}, {BLOCK}, {VEC}>". Empty template list for plain functions.
  std::string instance;
  std::vector<std::string> compile_options; // "-std=c++17", ...
  LaunchGeometry launch;
};

struct Tolerance {
  double relative = 0; // of the reference's magnitude; 0: chosen by dtype (tuner/measure states the table)
  double absolute = 0;
};

struct CostModel {
  Expression bytes;      // DRAM minimum: each input read once, each output written once
  Expression operations; // floating-point operations
};

struct Provenance {
  std::string source_file, source_hash, compile_command, certificate;
};

struct TuningSpec {
  std::string name;
  std::filesystem::path path; // the file it was read from
  std::vector<std::string> dimensions;
  std::vector<TextSize> text_sizes; // of these, the dimensions that the kernels' texts fix
  std::vector<TypeParameter> types;
  std::vector<Knob> knobs;
  std::vector<Condition> conditions;
  std::vector<Argument> arguments;
  std::vector<Problem> problems;
  KernelSource kernel;    // the template
  KernelSource reference; // the raw kernel with its own launch; file empty when there is none (plain T1)
  // Over dimensions: what holds of all problems, or else the raw side would be slower than the program that
  // it comes from, which launches something else there.
  std::vector<Expression> launched_where;
  std::string cpu_reference;                   // name of a built-in CPU reference, or empty
  std::map<std::string, Tolerance> tolerances; // by dtype
  CostModel cost;
  Provenance provenance;
  std::string template_hash; // content_hash of the template file when the specification was written
  // What the reader went on from: sentences for the user, never written to a file.
  std::vector<std::string> warnings;

  const Knob* find_knob(std::string_view name) const;
  const TextSize* find_text_size(std::string_view dimension) const;
  // The knobs' names in the order of `knobs`, which is that of every configuration.
  std::vector<std::string> knob_names() const;
};

// Reads and validates a T1 file with or without the "Lathe" key, or a constraint-space-1 file. Errors name
// the file, the line, the field and the remedy. `check_template`: also fail when the template file is missing
// or its hash is not the specification's.
struct ReadOptions {
  bool check_template = true;
};
Result<TuningSpec> read_spec(const std::filesystem::path& path, ReadOptions options = {});
Result<TuningSpec> parse_spec(std::string_view text, const std::filesystem::path& path,
                              ReadOptions options = {});

// The specification as T1-superset JSON; paths are written relative to `path`'s folder. parse_spec reads it
// back equal.
std::string format_spec(const TuningSpec& spec, const std::filesystem::path& path);
Status write_spec(const TuningSpec& spec, const std::filesystem::path& path);

// Of everything that a certificate vouches for beside the texts of the kernels: knobs with their values,
// conditions, arguments, types, tolerances, both launches and instances. Problems, costs and reasons are left
// out.
std::string contract_hash(const TuningSpec& spec);
// Of how the raw kernel is instantiated, launched and called; its text has a hash of its own.
std::string reference_hash(const TuningSpec& spec);

// Bytes of one element; 0 for an unknown dtype.
int dtype_size(std::string_view dtype);
// Every dtype, in the order of Argument::dtype's comment.
std::vector<std::string> dtype_names();
// The C++ spelling in CUDA sources: "bf16" -> "__nv_bfloat16".
std::string dtype_cxx(std::string_view dtype);
std::string_view to_string(KnobKind kind);
std::optional<KnobKind> parse_knob_kind(std::string_view text);

// A specification bound to one problem and one choice of types: every expression has a value except those
// over knobs.
struct Workload {
  const TuningSpec* spec = nullptr;
  Problem problem;
  std::map<std::string, std::string> types; // type parameter -> dtype

  struct Buffer {
    std::string name, dtype; // dtype resolved
    Direction direction;
    std::uint64_t count;
    Fill fill;
    std::int64_t integer_low = 0, integer_high = 0;
    bool operator==(const Buffer&) const = default;
  };
  struct Parameter { // kernel parameter, in order
    bool is_buffer;
    std::size_t buffer; // index into buffers
    std::string dtype;
    Value value;          // scalars
    bool is_null = false; // buffers: Argument::is_null
    bool operator==(const Parameter&) const = default;
  };
  std::vector<Buffer> buffers;
  std::vector<Parameter> parameters;
  double bytes = 0, operations = 0; // cost model; 0: not given

  // Names of dimensions, sizeof_<T>, and given device limits ("device.*").
  std::optional<Value> lookup(std::string_view name) const;
  std::map<std::string, Value> environment;
  std::string key() const; // "bf16 n=4096 d=14336": stable, used in the store
};

// Fails when an expression cannot be evaluated or a buffer would be empty or larger than 2^40 bytes.
Result<Workload> bind_workload(const TuningSpec& spec, const Problem& problem,
                               const std::map<std::string, std::string>& types,
                               const std::map<std::string, Value>& device_limits);

// One configuration's values in knob order.
using KnobValues = std::vector<Value>;

struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::uint32_t shared_bytes = 0;
  bool operator==(const Launch&) const = default;
};

// The geometry with the knobs' values filled in; fails when a number is not positive or over the device's
// limits.
Result<Launch> bind_launch(const LaunchGeometry& geometry, const Workload& workload, const KnobValues& knobs);
// The knobs' default values for this workload (what the raw kernel does).
Result<KnobValues> default_knobs(const Workload& workload);
// What the compiler is told for both kernels: "-DBLOCK=256" for knobs that are macros, and for text sizes
// that are not what the texts have.
std::vector<std::string> bind_macros(const Workload& workload, const KnobValues& knobs);
// Whether the knob's size is part of the instance at this value.
bool fixes_size(const Knob& knob, const Value& value);
// The kernel instance as a C++ name expression.
Result<std::string> bind_instance(const KernelSource& source, const Workload& workload,
                                  const KnobValues& knobs);

} // namespace lathe
