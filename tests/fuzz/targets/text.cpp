#include "fuzz/targets/text.h"

#include <optional>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "fuzz/input.h"

namespace kinglet::fuzz {
namespace {

std::string stream(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, bool at_start) {
  StreamDecoder decoder(tokenizer, at_start);
  std::string text;
  for (const TokenId id : ids) text += decoder.next(id);
  return text + decoder.finish();
}

}  // namespace

void check_text(const Tokenizer& tokenizer, std::string_view text,
                std::optional<std::string_view> comes_back) {
  for (const bool special : {false, true}) {
    const auto ids = tokenizer.encode(text, {.add_bos = special, .parse_special = special});
    check(ids.size() <= text.size() + 2, "more tokens than bytes");
    const auto decoded = tokenizer.decode(ids, special);
    check(decoded.ok(), "its own ids cannot be decoded");
    if (special || !comes_back) continue;
    check(decoded.value() == *comes_back, "the text does not come back");
    check(stream(tokenizer, ids, true) == replace_ill_formed(*comes_back),
          "the stream is another text");
  }
}

void check_ids(const Tokenizer& tokenizer, std::string_view bytes) {
  Input input({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  std::vector<TokenId> ids;
  bool all_exist = true;
  while (!input.empty()) {
    // Mostly small ids, and now and then any number.
    const auto id = static_cast<TokenId>(input.number<int16_t>());
    ids.push_back(id % 97 == 0 ? input.number<TokenId>() : id);
    all_exist = all_exist && ids.back() >= 0 && ids.back() < tokenizer.n_tokens();
  }
  check(tokenizer.decode(ids).ok() == all_exist, "ids outside the vocabulary");
  (void)stream(tokenizer, ids, false);
}

}  // namespace kinglet::fuzz
