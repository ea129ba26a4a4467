// Tokenizers that a header describes, however unusual they are.
#include <string>

#include "fuzz/input.h"
#include "gguf/header.h"
#include "text/tokenizer.h"

namespace kinglet::fuzz {
namespace {

constexpr std::string_view kTexts[] = {"", " ", "Hello world, it's 2024.\n\n", "<s>a</s> <0x41>",
                                       "\xe2\x96\x81\xff\xf0\x9f\x98\x80\xc3\xa9"};

void use(const Tokenizer& tokenizer, std::string_view text) {
  for (const bool special : {false, true}) {
    const auto ids = tokenizer.encode(text, {.add_bos = special, .parse_special = special});
    for (const TokenId id : ids) {
      check(id >= 0 && id < tokenizer.n_tokens(), "an id is outside the vocabulary");
    }
    check(tokenizer.decode(ids, special).ok(), "its own ids cannot be decoded");
  }
}

}  // namespace

void vocabulary(Bytes input) {
  const auto header = parse_gguf_header(std::as_bytes(input));
  if (!header.ok()) return;
  const auto tokenizer = Tokenizer::from_gguf(header.value());
  if (!tokenizer.ok()) {
    check(!tokenizer.error().message.empty(), "an error without words");
    return;
  }
  for (const std::string_view text : kTexts) use(*tokenizer.value(), text);
  StreamDecoder decoder(*tokenizer.value(), true);
  for (TokenId id = -1; id <= tokenizer.value()->n_tokens(); ++id) (void)decoder.next(id);
  (void)decoder.finish();
}

}  // namespace kinglet::fuzz
