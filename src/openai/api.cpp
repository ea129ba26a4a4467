#include "openai/api.h"

#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>

#include "base/format.h"
#include "base/in_quotes.h"
#include "openai/answer_writer.h"
#include "openai/encoding_request.h"
#include "openai/response_request.h"
#include "openai/response_writer.h"

namespace kinglet::openai {
namespace {

// The most members of an object in a request.
constexpr size_t kMostMembers = 10'000;

// What a reader of requests needs.
struct Reading {
  const Json& body;
  const ServedModel& model;
  const ReadPictures& read_pictures;
  const Deadline& deadline;
};

template <class Writer, class Request>
ApiResult<AnswerOrWork> text_answer(ApiResult<Request> read, const ServedModel& model) {
  if (!read.ok()) return std::move(read.error());
  const auto request = std::make_shared<const Request>(std::move(read.value()));
  return AnswerOrWork(TextAnswer(request, std::make_unique<Writer>(*request, model.tokenizer())));
}

ApiResult<AnswerOrWork> ask_chat(const Reading& given) {
  return text_answer<ChatWriter>(
      read_chat_request(given.body, given.model, given.read_pictures, given.deadline), given.model);
}

ApiResult<AnswerOrWork> ask_completion(const Reading& given) {
  return text_answer<CompletionWriter>(
      read_completion_request(given.body, given.model, given.deadline), given.model);
}

ApiResult<AnswerOrWork> ask_response(const Reading& given) {
  return text_answer<ResponseWriter>(
      read_response_request(given.body, given.model, given.read_pictures, given.deadline),
      given.model);
}

// OpenAI's answer to POST /v1/responses/input_tokens.
ApiResult<AnswerOrWork> token_count(const ApiResult<size_t>& n_tokens) {
  if (!n_tokens.ok()) return n_tokens.error();
  return AnswerOrWork(
      Json{{"object", "response.input_tokens"}, {"input_tokens", n_tokens.value()}});
}

ApiResult<AnswerOrWork> count_chat(const Reading& given) {
  return token_count(
      count_chat_tokens(given.body, given.model, given.read_pictures, given.deadline));
}

ApiResult<AnswerOrWork> count_response(const Reading& given) {
  return token_count(
      count_response_tokens(given.body, given.model, given.read_pictures, given.deadline));
}

ApiResult<AnswerOrWork> ask_embeddings(const Reading& given) {
  KINGLET_ASSIGN(EmbeddingRequest request,
                 read_embedding_request(given.body, given.model, given.deadline));
  EncodingWork work{{request.texts, request.pooling, request.dimensions, true}, {}};
  work.answer = [request = std::move(request)](const Rows& rows) {
    return embedding_answer(request, rows);
  };
  return AnswerOrWork(std::move(work));
}

ApiResult<AnswerOrWork> ask_rerank(const Reading& given) {
  KINGLET_ASSIGN(RerankRequest request,
                 read_rerank_request(given.body, given.model, given.deadline));
  EncodingWork work{{request.texts, Pooling::rank}, {}};
  work.answer = [request = std::move(request)](const Rows& rows) {
    return rerank_answer(request, rows);
  };
  return AnswerOrWork(std::move(work));
}

ApiResult<AnswerOrWork> ask_classify(const Reading& given) {
  KINGLET_ASSIGN(ClassifyRequest request,
                 read_classify_request(given.body, given.model, given.deadline));
  EncodingWork work{request.encoding, {}};
  work.answer = [request = std::move(request)](const Rows& rows) {
    return classify_answer(request, rows);
  };
  return AnswerOrWork(std::move(work));
}

using Reader = ApiResult<AnswerOrWork> (*)(const Reading&);

// In the order of kEndpoints.
constexpr Reader kReaders[] = {ask_chat,       count_chat,     ask_completion, ask_response,
                               count_response, ask_embeddings, ask_rerank,     ask_classify};
static_assert(std::size(kReaders) == std::size(kEndpoints));

}  // namespace

ApiResult<Json> read_body(std::string_view text, const Deadline& deadline) {
  if (text.empty()) {
    return invalid(
        "the request has no body: expected a JSON object, over HTTP with a Content-Length or in "
        "chunks");
  }
  auto body = parse_json(text, {.members = kMostMembers, .cancellation = deadline.cancellation});
  KINGLET_TRY(deadline());
  if (!body.ok()) return invalid(body.error().message);
  if (!body.value().is_object()) return invalid("the body is not a JSON object");
  return std::move(body.value());
}

ApiError nothing_at(const std::string& method, const std::string& path) {
  return {.status = 404,
          .message = cat("there is nothing at ", method, " ", in_quotes(path)),
          .code = "unknown_url"};
}

ApiResult<AnswerOrWork> read_request(std::string_view endpoint, const Json& body,
                                     const ServedModel& model, const ReadPictures& read_pictures,
                                     const Deadline& deadline) {
  for (size_t i = 0; i < std::size(kEndpoints); ++i) {
    if (kEndpoints[i] != endpoint) continue;
    auto asked = kReaders[i]({body, model, read_pictures, deadline});
    KINGLET_TRY(deadline());  // says why something was cancelled
    return asked;
  }
  return nothing_at("POST", std::string(endpoint));
}

}  // namespace kinglet::openai
