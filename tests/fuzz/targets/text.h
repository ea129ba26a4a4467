// Checks that must hold for any tokenizer and any text.
#pragma once

#include <optional>
#include <string_view>

#include "text/tokenizer.h"

namespace kinglet::fuzz {

// Encodes `text`, without and with parsing of special tokens, and decodes the ids, as a whole and
// token by token. `comes_back`: the expected decoded text, if the vocabulary has a token for each
// byte.
void check_text(const Tokenizer& tokenizer, std::string_view text,
                std::optional<std::string_view> comes_back);

// Decodes ids of any value.
void check_ids(const Tokenizer& tokenizer, std::string_view bytes);

}  // namespace kinglet::fuzz
