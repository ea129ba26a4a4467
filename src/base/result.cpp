#include "base/result.h"

namespace kinglet {

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::io:
      return "io";
    case ErrorCode::not_gguf:
      return "not_gguf";
    case ErrorCode::unsupported_version:
      return "unsupported_version";
    case ErrorCode::truncated:
      return "truncated";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::unsupported_type:
      return "unsupported_type";
    case ErrorCode::unsupported_architecture:
      return "unsupported_architecture";
    case ErrorCode::unsupported_tokenizer:
      return "unsupported_tokenizer";
    case ErrorCode::unsupported_feature:
      return "unsupported_feature";
    case ErrorCode::missing_metadata:
      return "missing_metadata";
    case ErrorCode::missing_tensor:
      return "missing_tensor";
    case ErrorCode::wrong_type:
      return "wrong_type";
    case ErrorCode::wrong_shape:
      return "wrong_shape";
    case ErrorCode::context_full:
      return "context_full";
    case ErrorCode::prompt_too_long:
      return "prompt_too_long";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::not_finite:
      return "not_finite";
    case ErrorCode::invalid_grammar:
      return "invalid_grammar";
    case ErrorCode::grammar_dead_end:
      return "grammar_dead_end";
    case ErrorCode::cancelled:
      return "cancelled";
  }
  return "unknown";
}

}  // namespace kinglet
