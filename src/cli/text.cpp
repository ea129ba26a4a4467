#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/run.h"
#include "cli/terminal.h"
#include "gguf/file.h"
#include "text/tokenizer.h"

namespace kinglet::cli {
namespace {

Result<std::unique_ptr<Tokenizer>> read_tokenizer(const std::string& path) {
  KINGLET_ASSIGN(const GgufFile file, read_model(path));
  return Tokenizer::from_gguf(file.header());
}

void print_ids(const std::vector<TokenId>& ids) {
  const char* separator = "";
  for (const TokenId id : ids) {
    std::printf("%s%d", separator, id);
    separator = " ";
  }
  std::printf("\n");
}

}  // namespace

Status tokenize(const TokenizeOptions& options) {
  KINGLET_ASSIGN(const auto tokenizer, read_tokenizer(options.model));
  const std::string input = options.text ? *options.text : read_input();
  KINGLET_TRY(check_utf8("text", input));
  const EncodeOptions encoding = {.add_bos = options.add_bos,
                                  .parse_special = options.parse_special};
  if (!options.many) {
    print_ids(tokenizer->encode(input, encoding));
    return {};
  }
  for (const std::string_view text : split_at_nul(input)) {
    print_ids(tokenizer->encode(text, encoding));
  }
  return {};
}

Status detokenize(const DetokenizeOptions& options) {
  KINGLET_ASSIGN(const auto tokenizer, read_tokenizer(options.model));
  KINGLET_ASSIGN(const std::string text, tokenizer->decode(options.ids, options.special));
  show(text + "\n");
  return {};
}

}  // namespace kinglet::cli
