#include "cli/windows.h"

#include <utility>

#include "base/format.h"

namespace kinglet::cli {

Result<TextWindows> TextWindows::cut(const Tokenizer& tokenizer, std::string_view text, size_t size,
                                     size_t n_least) {
  std::vector<TokenId> tokens = tokenizer.encode(text, {.add_bos = true});
  if (size < n_least) {
    return Error{ErrorCode::invalid_argument,
                 cat("--ctx is ", size, ", expected at least ", n_least)};
  }
  if (tokens.size() < size) {
    return Error{
        ErrorCode::invalid_argument,
        cat("the text has ", tokens.size(), " tokens, expected at least one window of ", size)};
  }
  if (tokenizer.encode("", {.add_bos = true}).size() == 1) {
    for (size_t i = size; i < tokens.size(); i += size) tokens[i] = tokens.front();
  }
  return TextWindows(std::move(tokens), size);
}

}  // namespace kinglet::cli
