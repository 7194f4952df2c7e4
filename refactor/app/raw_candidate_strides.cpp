#include "refactor/app/raw_candidate_strides.h"

#include "refactor/app/extent_guess.h"
#include "refactor/app/raw_candidate_builder.h"
#include "refactor/app/traced_growth.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

using Words = std::vector<std::string>;

// The words of x_batch_stride, xBatchStride and x_batchstride: x, batch; of x_pitch and x_step: x; nothing
// where none of them is a stride.
std::optional<Words> words_beside_stride(const std::string& name) {
  Words words{""};
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto letter = static_cast<unsigned char>(name[i]);
    const bool is_hump =
        i > 0 && std::isupper(letter) && std::islower(static_cast<unsigned char>(name[i - 1]));
    if (name[i] == '_' || is_hump)
      words.emplace_back();
    if (name[i] != '_')
      words.back() += static_cast<char>(std::tolower(letter));
  }
  // Images have the step of their rows.
  bool says_stride = words.size() > 1 && words.back() == "step";
  if (says_stride)
    words.pop_back();
  for (std::string& word : words)
    for (const char* stride : {"strides", "stride", "pitch"})
      if (const auto at = word.find(stride); at != std::string::npos) {
        word.erase(at, std::string(stride).size());
        says_stride = true;
      }
  // What only names the structure that strides are passed in.
  static const std::set<std::string> holders{"", "params", "param", "p", "args", "arg"};
  std::erase_if(words, [](const std::string& word) { return holders.contains(word); });
  return says_stride ? std::optional(words) : std::nullopt;
}

bool all_in(const Words& words, const std::set<std::string>& known) {
  return std::ranges::all_of(words, [&](const std::string& word) { return known.contains(word); });
}

// Words of strides that are none of tensors: of loops, and of windows that move over an image.
const std::set<std::string> OF_LOOPS{"loop", "grid", "thread", "threads", "warp", "step", "time"};
const std::set<std::string> OF_WINDOWS{"conv", "pool", "dilation", "window"};
// Axes along which a window moves; a tensor has them too, beside others.
const std::set<std::string> OF_IMAGES{"h", "w", "d", "x", "y", "z", "t", "height", "width", "depth"};
// Axes that tensors have and images have not.
const std::set<std::string> OF_TENSORS{"b", "bs", "bz",    "batch",   "n",    "s",   "seq", "l",    "len",
                                       "c", "ch", "token", "channel", "head", "row", "col", "heads"};

// Whether the kernel's text multiplies with the name, and does not step by it: a row's length, not a loop's
// stride.
bool is_factor(const std::string& text, const std::string& name) {
  const std::regex multiplied(fmt::format(R"(\*\s*{0}\b|\b{0}\s*\*)", name));
  const std::regex stepped(fmt::format(R"([-+]=\s*{0}\b|\b{0}\s*([/*]|>>|<<)=)", name));
  return std::regex_search(text, multiplied) && !std::regex_search(text, stepped);
}

// Pitched memory has its rows a number of bytes apart, where the kernel steps through it byte by byte.
bool is_in_bytes(const std::string& text, const std::string& name) {
  static const std::regex named("pitch|[a-z_]step$|Step$", std::regex::icase);
  static const std::regex to_bytes(
      R"([(<]\s*(const\s+)?(unsigned\s+)?(char|uchar|u?int8_t|std::byte|byte)\s*(const\s*)?\*)");
  return std::regex_search(name, named) && name.find("stride") == std::string::npos &&
         std::regex_search(text, to_bytes);
}

bool is_in(const Expression& expression, const std::string& name) {
  return std::ranges::find(expression.names(), name) != expression.names().end();
}

// Whether the launch itself follows the dimension: no blocks where it is zero.
bool launch_follows(const Candidate& raw, const std::string& name) {
  const auto follows = [&](const Expression& size) { return is_in(size, name); };
  return std::ranges::any_of(raw.launch.grid, follows) || std::ranges::any_of(raw.launch.block, follows) ||
         follows(raw.launch.shared_bytes) || raw.instance.find("{" + name + "}") != std::string::npos;
}

