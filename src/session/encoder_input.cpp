#include "session/encoder_input.h"

#include <algorithm>
#include <span>
#include <string>

#include "base/format.h"

namespace kinglet {
namespace {

constexpr std::string_view kTemplateKey = "tokenizer.chat_template.rerank";
constexpr std::string_view kQueryPlace = "{query}";
constexpr std::string_view kDocumentPlace = "{document}";

// ErrorCode::cancelled.
Result<std::vector<TokenId>> tokens_of(const Tokenizer& tokenizer, std::string_view text,
                                       const EncodeOptions& options,
                                       std::span<const TextRange> plain = {}) {
  std::vector<TokenId> tokens = tokenizer.encode(text, options, plain);
  if (options.cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
  return tokens;
}

Result<std::vector<TokenId>> plain_tokens(const Tokenizer& tokenizer, std::string_view text,
                                          const Cancellation& cancellation) {
  return tokens_of(tokenizer, text, {.add_bos = false, .cancellation = cancellation});
}

Error too_many_tokens(std::string_view what, size_t n_tokens, size_t context) {
  return {ErrorCode::prompt_too_long,
          cat(what, " has ", n_tokens, " tokens, but the model's context is ", context)};
}

// Removes tokens of the document, in front of the last n_behind tokens, until all tokens fit.
Status fit(std::vector<TokenId>& tokens, size_t n_document, size_t n_behind, size_t context,
           TooLong too_long, std::string_view what) {
  if (tokens.empty()) return Error{ErrorCode::invalid_argument, cat(what, " has no tokens")};
  if (tokens.size() <= context) return {};
  const size_t n_over = tokens.size() - context;
  if (too_long == TooLong::fail || n_over > n_document) {
    return too_many_tokens(what, tokens.size(), context);
  }
  const auto end = tokens.end() - static_cast<ptrdiff_t>(n_behind);
  tokens.erase(end - static_cast<ptrdiff_t>(n_over), end);
  return {};
}

// The texts around and between the places of a template.
struct RankingTemplate {
  std::string_view before, between, after;
  bool query_first;
};

Result<RankingTemplate> parse_template(std::string_view text) {
  const size_t query = text.find(kQueryPlace);
  const size_t document = text.find(kDocumentPlace);
  if (query == std::string_view::npos || document == std::string_view::npos) {
    return Error{ErrorCode::unsupported_feature,
                 cat(kTemplateKey, " lacks ", kQueryPlace, " or ", kDocumentPlace)};
  }
  const bool query_first = query < document;
  const size_t first = query_first ? query : document;
  const size_t second = query_first ? document : query;
  const size_t first_end = first + (query_first ? kQueryPlace : kDocumentPlace).size();
  const size_t second_end = second + (query_first ? kDocumentPlace : kQueryPlace).size();
  return RankingTemplate{text.substr(0, first), text.substr(first_end, second - first_end),
                         text.substr(second_end), query_first};
}

// Control tokens in the template are recognised, but not those that the query or document spell.
Result<std::vector<TokenId>> fill_template(const Tokenizer& tokenizer, const RankingTemplate& parts,
                                           std::string_view query, std::string_view document,
                                           const Cancellation& cancellation) {
  std::string whole;
  std::vector<TextRange> plain;
  const auto append_plain = [&](std::string_view text) {
    if (!text.empty()) plain.push_back({whole.size(), whole.size() + text.size()});
    whole += text;
  };
  whole += parts.before;
  append_plain(parts.query_first ? query : document);
  whole += parts.between;
  append_plain(parts.query_first ? document : query);
  whole += parts.after;
  return tokens_of(tokenizer, whole, {.parse_special = true, .cancellation = cancellation}, plain);
}

Result<std::vector<TokenId>> template_tokens(const Tokenizer& tokenizer, std::string_view text,
                                             std::string_view query, std::string_view document,
                                             size_t context, TooLong too_long,
                                             const Cancellation& cancellation) {
  KINGLET_ASSIGN(const RankingTemplate parts, parse_template(text));
  KINGLET_ASSIGN(std::vector<TokenId> tokens,
                 fill_template(tokenizer, parts, query, document, cancellation));
  if (tokens.size() <= context) return tokens;
  if (too_long == TooLong::fail) {
    return too_many_tokens("the query with its document", tokens.size(), context);
  }
  // A token may join the document's end to the text after it, so the document is cut as text, by as
  // many tokens as there are too many.
  KINGLET_ASSIGN(std::vector<TokenId> of_document, plain_tokens(tokenizer, document, cancellation));
  while (tokens.size() > context && !of_document.empty()) {
    const size_t n_over = tokens.size() - context;
    of_document.resize(of_document.size() - std::min(n_over, of_document.size()));
    KINGLET_ASSIGN(const std::string kept, tokenizer.decode(of_document));
    KINGLET_ASSIGN(tokens, fill_template(tokenizer, parts, query, kept, cancellation));
  }
  if (tokens.size() > context) return too_many_tokens("the query", tokens.size(), context);
  return tokens;
}

}  // namespace

Result<std::vector<TokenId>> embedding_tokens(const LanguageModel& loaded, std::string_view text,
                                              TooLong too_long, const Cancellation& cancellation) {
  const Vocabulary& vocabulary = loaded.tokenizer->vocabulary();
  KINGLET_ASSIGN(
      std::vector<TokenId> tokens,
      tokens_of(*loaded.tokenizer, text, {.add_eos = true, .cancellation = cancellation}));
  const bool ends = vocabulary.add_eos() && vocabulary.end_of_text() != kNoToken;
  const size_t n_behind = ends ? 1 : 0;
  KINGLET_TRY(fit(tokens, tokens.size() - n_behind, n_behind, loaded.model.config().context_length,
                  too_long, "the text"));
  return tokens;
}

Result<std::vector<TokenId>> ranking_tokens(const LanguageModel& loaded, std::string_view query,
                                            std::string_view document, TooLong too_long,
                                            const Cancellation& cancellation) {
  const Tokenizer& tokenizer = *loaded.tokenizer;
  const size_t context = loaded.model.config().context_length;
  KINGLET_ASSIGN(const std::string_view laid_out,
                 loaded.model.header().get_string(kTemplateKey, ""));
  if (!laid_out.empty()) {
    return template_tokens(tokenizer, laid_out, query, document, context, too_long, cancellation);
  }
  const Vocabulary& vocabulary = tokenizer.vocabulary();
  const TokenId end = vocabulary.add_eos() ? vocabulary.end_of_text() : kNoToken;
  KINGLET_ASSIGN(std::vector<TokenId> tokens,
                 tokens_of(tokenizer, query, {.add_eos = true, .cancellation = cancellation}));
  if (vocabulary.pair_separator() != kNoToken) tokens.push_back(vocabulary.pair_separator());
  KINGLET_ASSIGN(const std::vector<TokenId> of_document,
                 plain_tokens(tokenizer, document, cancellation));
  tokens.insert(tokens.end(), of_document.begin(), of_document.end());
  if (end != kNoToken) tokens.push_back(end);
  KINGLET_TRY(fit(tokens, of_document.size(), end == kNoToken ? 0 : 1, context, too_long,
                  "the query with its document"));
  return tokens;
}

}  // namespace kinglet
