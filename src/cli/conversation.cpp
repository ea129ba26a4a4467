#include "cli/conversation.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <random>
#include <utility>

#include "base/format.h"
#include "base/in_quotes.h"
#include "cli/input.h"
#include "json/json.h"
#include "session/image_prompt.h"
#include "text/answer/answer_reader.h"

namespace kinglet::cli {

namespace {

struct RoleName {
  ChatRole role;
  std::string_view name;
};

constexpr auto kRoles = std::to_array<RoleName>(
    {{ChatRole::system, "system"}, {ChatRole::user, "user"}, {ChatRole::assistant, "assistant"}});

Result<ChatMessage> message_of(const Json& message) {
  const std::string* role = message.find_string("role");
  const std::string* content = message.find_string("content");
  if (role == nullptr || content == nullptr) {
    return Error{ErrorCode::invalid_argument, "a message needs a role and a content, both texts"};
  }
  const auto known = std::find_if(kRoles.begin(), kRoles.end(), [&](const RoleName& candidate) {
    return candidate.name == *role;
  });
  if (known == kRoles.end()) {
    return Error{
        ErrorCode::invalid_argument,
        cat("the role ", in_quotes(*role), " is not supported (known: system, user, assistant)")};
  }
  return ChatMessage{known->role, *content};
}

}  // namespace

Result<ChatFormat> choose_format(const GgufHeader& header, const Vocabulary& vocabulary,
                                 const std::string& format, const std::string& path) {
  if (!path.empty()) {
    KINGLET_ASSIGN(const std::string source, read_text_file(path));
    KINGLET_ASSIGN(ChatTemplate chosen, ChatTemplate::parse(source, vocabulary));
    return ChatFormat{std::move(chosen), find_answer_format(source)};
  }
  if (!format.empty()) {
    KINGLET_ASSIGN(ChatTemplate chosen, ChatTemplate::named(format, vocabulary));
    return ChatFormat{std::move(chosen), find_answer_format({})};
  }
  auto chosen = ChatTemplate::from_gguf(header, vocabulary);
  if (!chosen.ok()) {
    chosen.error().message += "; --format NAME or --chat-template FILE chooses one";
    return chosen.error();
  }
  const auto* value = header.find(kChatTemplateKey);
  const auto source = value != nullptr ? value->as_string() : std::nullopt;
  return ChatFormat{std::move(chosen.value()), find_answer_format(source.value_or(""))};
}

std::vector<ChatMessage> opening(const std::string& system) {
  if (system.empty()) return {};
  return {{ChatRole::system, system}};
}

Conversation::Conversation(Run& run, ChatFormat format, const ChatOptions& options)
    : run_(run),
      format_(std::move(format)),
      options_(options),
      messages_(opening(options.system)),
      image_mark_(cat("<picture ", std::random_device()(), std::random_device()(), ">")) {}

void Conversation::restart(const std::string& system) {
  messages_ = opening(system);
  pictures_.clear();
}

Status Conversation::answer(std::string_view message,
                            std::span<const std::vector<ImagePart>> pictures,
                            const AnswerListener& listener, const Cancellation& cancellation) {
  KINGLET_TRY(check_utf8("message", message));
  std::string content;
  for (size_t i = 0; i < pictures.size(); ++i) content += image_mark_;
  messages_.push_back({ChatRole::user, content + std::string(message)});
  const size_t n_before = pictures_.size();
  pictures_.insert(pictures_.end(), pictures.begin(), pictures.end());
  auto text = stream_answer(listener, cancellation);
  if (!text.ok()) {
    messages_.pop_back();
    pictures_.resize(n_before);
    return text.error();
  }
  messages_.push_back({ChatRole::assistant, std::move(text.value())});
  return {};
}

// Returns the answer without its thoughts, because templates leave thoughts out of later turns.
Result<std::string> Conversation::stream_answer(const AnswerListener& listener,
                                                const Cancellation& cancellation) {
  const auto start = std::chrono::steady_clock::now();
  const RenderOptions layout = {.thinking = options_.thinking, .now = jinja::local_time()};
  KINGLET_ASSIGN(ChatText laid_out, format_.chat_template.render(messages_, layout));
  if (options_.trust_content) laid_out.said.clear();
  KINGLET_ASSIGN(
      ImagePrompt composed,
      encode_with_images(*run_.loaded.tokenizer, laid_out.text, laid_out.said, image_mark_,
                         pictures_, {.add_bos = true, .parse_special = true}));
  const std::vector<TokenId>& prompt = composed.tokens;
  GenerationOptions options = options_.generation;
  options.images = std::move(composed.images);
  options.replaces_context = true;
  options.cancellation = cancellation;
  for (const std::string_view mark : format_.answers.marks(false)) options.marks.emplace_back(mark);
  KINGLET_ASSIGN(Generation generation,
                 Generation::start(*run_.session, *run_.loaded.tokenizer, prompt, options));
  const uint32_t n_reused = generation.n_prompt_done();
  AnswerReader reader(format_.answers, {}, laid_out.text);
  std::vector<AnswerPart> parts;
  std::string answer;
  const auto tell = [&] {
    for (const AnswerPart& part : parts) {
      const bool is_thought = part.kind == AnswerPart::Kind::thought;
      if (!is_thought) answer += part.text;
      listener.on_text(part.text, is_thought);
    }
    parts.clear();
  };
  size_t n_generated = 0;
  uint32_t n_kept = 0;
  for (FinishReason reason = FinishReason::none; reason == FinishReason::none;) {
    KINGLET_ASSIGN(const GenerationStep step, generation.step());
    if (n_generated == 0) {
      listener.on_prompt(step.n_prompt_done, static_cast<uint32_t>(prompt.size()));
    }
    n_generated += step.token != kNoToken;
    reader.push(step.text, parts);
    tell();
    reason = step.finish;
    n_kept = step.n_kept;
  }
  reader.end(parts);
  tell();
  if (options_.show_speed) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::fprintf(stderr,
                 "\nprompt: %zu tokens, %u of them known; answer: %zu tokens, %u of them guessed; "
                 "%.1f s\n",
                 prompt.size(), n_reused, n_generated, n_kept, seconds.count());
  }
  return answer;
}

Result<std::string> Conversation::to_json() const {
  if (!pictures_.empty()) {
    return Error{ErrorCode::unsupported_feature, "a conversation with pictures cannot be saved"};
  }
  Json list = Json::array();
  for (const ChatMessage& message : messages_) {
    const auto known = std::find_if(kRoles.begin(), kRoles.end(), [&](const RoleName& candidate) {
      return candidate.role == message.role;
    });
    list.push_back({{"role", known->name}, {"content", message.content}});
  }
  return print({{"messages", std::move(list)}}, "  ") + "\n";
}

Status Conversation::from_json(std::string_view json) {
  KINGLET_ASSIGN(const Json whole, parse_json(json));
  const Json* list = whole.find("messages");
  if (list == nullptr || !list->is_array()) {
    return Error{ErrorCode::invalid_argument, "a conversation needs a list \"messages\""};
  }
  std::vector<ChatMessage> messages;
  for (const Json& item : list->as_array()) {
    KINGLET_ASSIGN(ChatMessage message, message_of(item));
    messages.push_back(std::move(message));
  }
  messages_ = std::move(messages);
  pictures_.clear();
  return {};
}

}  // namespace kinglet::cli