std::optional<Expression> replaced(const Expression& expression,
                                   const std::map<std::string, std::string>& values) {
  std::map<std::string, std::string> wrapped;
  for (const auto& [name, value] : values)
    wrapped[name] = expression.text() == name || plain_word(value) ? value : "(" + value + ")";
  const auto parsed = Expression::parse(substitute(expression.text(), wrapped));
  return parsed.ok() ? std::optional(*parsed) : std::nullopt;
}

// The candidate with values in place of these dimensions.
Candidate with_values(const Candidate& raw, const std::map<std::string, std::string>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values)
    names.push_back(name);
  Candidate changed = without_dimensions(raw, names);
  for (Argument& argument : changed.arguments)
    for (Expression* part :
         {&argument.value, &argument.count, &argument.fill.integer_low, &argument.fill.integer_high})
      *part = replaced(*part, values).value_or(*part);
  return changed;
}

// As a factor of a product.
std::string factor(const std::string& text) {
  int depth = 0;
  for (const char letter : text) {
    depth += letter == '(' ? 1 : letter == ')' ? -1 : 0;
    const bool binds = std::isalnum(static_cast<unsigned char>(letter)) ||
                       std::string("_.* ()").find(letter) != std::string::npos;
    if (depth == 0 && !binds)
      return "(" + text + ")";
  }
  return text;
}

std::string product(const std::string& count, const std::string& step) {
  return step == "1" ? count : count == "1" ? step : factor(count) + " * " + factor(step);
}

// Finds what each stride is where the tensors are contiguous.
class Layout {
public:
  Layout(const Candidate& raw, std::vector<std::string> strides, const Dimensions& base,
         const std::string& architecture)
      : raw_(raw), strides_(std::move(strides)), base_(base), traced_(raw), kernel_(traced_, architecture) {}

  // By the stride's name; empty where the kernel does not run so.
  std::map<std::string, std::string> find() {
    if (!kernel_.compile().ok())
      return {};
    see_what_follows();
    if (followers_.empty() && leave_those_that_are_needed())
      see_what_follows();
    for (std::vector<std::string> innermost = next(); !innermost.empty(); innermost = next()) {
      set();
      const auto growth = trace_growth_at(traced_, sizes_, kernel_);
      if (!growth.ok() || !is_telling(*growth))
        break;
      for (const std::string& stride : innermost)
        if (const auto value = step(stride, *growth))
          known_[stride] = *value;
        else
          followers_.erase(stride);
    }
    set();
    return kernel_.run(sizes_, RUN_LIMIT_S).ok() ? known_ : std::map<std::string, std::string>();
  }

private:
  static constexpr std::int64_t MOVED = 64; // whatever is read at once stays aligned
  static constexpr double RUN_LIMIT_S = 10;

  // Those that are not known yet are zero, one of them maybe something else.
  void set(const std::string& other = "", const std::string& value = "") {
    std::map<std::string, std::string> values = known_;
    for (const std::string& stride : strides_)
      values.try_emplace(stride, stride == other ? value : "0");
    traced_ = with_values(raw_, values);
  }

  // What the kernel divides or steps by cannot be zero. True where there is some.
  bool leave_those_that_are_needed() {
    constexpr std::int64_t FEW = 16;
    Dimensions sizes = base_;
    for (auto& [name, size] : sizes)
      size = std::min(size, FEW);
    std::map<std::string, std::string> moved;
    for (const std::string& stride : strides_)
      moved[stride] = std::to_string(MOVED);
    const std::size_t before = strides_.size();
    std::erase_if(strides_, [&](const std::string& stride) {
      std::map<std::string, std::string> values = moved;
      values[stride] = "0";
      traced_ = with_values(raw_, values);
      return !kernel_.run(sizes, RUN_LIMIT_S).ok();
    });
    if (strides_.empty() || strides_.size() == before)
      return false;
    // They stay dimensions, of a size like the others'.
    for (const std::string& name : raw_.dimensions)
      if (moved.contains(name) && std::ranges::find(strides_, name) == strides_.end())
        base_.try_emplace(name, MOVED);
    return true;
  }

