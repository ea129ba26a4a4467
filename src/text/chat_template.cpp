#include "text/chat_template.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "base/format.h"

namespace kinglet {

enum class SystemPlace : uint8_t {
  own_turn,
  in_first_user_turn,
  in_last_user_turn,
  nowhere,
};

// What the system's turn says besides what it was given.
enum class SystemText : uint8_t {
  given,     // or a sentence that the template holds, in ChatML
  dated,     // Llama 3.1 and 3.2: two dates in front
  granite,   // Granite 3.1 to 4: a default, which may be dated
  smollm_3,  // a date and whether to reason in front
};

// "{bos}" and "{eos}" stand for the vocabulary's marks.
struct Turn {
  std::string_view before;
  std::string_view after;
  bool trims = false;  // white space around the content
};

struct ChatFormat {
  std::string_view name;
  std::array<std::string_view, 2> marks;  // its templates contain both; the first row that fits
  Turn system = {};
  Turn user;
  Turn assistant;
  std::string_view answer = {};  // what the model continues
  SystemPlace system_place = SystemPlace::own_turn;
  SystemText system_text = SystemText::given;
};

namespace {

constexpr Turn kChatMlSystem = {"<|im_start|>system\n", "<|im_end|>\n"};
constexpr Turn kChatMlUser = {"<|im_start|>user\n", "<|im_end|>\n"};
constexpr Turn kChatMlAssistant = {"<|im_start|>assistant\n", "<|im_end|>\n"};
constexpr Turn kLlama3System = {"<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>",
                                true};
constexpr Turn kDatedSystem = {kLlama3System.before, kLlama3System.after};
constexpr Turn kLlama3User = {"<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>", true};
constexpr Turn kLlama3Assistant = {"<|start_header_id|>assistant<|end_header_id|>\n\n",
                                   "<|eot_id|>", true};

constexpr ChatFormat kFormats[] = {
    {.name = "smollm3",
     .marks = {"<|im_start|>", "Reasoning Mode: "},
     .system = kChatMlSystem,
     .user = kChatMlUser,
     .assistant = kChatMlAssistant,
     .answer = "<|im_start|>assistant\n",
     .system_text = SystemText::smollm_3},
    {.name = "phi4",
     .marks = {"<|im_start|>", "<|im_sep|>"},
     .system = {"<|im_start|>system<|im_sep|>", "<|im_end|>"},
     .user = {"<|im_start|>user<|im_sep|>", "<|im_end|>"},
     .assistant = {"<|im_start|>assistant<|im_sep|>", "<|im_end|>"},
     .answer = "<|im_start|>assistant<|im_sep|>"},
    {.name = "chatml",  // Qwen, SmolLM, SmolLM2, Hermes, StableLM 2
     .marks = {"<|im_start|>", "<|im_end|>"},
     .system = kChatMlSystem,
     .user = kChatMlUser,
     .assistant = kChatMlAssistant,
     .answer = "<|im_start|>assistant\n"},
    {.name = "llama3.1",  // and 3.2, 3.3
     .marks = {"<|start_header_id|>", "Cutting Knowledge Date"},
     .system = kDatedSystem,
     .user = kLlama3User,
     .assistant = kLlama3Assistant,
     .answer = "<|start_header_id|>assistant<|end_header_id|>\n\n",
     .system_text = SystemText::dated},
    {.name = "llama3",
     .marks = {"<|start_header_id|>", "<|end_header_id|>"},
     .system = kLlama3System,
     .user = kLlama3User,
     .assistant = kLlama3Assistant,
     .answer = "<|start_header_id|>assistant<|end_header_id|>\n\n"},
    {.name = "gemma",
     .marks = {"<start_of_turn>", "<end_of_turn>"},
     .system = {"", "\n\n"},
     .user = {"<start_of_turn>user\n", "<end_of_turn>\n", true},
     .assistant = {"<start_of_turn>model\n", "<end_of_turn>\n", true},
     .answer = "<start_of_turn>model\n",
     .system_place = SystemPlace::in_first_user_turn},
    {.name = "granite",
     .marks = {"<|start_of_role|>", "<|end_of_role|>"},
     .system = {"<|start_of_role|>system<|end_of_role|>", "<|end_of_text|>\n"},
     .user = {"<|start_of_role|>user<|end_of_role|>", "<|end_of_text|>\n"},
     .assistant = {"<|start_of_role|>assistant<|end_of_role|>", "<|end_of_text|>\n"},
     .answer = "<|start_of_role|>assistant<|end_of_role|>",
     .system_text = SystemText::granite},
    {.name = "deepseek",  // R1 and what it was distilled into
     .marks = {"<｜User｜>", "<｜Assistant｜>"},
     .user = {"<｜User｜>", ""},
     .assistant = {"<｜Assistant｜>", "<｜end▁of▁sentence｜>"},
     .answer = "<｜Assistant｜>"},
    {.name = "phi4-mini",
     .marks = {"<|assistant|>", "+ '|>' + message['content'] + '<|end|>'"},
     .system = {"<|system|>", "<|end|>"},
     .user = {"<|user|>", "<|end|>"},
     .assistant = {"<|assistant|>", "<|end|>"},
     .answer = "<|assistant|>"},
    {.name = "phi3",
     .marks = {"<|assistant|>", "<|end|>"},
     .system = {"<|system|>\n", "<|end|>\n"},
     .user = {"<|user|>\n", "<|end|>\n"},
     .assistant = {"<|assistant|>\n", "<|end|>\n"},
     .answer = "<|assistant|>\n"},
    {.name = "olmo2",
     .marks = {"<|assistant|>", "message['content'] + '\n'"},
     .system = {"<|system|>\n", "\n"},
     .user = {"<|user|>\n", "\n"},
     .assistant = {"<|assistant|>\n", "{eos}\n"},
     .answer = "<|assistant|>\n"},
    {.name = "zephyr",  // and TinyLlama, StableLM Zephyr
     .marks = {"<|assistant|>", "message['content'] + eos_token"},
     .system = {"<|system|>\n", "{eos}\n"},
     .user = {"<|user|>\n", "{eos}\n"},
     .assistant = {"<|assistant|>\n", "{eos}\n"},
     .answer = "<|assistant|>\n"},
    {.name = "mistral-tekken",  // Nemo, Ministral
     .marks = {"[AVAILABLE_TOOLS]", "\"[INST]\""},
     .system = {"", "\n\n"},
     .user = {"[INST]", "[/INST]"},
     .assistant = {"", "{eos}"},
     .system_place = SystemPlace::in_last_user_turn},
    {.name = "mistral-v3",  // 7B Instruct v0.3
     .marks = {"[AVAILABLE_TOOLS]", "\"[INST] \""},
     .system = {"", "\n\n"},
     .user = {"[INST] ", "[/INST]"},
     .assistant = {" ", "{eos}", true},
     .system_place = SystemPlace::in_last_user_turn},
    {.name = "mistral-v1",  // 7B Instruct v0.2, with a system message
     .marks = {"' [INST] '", "' [/INST]'"},
     .system = {"", "\n\n"},
     .user = {" [INST] ", " [/INST]"},
     .assistant = {" ", "{eos}"},
     .system_place = SystemPlace::in_first_user_turn},
    {.name = "llama2",
     .marks = {"'[INST] '", "<<SYS>>"},
     .system = {"<<SYS>>\n", "\n<</SYS>>\n\n"},
     .user = {"{bos}[INST] ", " [/INST]", true},
     .assistant = {" ", " {eos}", true},
     .system_place = SystemPlace::in_first_user_turn},
    {.name = "mistral",  // 7B Instruct v0.1 and v0.2
     .marks = {"'[INST] '", "' [/INST]'"},
     .user = {"[INST] ", " [/INST]"},
     .assistant = {"", "{eos}"},
     .system_place = SystemPlace::nowhere},
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t found = text.find(from); found != std::string_view::npos; found = text.find(from)) {
    out += cat(text.substr(0, found), to);
    text.remove_prefix(found + from.size());
  }
  out += text;
  return out;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\r\v\f";
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return text.substr(0, 0);
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

ChatText own(std::string_view text) { return {std::string(text), {}}; }

ChatText said(std::string_view text) {
  if (text.empty()) return {};
  return {std::string(text), {{0, text.size()}}};
}

// Appends `part`, a piece of the text of `whole`, and tells what of it is said.
void append(ChatText& out, const ChatText& whole, std::string_view part) {
  const auto begin = static_cast<size_t>(part.data() - whole.text.data());
  const size_t end = begin + part.size();
  for (const TextRange& range : whole.said) {
    const TextRange inside = {std::max(range.begin, begin), std::min(range.end, end)};
    if (inside.begin >= inside.end) continue;
    out.said.push_back(
        {out.text.size() + inside.begin - begin, out.text.size() + inside.end - begin});
  }
  out.text += part;
}

void append(ChatText& out, const ChatText& whole) { append(out, whole, whole.text); }

// A message between words of the template.
ChatText between(std::string_view before, std::string_view message, std::string_view after) {
  ChatText out = own(before);
  append(out, said(message));
  out.text += after;
  return out;
}

constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};

std::string_view month_name(const Date& date) {
  return kMonths[static_cast<size_t>(std::clamp(date.month, 1, 12) - 1)];
}

std::string two_digits(int number) { return cat(number < 10 ? "0" : "", number); }

// The first literal of the template that begins so, up to its quotation mark; empty without one.
std::string_view literal_that_begins(std::string_view source, std::string_view begin) {
  const size_t at = source.find(begin);
  if (at == std::string_view::npos || at == 0) return {};
  const char quote = source[at - 1];
  return source.substr(at, source.find(quote, at) - at);
}

// What a ChatML template says in the place of a system message that is not given: the first system
// turn that is spelled out in one literal. Empty without one.
std::string_view spelled_system_turn(std::string_view source) {
  for (size_t at = source.find(kChatMlSystem.before); at != std::string_view::npos;
       at = source.find(kChatMlSystem.before, at)) {
    at += kChatMlSystem.before.size();
    const std::string_view rest = source.substr(at);
    const std::string_view content = rest.substr(0, rest.find(kChatMlSystem.after));
    if (content.size() < rest.size() && content.find_first_of("'\"{") == std::string_view::npos) {
      return content;
    }
  }
  return {};
}

std::string known_formats() {
  std::string names;
  for (const ChatFormat& format : kFormats) names += cat(names.empty() ? "" : ", ", format.name);
  return names;
}

Status check_turns(std::span<const ChatMessage> messages) {
  if (!messages.empty() && messages.front().role == ChatRole::system) {
    messages = messages.subspan(1);
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    const ChatRole expected = i % 2 == 0 ? ChatRole::user : ChatRole::assistant;
    if (messages[i].role != expected) {
      return Error{ErrorCode::invalid_argument,
                   cat("message ", i, " behind the system's is not by the ",
                       expected == ChatRole::user ? "user" : "assistant",
                       ": they must take turns, the user first")};
    }
  }
  if (messages.size() % 2 == 0) {
    return Error{ErrorCode::invalid_argument, "the last message is not by the user"};
  }
  return {};
}

std::string_view text_of(const Vocabulary& vocabulary, TokenId id) {
  return id == kNoToken ? std::string_view() : vocabulary.bytes(id);
}

}  // namespace

