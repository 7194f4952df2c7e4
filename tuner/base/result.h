// Errors as values. Every fallible function of Lathe returns Result<T>; no exception crosses a library
// boundary.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace lathe {

// What an error means for the process's exit code (design: 1 the work failed, 2 usage, 3 no device).
enum class Failure { work = 1, usage = 2, no_device = 3 };

// One failure, carried as a value: what went wrong, why, and what the user can do about it.
struct Error {
  std::string what;
  std::string why;
  std::string remedy;
  Failure failure = Failure::work;

  // "what: why: remedy", leaving out the parts that are empty. One sentence, no trailing newline.
  std::string sentence() const;
};

inline Error usage_error(std::string what, std::string why, std::string remedy = {}) {
  return {std::move(what), std::move(why), std::move(remedy), Failure::usage};
}

// Success of a function that returns nothing.
struct Done {};

// A T or an Error. `value()` may be called only when `ok()`; `error()` only when not.
template <class T> class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const Error& error() const { return *std::get_if<1>(&state_); }

private:
  std::variant<T, Error> state_;
};

using Status = Result<Done>;

} // namespace lathe

// Returns the error of `expression` from the enclosing function, or binds its value to `declaration`.
#define LATHE_JOIN_(a, b) a##b
#define LATHE_JOIN(a, b) LATHE_JOIN_(a, b)
#define LATHE_TRY(declaration, expression)                                                                   \
  auto LATHE_JOIN(result_, __LINE__) = (expression);                                                         \
  if (!LATHE_JOIN(result_, __LINE__).ok())                                                                   \
    return LATHE_JOIN(result_, __LINE__).error();                                                            \
  declaration = std::move(LATHE_JOIN(result_, __LINE__)).value()

// The same for a Status, which has no value to bind.
#define LATHE_CHECK(expression)                                                                              \
  do {                                                                                                       \
    auto lathe_status = (expression);                                                                        \
    if (!lathe_status.ok())                                                                                  \
      return lathe_status.error();                                                                           \
  } while (false)
