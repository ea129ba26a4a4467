// What embedding models and rerankers are given: the tokens of whole texts, with the special tokens
// that the file asks for.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/language_model.h"
#include "text/vocabulary.h"

namespace kinglet {

// What becomes of a text that is longer than the model's context.
enum class TooLong : uint8_t { fail, cut };

// [bos] text [end]: "[CLS] … [SEP]" of BERT. Of a text that is cut, the first tokens and the end
// stay. What spells a control token is plain text.
// ErrorCode::prompt_too_long, invalid_argument (no tokens).
Result<std::vector<TokenId>> embedding_tokens(const LanguageModel& loaded, std::string_view text,
                                              TooLong too_long);

// A query and a document to be scored together: [bos] query [end] [separator] document [end], or as
// the file's tokenizer.chat_template.rerank says, where "{query}" and "{document}" stand for them.
// Only the document is ever cut. ErrorCode::prompt_too_long; invalid_argument (no tokens);
// unsupported_feature (a template without those places).
Result<std::vector<TokenId>> ranking_tokens(const LanguageModel& loaded, std::string_view query,
                                            std::string_view document, TooLong too_long);

}  // namespace kinglet
