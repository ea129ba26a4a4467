#include "openai/api_error.h"

namespace kinglet::openai {

ApiError invalid(std::string message, std::string param) {
  return {.message = std::move(message),
          .param = std::move(param),
          .code = std::string(error_code_name(ErrorCode::invalid_argument))};
}

ApiError api_error(const Error& error) {
  switch (error.code) {
    case ErrorCode::prompt_too_long:
    case ErrorCode::context_full:
      return {.message = error.message, .code = "context_length_exceeded"};
    case ErrorCode::invalid_argument:
    case ErrorCode::invalid_grammar:
    case ErrorCode::unsupported_feature:
    case ErrorCode::missing_metadata:
      return {.message = error.message, .code = std::string(error_code_name(error.code))};
    default:
      return {.status = 500,
              .message = error.message,
              .type = "server_error",
              .code = std::string(error_code_name(error.code))};
  }
}

Json error_members(const ApiError& error) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  return {{"message", error.message},
          {"type", error.type},
          {"param", text_or_null(error.param)},
          {"code", text_or_null(error.code)}};
}

std::string to_json(const ApiError& error) { return print(Json{{"error", error_members(error)}}); }

}  // namespace kinglet::openai
