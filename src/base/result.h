// Errors as values: the core never throws, aborts or prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace kinglet {

enum class ErrorCode : uint8_t {
  invalid_argument,          // a caller's value is out of its documented range
  io,                        // a file cannot be opened or read
  not_gguf,                  // the bytes are not a GGUF file
  unsupported_version,       // GGUF of a version or byte order that is not supported
  truncated,                 // the file ends earlier than its header says
  corrupt,                   // the file contradicts itself
  unsupported_type,          // a tensor or metadata type that is not known
  unsupported_architecture,  // general.architecture names a model that is not implemented
  unsupported_tokenizer,     // tokenizer.ggml.model names a tokenizer that is not implemented
  unsupported_feature,       // a known model asks for something that is not implemented
  missing_metadata,          // a required metadata key is absent
  missing_tensor,            // a required tensor is absent
  wrong_type,                // a tensor or metadata value has an unexpected type
  wrong_shape,               // a tensor's shape contradicts the model's configuration
  context_full,              // the KV cache has no room for the tokens of this step
  prompt_too_long,           // a prompt does not fit the context
  out_of_memory,             // an allocation was refused
  not_finite,                // NaN or infinity where a number is needed
  invalid_grammar,           // the text of a grammar is wrong
  grammar_dead_end,          // no token can follow in a grammar that is not at its end
  not_found,                 // the hub's repository has no such file
  cancelled,                 // the caller requested it
};

// The stable snake_case name of a code, as JavaScript sees it: "wrong_shape".
std::string_view error_code_name(ErrorCode code);

struct Error {
  ErrorCode code{};
  std::string message;  // what was found, what was expected, and where
};

// A value or an Error. Check ok() before value(), as the macros below do. std::variant would do the
// same, but its moves and destructors go through tables of functions: 6 KB of wasm.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  Error& error() { return error_; }
  const Error& error() const { return error_; }

 private:
  std::optional<T> value_;
  Error error_;  // empty if there is a value
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return !error_.has_value(); }
  Error& error() { return *error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace kinglet

#define KINGLET_CONCAT_INNER(a, b) a##b
#define KINGLET_CONCAT(a, b) KINGLET_CONCAT_INNER(a, b)

// Returns the error of a Status or Result from the enclosing function.
#define KINGLET_TRY(expression)                             \
  do {                                                      \
    if (auto try_result = (expression); !try_result.ok()) { \
      return std::move(try_result.error());                 \
    }                                                       \
  } while (false)

// KINGLET_ASSIGN(auto x, f()): declares x with the Result's value, or returns its error.
#define KINGLET_ASSIGN(declaration, expression) \
  KINGLET_ASSIGN_INNER(KINGLET_CONCAT(assign_result_, __LINE__), declaration, expression)
#define KINGLET_ASSIGN_INNER(result, declaration, expression) \
  auto result = (expression);                                 \
  if (!result.ok()) return std::move(result.error());         \
  declaration = std::move(result.value())