Result<ChatTemplate> ChatTemplate::from_gguf(const GgufHeader& header,
                                             const Vocabulary& vocabulary) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  if (header.find(kKey) == nullptr) {
    return Error{ErrorCode::missing_metadata,
                 cat("this file has no chat template: metadata \"", kKey, "\" is missing")};
  }
  KINGLET_ASSIGN(const std::string_view source, header.require_string(kKey));
  return recognise(source, text_of(vocabulary, vocabulary.bos()),
                   text_of(vocabulary, vocabulary.eos()));
}

Result<ChatTemplate> ChatTemplate::recognise(std::string_view source, std::string_view bos,
                                             std::string_view eos) {
  const std::string spelled = replace_all(source, "\\n", "\n");
  // Mistral's seventh version holds a page of its own for the system.
  const bool is_known = !contains(spelled, "[SYSTEM_PROMPT]");
  const auto format = std::find_if(
      std::begin(kFormats), std::end(kFormats), [&spelled, is_known](const ChatFormat& row) {
        return is_known && contains(spelled, row.marks[0]) && contains(spelled, row.marks[1]);
      });
  if (format == std::end(kFormats)) {
    return Error{
        ErrorCode::unsupported_feature,
        cat("the file's chat template is none of the known formats (", known_formats(), ")")};
  }
  return ChatTemplate(*format, spelled, bos, eos);
}

