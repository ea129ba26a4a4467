#include "openai/answer_writer.h"

#include <ctime>
#include <utility>

#include "answers/answer_message.h"
#include "base/ascii.h"
#include "base/format.h"
#include "base/random_name.h"
#include "base/utf8.h"

namespace kinglet::openai {
namespace {

// Which version of the program answers.
constexpr std::string_view kFingerprint = "kinglet-" KINGLET_VERSION;

// Returns the text of a token as a text in JSON: bytes that are part of a character are spelled as
// OpenAI does, such as bytes:\xe2\x80.
std::string json_name(std::string text) {
  if (find_ill_formed(text) == text.npos) return text;
  std::string name = "bytes:";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    name += {'\\', 'x', kHexDigits[byte / 16], kHexDigits[byte % 16]};
  }
  return name;
}

Json chunk_of(const CallDelta& call) {
  Json chunk = {{"index", call.index}};
  Json function = Json::object();
  if (call.name) {
    chunk["id"] = call.id;
    chunk["type"] = "function";
    function["name"] = *call.name;
  }
  function["arguments"] = call.arguments;
  chunk["function"] = std::move(function);
  return chunk;
}

std::string data_event(const std::string& data) { return cat("data: ", data, "\n\n"); }

}  // namespace

std::string_view finish_name(const AnswerEvent& last) {
  if (last.calls_tools) return "tool_calls";
  const bool is_cut = last.finish == FinishReason::length || last.finish == FinishReason::context;
  return is_cut ? "length" : "stop";
}