  // Which buffers are reached further into with each stride, at sizes at which most strides show it: of an
  // axis of one there is none. Strides that move nothing are not looked at.
  void see_what_follows() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    set();
    // Those that integers in memory are multiplied by move nothing where these are zero.
    for (const std::int8_t integer : {std::int8_t{0}, std::int8_t{2}}) {
      kernel_.set_integers(integers_in_memory(integer));
      for (const Dimensions& sizes : sizes_to_trace(traced_, base_, kernel_)) {
        if (followers_.size() == strides_.size() || std::chrono::steady_clock::now() > end)
          break;
        if (see_what_follows_at(sizes, end))
          sizes_ = sizes;
      }
    }
    kernel_.set_integers({});
  }

  std::map<std::size_t, std::int8_t> integers_in_memory(std::int8_t integer) const {
    std::map<std::size_t, std::int8_t> integers;
    for (std::size_t i = 0; i < raw_.arguments.size(); ++i)
      if (const Argument& argument = raw_.arguments[i];
          integer != 0 && argument.is_buffer && argument.fill.kind == Fill::Kind::zero)
        integers[i] = integer;
    return integers;
  }

  // True where the sizes show it of a stride more than those before have.
  bool see_what_follows_at(const Dimensions& sizes, std::chrono::steady_clock::time_point end) {
    set();
    const auto least = kernel_.run(sizes, RUN_LIMIT_S);
    const std::size_t before = followers_.size();
    for (const std::string& stride : strides_) {
      if (!least.ok() || followers_.contains(stride) || std::chrono::steady_clock::now() > end)
        continue;
      set(stride, std::to_string(MOVED));
      const auto extents = kernel_.run(sizes, RUN_LIMIT_S);
      for (std::size_t i = 0; extents.ok() && i < extents->size(); ++i)
        if ((*extents)[i].elements > (*least)[i].elements)
          followers_[stride].insert(i);
    }
    return followers_.size() > before;
  }

  // The strides that nothing is open of behind them.
  std::vector<std::string> next() const {
    std::vector<std::string> found;
    std::set<std::size_t> open; // buffers of strides further in
    for (auto stride = strides_.rbegin(); stride != strides_.rend(); ++stride) {
      const auto buffers = followers_.find(*stride);
      if (buffers == followers_.end() || known_.contains(*stride))
        continue;
      if (std::ranges::none_of(buffers->second, [&](std::size_t buffer) { return open.contains(buffer); }))
        found.push_back(*stride);
      open.insert(buffers->second.begin(), buffers->second.end());
    }
    return found;
  }

  // What the stride steps over: of its buffers the one of which that is the most.
  std::optional<std::string> step(const std::string& stride, const Growth& growth) const {
    std::optional<std::string> most;
    std::int64_t most_elements = 0;
    for (const std::size_t buffer : followers_.at(stride)) {
      const std::string inner = step_within(buffer);
      const auto parsed = Expression::parse(inner);
      std::vector<std::int64_t> steps; // of the next stride within that the kernel makes
      for (std::size_t run = 0; parsed.ok() && run < growth.runs.size(); ++run)
        if (const auto length = value_at(*parsed, growth.sizes[run]); length && *length > 0)
          steps.push_back((growth.runs[run][buffer].elements + *length - 1) / *length);
      if (steps.size() != growth.runs.size())
        continue;
      std::string text = product(guess_extent(growth.sizes, steps, growth.geometry).count, inner);
      if (inner == "1" && is_in_bytes(raw_.text, stride))
        text = product(text, bytes_of(raw_.arguments[buffer].dtype));
      const auto whole = Expression::parse(text);
      // The kernel is not told the device's limits.
      if (!whole.ok() || text.find("device.") != std::string::npos)
        continue;
      const std::int64_t elements = value_at(*whole, growth.sizes.front()).value_or(0);
      if (elements > most_elements) {
        most = whole->names().empty() ? std::to_string(elements) : text;
        most_elements = elements;
      }
    }
    return most;
  }

  static std::string bytes_of(const std::string& dtype) {
    const int bytes = dtype_size(dtype);
    return bytes == 0 ? "sizeof_" + dtype : std::to_string(bytes);
  }

  // The outermost of the buffer's strides that are known.
  std::string step_within(std::size_t buffer) const {
    for (const std::string& stride : strides_)
      if (const auto buffers = followers_.find(stride);
          buffers != followers_.end() && buffers->second.contains(buffer) && known_.contains(stride))
        return known_.at(stride);
    return "1";
  }

  std::optional<std::int64_t> value_at(const Expression& expression, const Dimensions& sizes) const {
    const auto value = kernel_.evaluate(expression, sizes);
    const auto* number = value.ok() ? std::get_if<std::int64_t>(&*value) : nullptr;
    return number ? std::optional(*number) : std::nullopt;
  }

  const Candidate& raw_;
  std::vector<std::string> strides_;
  Dimensions base_, sizes_; // the latter: of the runs
  Candidate traced_;        // with what is known of the strides
  TracedKernel kernel_;
  std::map<std::string, std::set<std::size_t>> followers_; // by stride: arguments, by index
  std::map<std::string, std::string> known_;
};

} // namespace

