#include "openai/encoding_request.h"

#include <algorithm>
#include <utility>

#include "answers/classifier.h"
#include "base/format.h"
#include "model/pooling.h"
#include "openai/fields.h"
#include "openai/shared_fields.h"
#include "session/encoder_input.h"

namespace kinglet::openai {
namespace {

ApiStatus read_pooling(Fields& fields, const ServedModel& model, EmbeddingRequest& request) {
  std::string name;
  KINGLET_TRY(fields.take("pooling", name));
  if (name.empty()) {
    const auto of_file = vector_pooling(model.model().config());
    if (!of_file.ok()) {
      const auto& [code, message] = of_file.error();
      if (code != ErrorCode::missing_metadata) return invalid(message, "pooling");
      return Error{code, cat(message, "; choose with \"pooling\" in the request: \"mean\", ",
                             "\"cls\" or \"last\"")};
    }
    request.pooling = of_file.value();
  } else {
    KINGLET_ASSIGN(request.pooling, find_pooling(name));
  }
  if (request.pooling != Pooling::none && request.pooling != Pooling::rank) return {};
  return invalid(
      cat("the pooling \"", pooling_name(request.pooling), "\" does not give one vector per text"),
      "pooling");
}

ApiStatus read_vector_form(Fields& fields, const ServedModel& model, EmbeddingRequest& request) {
  std::string format = "float";
  KINGLET_TRY(fields.take("encoding_format", format));
  request.in_base64 = format == "base64";
  if (!request.in_base64 && format != "float") {
    return invalid(cat("the encoding_format \"", format, "\" is not supported"), "encoding_format");
  }
  std::optional<int64_t> dimensions = 0;
  const auto width = static_cast<int64_t>(model.model().weights().head.embedding_dim());
  KINGLET_TRY(fields.take("dimensions", dimensions, 1, width));
  request.dimensions = static_cast<uint32_t>(*dimensions);
  return {};
}

// Returns the text of a document: a string, or {"text": …}, which other servers accept too. Null if
// it is neither.
const std::string* document_text(const Json& document) {
  return document.is_string() ? &document.as_string() : document.find_string("text");
}

ApiStatus read_documents(Fields& fields, const std::string& query, const ServedModel& model,
                         const Deadline& deadline, RerankRequest& request) {
  const Json* documents = fields.find("documents");
  bool returns_documents = false;
  KINGLET_TRY(fields.take("return_documents", returns_documents));
  if (documents == nullptr || !documents->is_array() || documents->empty()) {
    return invalid("documents must be an array of at least one string", "documents");
  }
  if (documents->size() > kMostTexts) {
    return invalid(
        cat("there are ", documents->size(), " documents, expected at most ", kMostTexts),
        "documents");
  }
  for (const Json& document : documents->as_array()) {
    const std::string* text = document_text(document);
    if (text == nullptr) {
      return wrong_item("documents", request.texts.size(), document, R"(a string or {"text": …})");
    }
    KINGLET_TRY(deadline());
    auto tokens = ranking_tokens(model.loaded(), query, *text, TooLong::cut, deadline.cancellation);
    if (!tokens.ok()) {
      ApiError error = api_error(tokens.error());
      // Documents are cut, so what does not fit is the query.
      if (tokens.error().code == ErrorCode::prompt_too_long) error.param = "query";
      return error;
    }
    request.texts.push_back(std::move(tokens.value()));
    if (returns_documents) request.documents.push_back(*text);
  }
  return {};
}

ApiStatus read_examples(Fields& fields, std::vector<LabelledText>& examples) {
  const Json* list = fields.find("examples");
  if (list == nullptr) return {};
  if (!list->is_array()) return wrong_value("examples", *list, "an array of objects");
  for (size_t i = 0; i < list->size(); ++i) {
    const Json& item = list->as_array()[i];
    const std::string place = cat("examples[", i, "]");
    if (!item.is_object()) return wrong_value(place, item, "an object with text and label");
    Fields one(item, place);
    for (const char* const name : {"text", "label"}) {
      if (item.find(name) == nullptr) return invalid(cat(place, " has no ", name), place);
    }
    LabelledText& example = examples.emplace_back();
    KINGLET_TRY(one.take("text", example.text));
    KINGLET_TRY(one.take("label", example.label));
    KINGLET_TRY(one.check_all_known());
  }
  return {};
}

}  // namespace

ApiResult<EmbeddingRequest> read_embedding_request(const Json& body, const ServedModel& model,
                                                   const Deadline& deadline) {
  EmbeddingRequest request{.model = model.name()};
  Fields fields(body);
  fields.ignore({"user"});
  KINGLET_TRY(fields.take("model", request.model));
  KINGLET_TRY(read_pooling(fields, model, request));
  KINGLET_TRY(read_vector_form(fields, model, request));
  const size_t context = model.model().config().context_length;
  KINGLET_ASSIGN(request.texts,
                 read_texts(
                     fields, "input", model, kMostTexts,
                     [&](const std::string& text) -> ApiResult<std::vector<TokenId>> {
                       KINGLET_TRY(deadline());
                       KINGLET_ASSIGN(std::vector<TokenId> tokens,
                                      embedding_tokens(model.loaded(), text, TooLong::fail,
                                                       deadline.cancellation));
                       return tokens;
                     },
                     [&](const std::vector<TokenId>& tokens) -> ApiStatus {
                       if (tokens.size() <= context) return {};
                       return Error{ErrorCode::prompt_too_long,
                                    cat("the text has ", tokens.size(),
                                        " tokens, but the model's context is ", context)};
                     }));
  KINGLET_TRY(fields.check_all_known());
  return request;
}

ApiResult<RerankRequest> read_rerank_request(const Json& body, const ServedModel& model,
                                             const Deadline& deadline) {
  KINGLET_TRY(check_ranks(model.model().config()));
  RerankRequest request{.model = model.name()};
  Fields fields(body);
  fields.ignore({"user"});
  KINGLET_TRY(fields.take("model", request.model));
  std::string query;
  KINGLET_TRY(fields.take("query", query));
  if (query.empty()) return invalid("the query is missing or empty", "query");
  KINGLET_TRY(read_documents(fields, query, model, deadline, request));
  std::optional<int64_t> n_top = static_cast<int64_t>(request.texts.size());
  KINGLET_TRY(fields.take("top_n", n_top, 1, kMostTexts));
  request.n_top = std::min(request.texts.size(), static_cast<size_t>(*n_top));
  KINGLET_TRY(fields.check_all_known());
  return request;
}

ApiResult<ClassifyRequest> read_classify_request(const Json& body, const ServedModel& model,
                                                 const Deadline& deadline) {
  ClassifyRequest request{.model = model.name()};
  Classification wanted;
  Fields fields(body);
  fields.ignore({"user"});
  KINGLET_TRY(fields.take("model", request.model));
  KINGLET_TRY(fields.take("labels", wanted.labels));
  KINGLET_TRY(fields.take("instruction", wanted.instruction));
  KINGLET_TRY(fields.take("per_token", wanted.per_token));
  KINGLET_TRY(read_examples(fields, wanted.examples));
  KINGLET_ASSIGN(const Classifier classifier,
                 Classifier::create(model.loaded(), model.layout(), std::move(wanted)));
  request.labels = classifier.labels();
  request.encoding = classifier.encoding();
  size_t longest = 0;
  for (const auto& label : request.encoding.labels) longest = std::max(longest, label.size());
  KINGLET_ASSIGN(request.encoding.texts,
                 read_texts(
                     fields, "input", model, kMostTexts,
                     [&](const std::string& text) -> ApiResult<std::vector<TokenId>> {
                       KINGLET_TRY(deadline());
                       KINGLET_ASSIGN(std::vector<TokenId> tokens,
                                      classifier.tokens(text, deadline.cancellation));
                       return tokens;
                     },
                     [&](const std::vector<TokenId>& tokens) -> ApiStatus {
                       if (tokens.size() + longest <= model.n_ctx()) return {};
                       return Error{
                           ErrorCode::prompt_too_long,
                           cat("the prompt has ", tokens.size(), " tokens and the longest label ",
                               longest, ", but the context is ", model.n_ctx())};
                     }));
  KINGLET_TRY(fields.check_all_known());
  return request;
}

}  // namespace kinglet::openai