Json Usage::to_json() const {
  return {{"prompt_tokens", prompt_tokens},
          {"completion_tokens", completion_tokens},
          {"total_tokens", prompt_tokens + completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", cached_tokens}}},
          {"completion_tokens_details",
           {{"reasoning_tokens", reasoning_tokens},
            {"accepted_prediction_tokens", accepted_guesses},
            {"rejected_prediction_tokens", guessed_tokens - accepted_guesses}}}};
}

AnswerWriter::AnswerWriter(const GenerationRequest& request, const Tokenizer& tokenizer,
                           std::string_view prefix)
    : request_(request),
      tokenizer_(tokenizer),
      id_(cat(prefix, random_name(24))),
      created_(std::time(nullptr)) {}

void AnswerWriter::begin_choice(const GenerationPrompt& prompt, bool is_first_of_prompt,
                                uint32_t index, std::vector<Json>& chunks) {
  if (is_first_of_prompt) usage_.prompt_tokens += prompt.tokens.size();
  counts_cached_ = is_first_of_prompt;
  counted_ = {};
  begin(prompt, index, chunks);
}

void AnswerWriter::read(const AnswerEvent& event, std::vector<Json>& chunks) {
  const AnswerCounts& counts = event.counts;
  if (counts_cached_) usage_.cached_tokens += counts.n_cached - counted_.n_cached;
  usage_.completion_tokens += counts.n_generated - counted_.n_generated;
  usage_.reasoning_tokens += counts.n_thought - counted_.n_thought;
  usage_.guessed_tokens += counts.n_guessed - counted_.n_guessed;
  usage_.accepted_guesses += counts.n_accepted - counted_.n_accepted;
  counted_ = counts;
  add(event, chunks);
}

std::string AnswerWriter::event(const Json& chunk) const { return data_event(print(chunk)); }

std::string AnswerWriter::error_event(const ApiError& error) const {
  return data_event(to_json(error));
}

std::string AnswerWriter::last_events() const { return ""; }

std::string AnswerWriter::token_text(TokenId token) const {
  return std::string(tokenizer_.piece(token, /*special=*/true));
}

// The token's text, its bytes and its logprob.
Json AnswerWriter::token_logprob(TokenId token, float logprob) const {
  const std::string text = token_text(token);
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return {{"token", text}, {"bytes", std::move(bytes)}, {"logprob", logprob}};
}

// The logprobs of a token and of the best ones in its place, as conversations have them.
Json AnswerWriter::chat_logprob(const MeasuredToken& token) const {
  Json made = token_logprob(token.token, token.logprob.value_or(0));
  made["top_logprobs"] = Json::array();
  for (const Candidate& other : token.top) {
    made["top_logprobs"].push_back(token_logprob(other.token, other.weight));
  }
  return made;
}

std::optional<Json> AnswerWriter::logprobs_of(const AnswerEvent& event) {
  if (measures() && event.has_token()) waiting_.push_back(chat_logprob(event.token));
  // The last tokens may have no text of their own.
  const bool ends_with_logprobs = event.is_last() && !waiting_.empty();
  if (event.added.empty() && !ends_with_logprobs) return std::nullopt;
  return std::exchange(waiting_, Json::array());
}

// --- Choices
// ---------------------------------------------------------------------------------------

ChoicesWriter::ChoicesWriter(const GenerationRequest& request, const Tokenizer& tokenizer,
                             std::string_view prefix, std::string_view object,
                             std::string_view chunk_object)
    : AnswerWriter(request, tokenizer, prefix), object_(object), chunk_object_(chunk_object) {}

void ChoicesWriter::begin(const GenerationPrompt& prompt, uint32_t index,
                          std::vector<Json>& chunks) {
  index_ = index;
  choices_.push_back({{"index", index}});
  begin_text(prompt, chunks);
}

Json ChoicesWriter::head(std::string_view object) const {
  return {{"id", id()},
          {"object", object},
          {"created", created()},
          {"model", request().model},
          {"system_fingerprint", kFingerprint}};
}

Json ChoicesWriter::chunk(Json choice) const {
  Json made = head(chunk_object_);
  made["choices"] = Json::array({std::move(choice)});
  if (request().includes_usage) made["usage"] = nullptr;  // the last chunk tells it
  return made;
}

Json ChoicesWriter::whole() const {
  Json made = head(object_);
  made["choices"] = choices_;
  made["usage"] = usage().to_json();
  return made;
}

std::string ChoicesWriter::last_events() const {
  std::string events;
  if (request().includes_usage) {
    Json made = head(chunk_object_);
    made["choices"] = Json::array();
    made["usage"] = usage().to_json();
    events = event(made);
  }
  return events + data_event("[DONE]");
}

// --- Chat
// ------------------------------------------------------------------------------------------

ChatWriter::ChatWriter(const GenerationRequest& request, const Tokenizer& tokenizer)
    : ChoicesWriter(request, tokenizer, "chatcmpl-", "chat.completion", "chat.completion.chunk") {}

void ChatWriter::begin_text(const GenerationPrompt&, std::vector<Json>& chunks) {
  Json& made = choice();
  made["message"] = {{"role", "assistant"}, {"content", ""}, {"refusal", nullptr}};
  made["finish_reason"] = nullptr;
  made["logprobs"] = nullptr;
  if (measures()) made["logprobs"] = {{"content", Json::array()}, {"refusal", nullptr}};
  add_chunk({{"role", "assistant"}, {"content", ""}}, nullptr, nullptr, chunks);
}

void ChatWriter::add(const AnswerEvent& event, std::vector<Json>& chunks) {
  if (auto tokens = logprobs_of(event)) {
    Json delta = add_delta(event.added);
    if (delta.empty()) delta["content"] = "";
    Json logprobs = nullptr;
    if (measures()) {
      Json& known = choice()["logprobs"]["content"];
      for (const Json& token : tokens->as_array()) known.push_back(token);
      logprobs = {{"content", std::move(*tokens)}, {"refusal", nullptr}};
    }
    add_chunk(std::move(delta), nullptr, std::move(logprobs), chunks);
  }
  if (!event.is_last()) return;
  Json& message = choice()["message"];
  if (message.contains("tool_calls") && message["content"] == "") message["content"] = nullptr;
  choice()["finish_reason"] = finish_name(event);
  add_chunk(Json::object(), finish_name(event), nullptr, chunks);
}

void ChatWriter::add_chunk(Json delta, Json finish, Json logprobs,
                           std::vector<Json>& chunks) const {
  chunks.push_back(chunk({{"index", index()},
                          {"delta", std::move(delta)},
                          {"finish_reason", std::move(finish)},
                          {"logprobs", std::move(logprobs)}}));
}

// Adds to the message, and returns the delta of the chunk: empty if there is nothing to add.
Json ChatWriter::add_delta(const AnswerDelta& added) {
  add_to(choice()["message"], added);
  Json delta = Json::object();
  if (!added.thought.empty()) delta["reasoning_content"] = added.thought;
  if (!added.text.empty()) delta["content"] = added.text;
  for (const CallDelta& call : added.calls) delta["tool_calls"].push_back(chunk_of(call));
  return delta;
}

// --- Text
// -------------------------------------------------------------------------------------------

CompletionWriter::CompletionWriter(const GenerationRequest& request, const Tokenizer& tokenizer)
    : ChoicesWriter(request, tokenizer, "cmpl-", "text_completion", "text_completion") {}

Json CompletionWriter::no_logprobs() const {
  if (!measures()) return nullptr;
  return {{"tokens", Json::array()},
          {"token_logprobs", Json::array()},
          {"top_logprobs", Json::array()},
          {"text_offset", Json::array()}};
}

void CompletionWriter::begin_text(const GenerationPrompt& prompt, std::vector<Json>& chunks) {
  Json& made = choice();
  made["text"] = "";
  made["logprobs"] = no_logprobs();
  made["finish_reason"] = nullptr;
  prompt_ = &prompt;
  echoed_ = no_logprobs();
  n_echoed_ = 0;
  offset_ = 0;
  if (measures_prompt()) return;  // the echo comes with the logprobs
  offset_ = count_characters(prompt.echo);
  if (!prompt.echo.empty()) add_chunk(prompt.echo, no_logprobs(), nullptr, chunks);
}

// Returns what the next token of the prompt adds to the echo. A control token that was put in front
// adds nothing, nor does the space that some tokenizers put there.
std::string_view CompletionWriter::next_of_echo(TokenId token) {
  const std::string_view rest = std::string_view(prompt_->echo).substr(n_echoed_);
  std::string_view text = tokenizer().piece(token, /*special=*/true);
  if (!rest.starts_with(text)) text = tokenizer().piece(token);
  if (!rest.starts_with(text) && n_echoed_ == 0 && text.starts_with(' ')) text.remove_prefix(1);
  if (rest.starts_with(text)) n_echoed_ += text.size();
  return text;
}

Json CompletionWriter::top_logprobs(const std::vector<Candidate>& top) const {
  Json logprobs = Json::object();
  for (const Candidate& other : top) {
    // Several tokens may have one text, which names the most likely of them.
    std::string name = json_name(token_text(other.token));
    if (logprobs.contains(name)) name = cat("token_id:", other.token);
    logprobs[name] = other.weight;
  }
  return logprobs;
}

void CompletionWriter::add_logprob(const std::string& text, const std::optional<float>& logprob,
                                   const std::vector<Candidate>& top, Json& logprobs) {
  logprobs["tokens"].push_back(json_name(text));
  logprobs["token_logprobs"].push_back(logprob ? Json(*logprob) : Json());
  logprobs["top_logprobs"].push_back(logprob ? top_logprobs(top) : Json());
  logprobs["text_offset"].push_back(offset_);
  offset_ += count_characters(text);
}

void CompletionWriter::add_prompt(const std::vector<MeasuredToken>& tokens,
                                  std::vector<Json>& chunks) {
  for (const auto& [token, logprob, top] : tokens) {
    add_logprob(std::string(next_of_echo(token)), logprob, top, echoed_);
  }
  if (echoed_["tokens"].size() < prompt_->tokens.size()) return;
  offset_ = count_characters(prompt_->echo);
  add_chunk(prompt_->echo, std::move(echoed_), nullptr, chunks);
}

void CompletionWriter::add(const AnswerEvent& event, std::vector<Json>& chunks) {
  if (!event.prompt.empty()) add_prompt(event.prompt, chunks);
  const bool is_measured = measures() && event.has_token();
  Json logprobs = no_logprobs();
  if (is_measured) {
    add_logprob(token_text(event.token.token), event.token.logprob, event.token.top, logprobs);
  }
  const std::string& text = event.added.text;
  if (!text.empty() || is_measured) add_chunk(text, std::move(logprobs), nullptr, chunks);
  if (event.is_last()) add_chunk("", no_logprobs(), finish_name(event), chunks);
}

void CompletionWriter::add_chunk(const std::string& text, Json logprobs, Json finish,
                                 std::vector<Json>& chunks) {
  Json& made = choice();
  made["text"].as_string() += text;
  if (logprobs.is_object()) {
    for (const auto& [name, values] : logprobs.as_object()) {
      for (const Json& value : values.as_array()) made["logprobs"][name].push_back(value);
    }
  }
  made["finish_reason"] = finish;
  chunks.push_back(chunk({{"text", text},
                          {"index", index()},
                          {"logprobs", std::move(logprobs)},
                          {"finish_reason", std::move(finish)}}));
}

}  // namespace kinglet::openai
