#include "wasm/prompt.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/format.h"
#include "openai/fields.h"
#include "schema/calls.h"
#include "wasm/session.h"

namespace kinglet {
namespace {

constexpr size_t kSmall = size_t{1} << 20;

// The memory for a text, its tokens and what is between them, as measured with 26 MB.
constexpr uint64_t kTimesText = 10;

// Fails if so much memory is not free.
Status check_free(uint64_t n_bytes, std::string_view purpose) {
  const auto room = AlignedBuffer::allocate(n_bytes, purpose);
  return room.ok() ? Status() : room.error();
}

// Returns the tools that a choice leaves: the JSON of OpenAI's "tool_choice"; "": all.
Result<openai::ChosenTools> choose_tools(const Json& tools, const std::string& choice,
                                         const Cancellation& cancellation) {
  if (choice.empty()) return openai::ChosenTools{.tools = tools};
  KINGLET_ASSIGN(Json parsed, parse_json(choice, {.cancellation = cancellation}));
  const Json body = {{"tools", tools}, {"tool_choice", std::move(parsed)}};
  openai::Fields fields(body);
  auto chosen = openai::read_tools(fields, {.cancellation = cancellation});
  if (cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
  if (chosen.ok()) return std::move(chosen.value());
  return Error{ErrorCode::invalid_argument, chosen.error().message};
}

struct Conversation {
  Json messages;
  Json variables;  // of the template, other than messages and tools
  openai::ChosenTools tools;
  bool trusts_content;
  std::string said_last;  // a text after the conversation, as if a message said it
  Cancellation cancellation;
};

Result<Conversation> read_conversation(const val& given, const Cancellation& cancellation) {
  const std::string json = text(get(given, "variables"));
  KINGLET_TRY(check_room(json));
  KINGLET_ASSIGN(Json variables, parse_json(json, {.cancellation = cancellation}));
  Conversation read{.messages = std::move(variables["messages"]),
                    .variables = {},
                    .tools = {},
                    .trusts_content = number(given, "trustContent") != 0,
                    .said_last = text(get(given, "saidLast")),
                    .cancellation = cancellation};
  const Json tools = variables["tools"].is_null() ? Json::array() : std::move(variables["tools"]);
  KINGLET_TRY(check_tools(tools));
  KINGLET_ASSIGN(read.tools, choose_tools(tools, text(get(given, "toolChoice")), cancellation));
  variables.erase("tools");
  read.variables = std::move(variables);
  return read;
}

Result<ChatText> lay_out_some(const Json& messages, const Conversation& conversation,
                              const ChatLayout& layout) {
  Json variables = conversation.variables;
  variables["messages"] = messages;
  KINGLET_ASSIGN(ChatText chat, layout.lay_out(std::move(variables), conversation.tools.tools,
                                               conversation.cancellation));
  const std::string& last = conversation.said_last;
  if (!last.empty()) {
    chat.said.push_back({chat.text.size(), chat.text.size() + last.size()});
    chat.text += last;
  }
  if (conversation.trusts_content) chat.said.clear();
  return chat;
}

// The texts of the template and of the messages in turn; the first is the template's.
val texts_of(const ChatText& chat) {
  val texts = val::array();
  size_t at = 0;
  const auto add = [&](size_t end) {
    texts.call<void>("push", chat.text.substr(at, end - at));
    at = end;
  };
  for (const TextRange& said : chat.said) {
    add(said.begin);
    add(said.end);
  }
  if (at < chat.text.size()) add(chat.text.size());
  return texts;
}

Result<ReadPrompt> read_conversation_prompt(const val& content, const PromptOptions& options,
                                            const ChatLayout& layout, const Tokenizer& tokenizer) {
  KINGLET_ASSIGN(Conversation conversation, read_conversation(content, options.cancellation));
  const val pictures = get(content, "pictures");
  ChatMessages messages{.list = std::move(conversation.messages)};
  if (!pictures.isUndefined()) {
    messages.picture_mark = text(get(pictures, "mark"));
    messages.pictures = to_pictures(get(pictures, "parts"));
  }
  const LayOut lay_out = [&](const Json& list) { return lay_out_some(list, conversation, layout); };
  KINGLET_ASSIGN(ConversationPrompt prompt, make_prompt(messages, lay_out, tokenizer, options));
  return ReadPrompt{.prompt = std::move(prompt),
                    .pictures = std::move(messages.pictures),
                    .tools = std::move(conversation.tools)};
}

Result<ReadPrompt> read_plain_prompt(const val& content, bool parses_special,
                                     const PromptOptions& options, const Tokenizer& tokenizer) {
  ReadPrompt read{.prompt = {}};
  std::vector<TokenId>& tokens = read.prompt.tokens;
  const std::string given = content.isString() ? text(content) : "";
  KINGLET_TRY(check_room_for_tokens(given));
  tokens = content.isString() ? tokenizer.encode(given, {.add_bos = options.add_bos,
                                                         .parse_special = parses_special,
                                                         .cancellation = options.cancellation})
                              : to_ids(content);
  if (options.cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
  tokens.insert(tokens.end(), options.prefix.begin(), options.prefix.end());
  if (options.on_full == OnFull::shift) {
    read.prompt.n_kept = count_kept(0, options.n_ctx);
  }
  return read;
}

}  // namespace

PartsOfPictures to_pictures(const val& lists) {
  PartsOfPictures pictures(length(lists));
  for (uint32_t i = 0; i < pictures.size(); ++i) {
    const val list = lists[i];
    for (uint32_t part = 0; part < length(list); ++part) {
      const val fields = list[part];
      pictures[i].push_back({text(get(fields, "text")), {}});
      if (number(fields, "nRows") > 0) pictures[i].back().image = *to_image(fields);
    }
  }
  return pictures;
}

// Without exceptions, a small allocation that fails ends the engine. Most memory is for values,
// whose number the punctuation tells: each is several times in memory, for the template as well.
Status check_room(std::string_view json) {
  constexpr uint64_t kBytesEach = 250;  // as measured with many short messages
  if (json.size() < kSmall) return {};
  const auto n_marks = static_cast<uint64_t>(std::count_if(json.begin(), json.end(), [](char c) {
    return c == '"' || c == '[' || c == '{' || c == ',';  // fast, as the code is made small
  }));
  return check_free(kTimesText * json.size() + kBytesEach * n_marks,
                    cat("a request of ", json.size() / kSmall, " MiB"));
}

Status check_room_for_tokens(std::string_view text) {
  if (text.size() < kSmall) return {};
  return check_free(kTimesText * text.size(), cat("a text of ", text.size() / kSmall, " MiB"));
}

bool is_conversation(const val& prompt) {
  return !get(get(prompt, "content"), "variables").isUndefined();
}

Result<ReadPrompt> read_prompt(const val& prompt, const ChatLayout* layout,
                               const Tokenizer& tokenizer, bool counts_opening) {
  const val content = get(prompt, "content");
  const val prefix = get(prompt, "prefix");
  const std::vector<TokenId> begun =
      prefix.isString() ? tokenizer.encode(text(prefix), {.add_bos = false}) : to_ids(prefix);
  KINGLET_ASSIGN(std::string prefix_text, prefix.isString()
                                              ? Result<std::string>(text(prefix))
                                              : tokenizer.decode(begun, /*special=*/true));
  const PromptOptions options{
      .on_full = find_on_full(text(get(prompt, "onFull"))).value_or(OnFull::error),
      .n_ctx = from_number<uint32_t>(number(prompt, "nCtx")),
      .max_tokens = from_number<uint32_t>(number(prompt, "maxTokens")),
      .add_bos = number(prompt, "addBos") != 0,
      .prefix = begun,
      .counts_opening = counts_opening,
      .cancellation = to_cancellation(number(prompt, "id"))};
  auto read = layout != nullptr ? read_conversation_prompt(content, options, *layout, tokenizer)
                                : read_plain_prompt(content, number(prompt, "parseSpecial") != 0,
                                                    options, tokenizer);
  if (read.ok()) read.value().prefix = std::move(prefix_text);
  return read;
}

val lay_out(const val& conversation, const ChatLayout& layout) {
  const auto read = read_conversation(conversation, to_cancellation(number(conversation, "id")));
  if (!read.ok()) return failure(read.error());
  const auto chat = lay_out_some(read.value().messages, read.value(), layout);
  return chat.ok() ? success(texts_of(chat.value())) : failure(chat.error());
}

}  // namespace kinglet
