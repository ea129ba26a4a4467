// The input of embedding models and rerankers: the tokens of whole texts, with the special tokens
// that the file asks for.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "session/language_model.h"
#include "text/vocabulary.h"

namespace kinglet {

// What to do with a text that is longer than the model's context.
enum class TooLong : uint8_t { fail, cut };

// Returns [bos] text [end], for BERT "[CLS] … [SEP]". If the text is cut, its first tokens and the
// end stay. Names of control tokens in the text are plain text.
// ErrorCode::prompt_too_long, invalid_argument (no tokens), cancelled.
Result<std::vector<TokenId>> embedding_tokens(const LanguageModel& loaded, std::string_view text,
                                              TooLong too_long,
                                              const Cancellation& cancellation = {});

// Returns a query and a document that are scored together: [bos] query [end] [separator] document
// [end]. If the file has a tokenizer.chat_template.rerank, returns that template, with the texts in
// place of "{query}" and "{document}". Only the document is ever cut. ErrorCode::prompt_too_long;
// invalid_argument (no tokens); unsupported_feature (a template without one of the two places);
// cancelled.
Result<std::vector<TokenId>> ranking_tokens(const LanguageModel& loaded, std::string_view query,
                                            std::string_view document, TooLong too_long,
                                            const Cancellation& cancellation = {});

}  // namespace kinglet