std::vector<std::string> tensor_strides(const Candidate& raw) {
  struct Named {
    std::string dimension, argument;
    Words words;
  };
  std::vector<Named> named;
  bool has_tensor_axis = false;
  for (const Argument& argument : raw.arguments) {
    if (argument.is_buffer)
      continue;
    for (const std::string& dimension : argument.value.names()) {
      auto words = words_beside_stride(dimension);
      if (!words && argument.value.text() == dimension)
        words = words_beside_stride(argument.name);
      if (!words || launch_follows(raw, dimension) ||
          std::ranges::find(raw.dimensions, dimension) == raw.dimensions.end() ||
          std::ranges::find(named, dimension, &Named::dimension) != named.end())
        continue;
      has_tensor_axis |= words->size() == 1 && OF_TENSORS.contains(words->front());
      named.push_back({dimension, argument.name, std::move(*words)});
    }
  }
  std::vector<std::string> found;
  for (const Named& one : named) {
    const bool is_alone = one.words.empty(), is_of_image = !is_alone && all_in(one.words, OF_IMAGES);
    const auto has = [&](const std::set<std::string>& words) {
      return std::ranges::any_of(one.words, [&](const std::string& word) { return words.contains(word); });
    };
    // A convolution moves along no channel: a tensor of it is what has a stride there.
    const bool is_other = has(OF_LOOPS) || (has(OF_WINDOWS) && !has(OF_TENSORS));
    if (!is_other && (!is_alone || is_factor(raw.text, one.argument)) && (!is_of_image || has_tensor_axis))
      found.push_back(one.dimension);
  }
  return found;
}

Candidate without_dimensions(Candidate raw, const std::vector<std::string>& names) {
  std::erase_if(raw.dimensions, [&](const std::string& dimension) {
    return std::ranges::find(names, dimension) != names.end();
  });
  return raw;
}

void take_as_contiguous(Candidate& raw, const std::vector<std::string>& strides,
                        const std::map<std::string, std::int64_t>& base, const std::string& architecture,
                        std::vector<std::string>& notes) {
  const std::map<std::string, std::string> found = Layout(raw, strides, base, architecture).find();
  std::vector<std::string> said;
  for (const std::string& stride : strides)
    if (const auto value = found.find(stride); value != found.end())
      said.push_back(stride + " = " + value->second);
  if (said.empty())
    return;
  raw = with_values(raw, found);
  notes.push_back(fmt::format("tensors are taken to be contiguous: {} (say otherwise with --problem, or with "
                              "--argument NAME=VALUE)",
                              fmt::join(said, ", ")));
}

} // namespace lathe::refactor
