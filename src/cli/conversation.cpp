#include "cli/conversation.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <random>
#include <utility>

#include "base/format.h"
#include "base/in_quotes.h"
#include "cli/input.h"
#include "cli/rate.h"
#include "text/answer/answer_format.h"
#include "text/answer/answer_reader.h"

namespace kinglet::cli {

namespace {

constexpr std::string_view kRoles[] = {"system", "user", "assistant"};

Status check_message(const Json& message) {
  const std::string* role = message.find_string("role");
  if (role == nullptr || message.find_string("content") == nullptr) {
    return Error{ErrorCode::invalid_argument, "a message needs a role and a content, both texts"};
  }
  if (std::find(std::begin(kRoles), std::end(kRoles), *role) != std::end(kRoles)) return {};
  return Error{
      ErrorCode::invalid_argument,
      cat("the role ", in_quotes(*role), " is not supported (known: system, user, assistant)")};
}

}  // namespace

Result<ChatLayout> choose_layout(const GgufHeader& header, const Vocabulary& vocabulary,
                                 const std::string& format, const std::string& path) {
  std::string source;
  if (!path.empty()) {
    KINGLET_ASSIGN(source, read_text_file(path));
  } else if (!format.empty()) {
    KINGLET_ASSIGN(source, named_template(format));
  }
  ChatLayout layout(header, vocabulary, source);
  Status status = layout.check();
  if (status.ok()) return layout;
  if (source.empty()) {
    status.error().message += "; --format NAME or --chat-template FILE chooses one";
  }
  return status.error();
}

Json template_variables(const Json& messages, bool thinking) {
  Json variables = {{"messages", messages}, {"add_generation_prompt", true}};
  if (!thinking) variables["enable_thinking"] = false;
  return variables;
}

Json message_of(std::string_view role, std::string_view content) {
  return {{"role", role}, {"content", content}};
}

Json opening(std::string_view system) {
  return system.empty() ? Json::array() : Json::array({message_of("system", system)});
}

Conversation::Conversation(Run& run, ChatLayout layout, const ChatOptions& options)
    : run_(run),
      layout_(std::move(layout)),
      options_(options),
      messages_{
          .list = opening(options.system),
          .picture_mark = cat("<picture ", std::random_device()(), std::random_device()(), ">")} {}

void Conversation::restart(const std::string& system) {
  messages_.list = opening(system);
  messages_.pictures.clear();
}

Status Conversation::answer(std::string_view message,
                            std::span<const std::vector<ImagePart>> pictures,
                            const AnswerListener& listener, const Cancellation& cancellation) {
  KINGLET_TRY(check_utf8("message", message));
  std::string content;
  for (size_t i = 0; i < pictures.size(); ++i) content += messages_.picture_mark;
  content += message;
  auto& list = messages_.list.as_array();
  auto& all_pictures = messages_.pictures;
  list.push_back(message_of("user", content));
  const size_t n_before = all_pictures.size();
  all_pictures.insert(all_pictures.end(), pictures.begin(), pictures.end());
  auto text = stream_answer(listener, cancellation);
  if (!text.ok()) {
    list.pop_back();
    all_pictures.resize(n_before);
    return text.error();
  }
  list.push_back(message_of("assistant", text.value()));
  return {};
}

// Returns the answer without its thoughts, because templates leave thoughts out of later turns.
Result<std::string> Conversation::stream_answer(const AnswerListener& listener,
                                                const Cancellation& cancellation) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  auto first_token = start;
  GenerationOptions options = options_.generation;
  const LayOut lay_out = [&](const Json& list) -> Result<ChatText> {
    KINGLET_ASSIGN(ChatText chat,
                   layout_.lay_out(template_variables(list, options_.thinking), false));
    if (options_.trust_content) chat.said.clear();
    return chat;
  };
  KINGLET_ASSIGN(ConversationPrompt made, make_prompt(messages_, lay_out, *run_.loaded.tokenizer,
                                                      {.on_full = options_.on_full,
                                                       .n_ctx = run_.session->n_ctx(),
                                                       .max_tokens = options.max_tokens}));
  made.prepare(options);
  const std::vector<TokenId>& prompt = made.tokens;
  options.replaces_context = true;
  options.cancellation = cancellation;
  const AnswerFormat& answers = layout_.answer_format(false);
  for (const std::string_view mark : answers.marks(false)) options.marks.emplace_back(mark);
  KINGLET_ASSIGN(Generation generation,
                 Generation::start(*run_.session, *run_.loaded.tokenizer, prompt, options));
  const uint32_t n_reused = generation.n_prompt_done();
  AnswerReader reader(answers, {}, made.end);
  std::vector<AnswerPart> parts;
  std::string answer;
  const auto show_parts = [&] {
    for (const AnswerPart& part : parts) {
      const bool is_thought = part.kind == AnswerPart::Kind::thought;
      if (!is_thought) answer += part.text;
      listener.on_text(part.text, is_thought);
    }
    parts.clear();
  };
  size_t n_generated = 0;
  uint32_t n_accepted = 0;
  for (FinishReason reason = FinishReason::none; reason == FinishReason::none;) {
    KINGLET_ASSIGN(const GenerationStep step, generation.step());
    if (n_generated == 0) {
      listener.on_prompt(step.n_prompt_done, static_cast<uint32_t>(prompt.size()));
    }
    if (step.token != kNoToken && n_generated++ == 0) first_token = Clock::now();
    reader.push(step.text, parts);
    show_parts();
    reason = step.finish;
    n_accepted = step.n_accepted;
  }
  reader.end(parts);
  show_parts();
  if (options_.show_speed) {
    const auto end = Clock::now();
    // Computing the prompt already gives the first token.
    const size_t n_decoded = n_generated > 0 ? n_generated - 1 : 0;
    std::fprintf(stderr,
                 "\nprompt: %zu tokens, %u of them known, %.1f tokens/s; "
                 "answer: %zu tokens, %u of them guessed, %.1f tokens/s; %.1f s\n",
                 prompt.size(), n_reused,
                 per_second(prompt.size() - n_reused, seconds_between(start, first_token)),
                 n_generated, n_accepted, per_second(n_decoded, seconds_between(first_token, end)),
                 seconds_between(start, end));
  }
  return answer;
}

Result<std::string> Conversation::to_json() const {
  if (!messages_.pictures.empty()) {
    return Error{ErrorCode::unsupported_feature, "a conversation with pictures cannot be saved"};
  }
  return print({{"messages", messages_.list}}, "  ") + "\n";
}

Status Conversation::from_json(std::string_view json) {
  KINGLET_ASSIGN(const Json whole, parse_json(json));
  const Json* list = whole.find("messages");
  if (list == nullptr || !list->is_array()) {
    return Error{ErrorCode::invalid_argument, "a conversation needs a list \"messages\""};
  }
  for (const Json& message : list->as_array()) KINGLET_TRY(check_message(message));
  messages_.list = *list;
  messages_.pictures.clear();
  return {};
}

}  // namespace kinglet::cli
