// The error that a client receives when its request fails, in the form of OpenAI's API.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "json/json.h"

namespace kinglet::openai {

struct ApiError {
  int status = 400;  // of HTTP
  std::string message;
  std::string type = "invalid_request_error";
  std::string param = {};  // the parameter that is wrong; "": none in particular
  std::string code = {};   // "": none
};

// The error for a request that is invalid or needs something that is not supported.
ApiError invalid(std::string message, std::string param = "");

// Converts an error of the engine: to a client error (400) if the request caused it, otherwise to a
// server error (500). `code` may also be one of the package's own: an error of the page around the
// engine, such as "disposed" (503).
ApiError api_error(const Error& error);
ApiError api_error(std::string_view code, std::string message);

// {"message", "type", "param", "code"}
Json error_members(const ApiError& error);

// {"error": {"message", "type", "param", "code"}}
std::string to_json(const ApiError& error);

// A Result whose errors are for clients. The engine's errors are converted.
template <class T>
class [[nodiscard]] ApiResult {
 public:
  ApiResult(T value) : value_(std::move(value)) {}             // NOLINT: implicit by design
  ApiResult(ApiError error) : error_(std::move(error)) {}      // NOLINT: implicit by design
  ApiResult(const Error& error) : error_(api_error(error)) {}  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  ApiError& error() { return error_; }
  const ApiError& error() const { return error_; }

 private:
  std::optional<T> value_;
  ApiError error_;  // empty if there is a value
};

template <>
class [[nodiscard]] ApiResult<void> {
 public:
  ApiResult() = default;
  ApiResult(ApiError error) : error_(std::move(error)) {}      // NOLINT: implicit by design
  ApiResult(const Error& error) : error_(api_error(error)) {}  // NOLINT: implicit by design

  bool ok() const { return !error_.has_value(); }
  ApiError& error() { return *error_; }
  const ApiError& error() const { return *error_; }

 private:
  std::optional<ApiError> error_;
};

using ApiStatus = ApiResult<void>;

}  // namespace kinglet::openai
