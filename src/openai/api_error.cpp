#include "openai/api_error.h"

#include "base/ascii.h"

namespace kinglet::openai {

ApiError invalid(std::string message, std::string param) {
  ApiError error = api_error(Error{ErrorCode::invalid_argument, std::move(message)});
  error.param = std::move(param);
  return error;
}

ApiError api_error(const Error& error) {
  return api_error(error_code_name(error.code), error.message);
}

ApiError api_error(std::string_view code, std::string message) {
  constexpr std::string_view kTooLong[] = {"prompt_too_long", "context_full"};
  constexpr std::string_view kOfRequest[] = {"invalid_argument", "invalid_grammar",
                                             "unsupported_feature", "missing_metadata",
                                             "missing_tensor"};
  ApiError error{.message = std::move(message), .code = std::string(code)};
  if (is_among(code, kTooLong)) {
    error.code = "context_length_exceeded";
  } else if (!is_among(code, kOfRequest)) {
    error.status = code == "disposed" ? 503 : 500;
    error.type = "server_error";
  }
  return error;
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
