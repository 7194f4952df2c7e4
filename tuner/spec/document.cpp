#include "tuner/spec/document.h"

#include <algorithm>
#include <optional>

namespace lathe::spec {
namespace {

using nlohmann::json;

constexpr std::size_t maximum_nesting = 200;

// Walks over text that is known to be JSON and notes the line of every member and element.
class LineScanner {
public:
  explicit LineScanner(std::string_view text) : text_(text) {}

  struct Duplicate {
    Path path;
    int line;
  };

  // False when the nesting is deeper than any specification needs.
  bool scan() {
    lines_.emplace("", 1);
    while (skip_space()) {
      const char c = text_[position_];
      if (c == '{' || c == '[') {
        note_element();
        if (open_.size() == maximum_nesting)
          return false;
        open_.push_back({c == '{', 0});
        ++position_;
      } else if (c == '}' || c == ']') {
        open_.pop_back();
        ++position_;
        end_value();
      } else if (c == ',') {
        ++position_;
      } else if (c == '"' && expects_key()) {
        key();
      } else {
        note_element();
        c == '"' ? skip_string() : skip_word();
        end_value();
      }
    }
    return true;
  }

  std::unordered_map<std::string, int> take_lines() { return std::move(lines_); }
  const std::optional<Duplicate>& duplicate() const { return duplicate_; }

private:
  struct Open {
    bool object;
    std::size_t index; // of the next element
    bool has_key = false;
  };

  bool skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t' ||
                                        text_[position_] == '\n' || text_[position_] == '\r')) {
      line_ += text_[position_] == '\n';
      ++position_;
    }
    return position_ < text_.size();
  }

  bool expects_key() const { return !open_.empty() && open_.back().object && !open_.back().has_key; }

  void key() {
    const std::size_t begin = position_;
    const int line = line_;
    skip_string();
    // The text is valid JSON, so the string alone is, too; this undoes its escapes.
    path_.push_back(json::parse(text_.substr(begin, position_ - begin)).get<std::string>());
    open_.back().has_key = true;
    if (!lines_.emplace(pointer_of(path_), line).second && !duplicate_)
      duplicate_ = Duplicate{path_, line};
    skip_space();
    ++position_; // the colon
  }

  void note_element() {
    if (open_.empty() || open_.back().object)
      return;
    path_.push_back(std::to_string(open_.back().index++));
    lines_.emplace(pointer_of(path_), line_);
  }

  void end_value() {
    if (open_.empty())
      return;
    path_.pop_back();
    open_.back().has_key = false;
  }

  void skip_string() {
    for (++position_; text_[position_] != '"'; ++position_)
      position_ += text_[position_] == '\\';
    ++position_;
  }

  void skip_word() {
    constexpr std::string_view ends = ",]} \t\n\r";
    while (position_ < text_.size() && ends.find(text_[position_]) == std::string_view::npos)
      ++position_;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  int line_ = 1;
  Path path_;
  std::vector<Open> open_;
  std::unordered_map<std::string, int> lines_;
  std::optional<Duplicate> duplicate_;
};

Error syntax_error(const json::parse_error& error, std::string_view text, const std::filesystem::path& file) {
  const std::size_t offset = std::min<std::size_t>(error.byte, text.size());
  const std::string_view before = text.substr(0, offset == 0 ? 0 : offset - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  // The library's message: "[json...] parse error at line 1, column 2: <reason>".
  std::string reason = error.what();
  if (const auto column = reason.find("column "); column != std::string::npos)
    if (const auto colon = reason.find(": ", column); colon != std::string::npos)
      reason.erase(0, colon + 2);
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  const bool truncated = reason.find("end of input") != std::string::npos ||
                         reason.find("missing closing quote") != std::string::npos;
  return {file.string() + ":" + std::to_string(line), "is not JSON (" + reason + ")",
          truncated ? "the file looks truncated, write it again or restore it" : "correct the syntax there"};
}

bool all_digits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

} // namespace

std::string pointer_of(const Path& path) {
  std::string pointer;
  for (const std::string& key : path) {
    pointer += '/';
    for (const char c : key) {
      if (c == '~')
        pointer += "~0";
      else if (c == '/')
        pointer += "~1";
      else
        pointer += c;
    }
  }
  return pointer;
}

Path operator/(Path path, std::string_view key) {
  path.emplace_back(key);
  return path;
}

Path operator/(Path path, std::size_t index) {
  path.push_back(std::to_string(index));
  return path;
}

Result<Document> Document::parse(std::string_view text, const std::filesystem::path& file) {
  Document document;
  document.file_ = file;
  // The line scanner bounds the nesting of what the parser accepted; the parser itself does not recurse.
  try {
    document.root_ = json::parse(text);
  } catch (const json::parse_error& error) {
    return syntax_error(error, text, file);
  } catch (const std::exception& error) { // a number that no type holds
    return Error{file.string(), std::string("cannot be read as JSON (") + error.what() + ")",
                 "correct the value"};
  }
  if (text.starts_with("\xef\xbb\xbf")) // the parser skips a byte order mark
    text.remove_prefix(3);
  LineScanner scanner(text);
  if (!scanner.scan())
    return Error{file.string(), "is nested more than " + std::to_string(maximum_nesting) + " levels deep",
                 "it is not a tuning specification"};
  document.lines_ = scanner.take_lines();
  if (const auto& duplicate = scanner.duplicate())
    return Error{
        file.string() + ":" + std::to_string(duplicate->line) + ": " + document.field(duplicate->path),
        "the key is there twice (first in line " + std::to_string(document.line(duplicate->path)) + ")",
        "remove one of the two"};
  return document;
}

const json* Document::find(const Path& path) const {
  const json* value = &root_;
  for (const std::string& key : path) {
    if (value->is_object()) {
      const auto member = value->find(key);
      if (member == value->end())
        return nullptr;
      value = &*member;
    } else if (value->is_array() && all_digits(key) && key.size() < 10 && std::stoul(key) < value->size()) {
      value = &(*value)[std::stoul(key)];
    } else {
      return nullptr;
    }
  }
  return value;
}

int Document::line(const Path& path) const {
  for (Path prefix = path;; prefix.pop_back()) {
    if (const auto entry = lines_.find(pointer_of(prefix)); entry != lines_.end())
      return entry->second;
    if (prefix.empty())
      return 1;
  }
}

std::string Document::field(const Path& path) const {
  std::string text;
  Path prefix;
  for (const std::string& key : path) {
    const json* parent = find(prefix);
    if (parent && parent->is_array())
      text += '[' + key + ']';
    else
      text += (text.empty() ? "" : ".") + key;
    prefix.push_back(key);
  }
  return text;
}

std::string Document::place(const Path& path) const {
  const std::string text = file_.string() + ":" + std::to_string(line(path));
  return path.empty() ? text : text + ": " + field(path);
}

Error Document::error(const Path& path, std::string why, std::string remedy) const {
  return {place(path), std::move(why), std::move(remedy)};
}

std::string Document::warning(const Path& path, std::string why, std::string remedy) const {
  return error(path, std::move(why), std::move(remedy)).sentence();
}

} // namespace lathe::spec
