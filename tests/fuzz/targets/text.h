// What must hold of any tokenizer and any text.
#pragma once

#include <optional>
#include <string_view>

#include "text/tokenizer.h"

namespace kinglet::fuzz {

// Encodes `text`, plain and with its special tokens parsed, decodes what comes of it, whole and
// token by token. `comes_back`: the text that must come of it, where the vocabulary has a token for
// each byte.
void check_text(const Tokenizer& tokenizer, std::string_view text,
                std::optional<std::string_view> comes_back);

// Decodes ids of any value.
void check_ids(const Tokenizer& tokenizer, std::string_view bytes);

}  // namespace kinglet::fuzz
