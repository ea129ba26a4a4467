#include <algorithm>

#include "base/utf8.h"
#include "text/tokenizer.h"

namespace kinglet {

std::string StreamDecoder::next(TokenId id) {
  const std::string_view piece = tokenizer_->piece(id, true);
  const bool is_mark = std::find(marks_.begin(), marks_.end(), piece) != marks_.end();
  tokenizer_->append_text(id, is_mark, at_start_, pending_);
  std::string text;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const Utf8Char character = decode_utf8(rest);
    if (character.state == Utf8State::unfinished) break;
    append_utf8(text, character.code_point);
    rest.remove_prefix(character.n_bytes);
  }
  pending_.erase(0, pending_.size() - rest.size());
  return text;
}

std::string StreamDecoder::finish() {
  std::string text;
  if (!pending_.empty()) append_utf8(text, kReplacementCharacter);
  pending_.clear();
  return text;
}

}  // namespace kinglet
