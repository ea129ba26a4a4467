#include "base/result.h"

#include <iterator>

namespace kinglet {

std::string_view error_code_name(ErrorCode code) {
  constexpr std::string_view kNames[] = {"invalid_argument",
                                         "io",
                                         "not_gguf",
                                         "unsupported_version",
                                         "truncated",
                                         "corrupt",
                                         "unsupported_type",
                                         "unsupported_architecture",
                                         "unsupported_tokenizer",
                                         "unsupported_feature",
                                         "missing_metadata",
                                         "missing_tensor",
                                         "wrong_type",
                                         "wrong_shape",
                                         "context_full",
                                         "prompt_too_long",
                                         "out_of_memory",
                                         "not_finite",
                                         "invalid_grammar",
                                         "grammar_dead_end",
                                         "not_found",
                                         "cancelled"};
  static_assert(std::size(kNames) == static_cast<size_t>(ErrorCode::cancelled) + 1);
  return kNames[static_cast<size_t>(code)];
}

}  // namespace kinglet