Result<ChatTemplate> ChatTemplate::named(std::string_view name, const Vocabulary& vocabulary) {
  const auto format = std::find_if(std::begin(kFormats), std::end(kFormats),
                                   [name](const ChatFormat& row) { return row.name == name; });
  if (format == std::end(kFormats)) {
    return Error{ErrorCode::invalid_argument,
                 cat("chat format \"", name, "\" is unknown (known: ", known_formats(), ")")};
  }
  return ChatTemplate(*format, "", text_of(vocabulary, vocabulary.bos()),
                      text_of(vocabulary, vocabulary.eos()));
}

ChatTemplate::ChatTemplate(const ChatFormat& format, std::string_view source, std::string_view bos,
                           std::string_view eos)
    : format_(&format), source_(source), bos_(bos), eos_(eos) {}

std::string_view ChatTemplate::format_name() const { return format_->name; }

Result<ChatText> ChatTemplate::render(std::span<const ChatMessage> messages,
                                      const ChatOptions& options) const {
  KINGLET_TRY(check_turns(messages));
  std::string_view given;
  if (messages.front().role == ChatRole::system) {
    given = messages.front().content;
    messages = messages.subspan(1);
    if (format_->system_place == SystemPlace::nowhere ||
        contains(source_, "System role not supported")) {
      return Error{ErrorCode::invalid_argument,
                   cat("this model's chat format (", format_->name, ") has no system message")};
    }
  }
  const ChatText system = system_text(given, options);
  ChatText out;
  if (contains(source_, "bos_token") && !contains(format_->user.before, "{bos}")) out.text += bos_;
  size_t system_turn = messages.size();  // the user's turn that holds the system's message: none
  if (!system.text.empty()) {
    if (format_->system_place == SystemPlace::own_turn) {
      append_turn(out, format_->system, {}, system);
    } else {
      const bool is_last = format_->system_place == SystemPlace::in_last_user_turn;
      system_turn = is_last ? messages.size() - 1 : 0;
    }
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role == ChatRole::assistant) {
      append_turn(out, format_->assistant, own(no_thoughts(options, true)),
                  said(past_answer(messages[i])));
    } else {
      ChatText front;
      if (i == system_turn) append_turn(front, format_->system, {}, system);
      append_turn(out, format_->user, front, said(messages[i].content));
    }
  }
  append_marks(out, format_->answer);
  if (contains(source_, "<｜Assistant｜><think>\n")) out.text += "<think>\n";
  out.text += no_thoughts(options, false);
  return out;
}

ChatText ChatTemplate::system_text(std::string_view given, const ChatOptions& options) const {
  const Date& today = options.today;
  switch (format_->system_text) {
    case SystemText::given:
      return given.empty() ? own(spelled_system_turn(source_)) : said(given);
    case SystemText::dated: {
      // Llama 3.1 asks for no date.
      const Date date = contains(source_, "strftime_now") ? today : ChatOptions().today;
      return between(
          cat("Cutting Knowledge Date: December 2023\nToday Date: ", two_digits(date.day), " ",
              month_name(date).substr(0, 3), " ", date.year, "\n\n"),
          trim(given), "");
    }
    case SystemText::granite:
      if (!given.empty()) return said(given);
      if (contains(source_, "Knowledge Cutoff Date: April 2024.")) {
        return own(cat("Knowledge Cutoff Date: April 2024.\nToday's Date: ", month_name(today), " ",
                       two_digits(today.day), ", ", today.year,
                       ".\nYou are Granite, developed by IBM. You are a helpful AI assistant."));
      }
      return own(literal_that_begins(
          source_, "You are a helpful assistant. Please ensure responses are professional"));
    case SystemText::smollm_3: {
      const std::string_view begin =
          options.thinking ? "You are a helpful AI assistant named SmolLM, trained by "
                             "Hugging Face. Your role"
                           : "You are a helpful AI assistant named SmolLM, trained by "
                             "Hugging Face.\n\n";
      return between(cat("## Metadata\n\nKnowledge Cutoff Date: June 2025\nToday Date: ",
                         two_digits(today.day), " ", month_name(today), " ", today.year,
                         "\nReasoning Mode: ", options.thinking ? "/think" : "/no_think",
                         "\n\n## Custom Instructions\n\n"),
                     given, given.empty() ? literal_that_begins(source_, begin) : "\n\n");
    }
  }
  return {};
}

std::string_view ChatTemplate::past_answer(const ChatMessage& message) const {
  constexpr std::string_view kEndOfThoughts = "</think>";
  std::string_view content = message.content;
  bool trims_lines = format_->system_text == SystemText::smollm_3;
  const size_t end = content.rfind(kEndOfThoughts);
  const size_t split = source_.find("split('</think>')[-1]");
  if (end != std::string_view::npos && split != std::string::npos) {
    content.remove_prefix(end + kEndOfThoughts.size());
    trims_lines = contains(std::string_view(source_).substr(split, 40), ".lstrip(");
  }
  if (!trims_lines) return content;
  return content.substr(std::min(content.find_first_not_of('\n'), content.size()));
}

std::string_view ChatTemplate::no_thoughts(const ChatOptions& options, bool in_past) const {
  if (options.thinking || !contains(source_, "enable_thinking")) return {};
  if (format_->system_text == SystemText::smollm_3) return "<think>\n\n</think>\n";
  return in_past ? "" : "<think>\n\n</think>\n\n";
}

void ChatTemplate::append_turn(ChatText& out, const Turn& turn, const ChatText& front,
                               const ChatText& content) const {
  append_marks(out, turn.before);
  append(out, front);
  append(out, content, turn.trims ? trim(content.text) : content.text);
  append_marks(out, turn.after);
}

void ChatTemplate::append_marks(ChatText& out, std::string_view pattern) const {
  out.text += replace_all(replace_all(pattern, "{bos}", bos_), "{eos}", eos_);
}

}  // namespace kinglet
