#include "text/chat_template.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "base/misspelling.h"
#include "json/json.h"
#include "text/jinja/json.h"
#include "text/tool_results.h"

namespace kinglet {
namespace {

struct NamedFormat {
  std::string_view name;
  std::string_view source;
};

// Formats for files without a template. Sources: the templates of the models in the comments.
constexpr NamedFormat kFormats[] = {
    // Qwen, SmolLM, SmolLM2, Hermes, StableLM 2
    {"chatml", R"({% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}<|im_start|>assistant
{{ '' }})"},
    {"phi4", R"({% for m in messages %}<|im_start|>{{ m.role }}<|im_sep|>{{ m.content }}<|im_end|>
{%- endfor %}<|im_start|>assistant<|im_sep|>)"},
    {"llama3", R"({{ bos_token }}{% for m in messages %}
<|start_header_id|>{{ m.role }}<|end_header_id|>

{{ m.content | trim }}<|eot_id|>
{%- endfor %}<|start_header_id|>assistant<|end_header_id|>

{{ '' }})"},
    {"gemma", R"({{ bos_token }}{% set lead = namespace(text='') %}{% for m in messages %}
{% if m.role == 'system' %}{% set lead.text = m.content + '\n\n' %}{% else %}
<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}
{{ lead.text }}{% set lead.text = '' %}{{ m.content | trim }}<end_of_turn>
{% endif %}{% endfor %}<start_of_turn>model
{{ '' }})"},
    {"granite",
     R"({% for m in messages %}<|start_of_role|>{{ m.role }}<|end_of_role|>{{ m.content }}<|end_of_text|>
{% endfor %}<|start_of_role|>assistant<|end_of_role|>)"},
    // R1 and the models distilled from it
    {"deepseek", R"({{ bos_token }}{% for m in messages %}
{% if m.role == 'system' %}{{ m.content }}
{%- elif m.role == 'user' %}<｜User｜>{{ m.content }}
{%- else %}<｜Assistant｜>{{ m.content }}<｜end▁of▁sentence｜>
{%- endif %}{% endfor %}<｜Assistant｜><think>
{{ '' }})"},
    {"phi4-mini", R"({% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>
{%- endfor %}<|assistant|>)"},
    {"phi3", R"({% for m in messages %}<|{{ m.role }}|>
{{ m.content }}<|end|>
{% endfor %}<|assistant|>
{{ '' }})"},
    {"olmo2", R"({% for m in messages %}<|{{ m.role }}|>
{{ m.content }}{{ eos_token if m.role == 'assistant' }}
{% endfor %}<|assistant|>
{{ '' }})"},
    // Zephyr, TinyLlama, StableLM Zephyr
    {"zephyr", R"({% for m in messages %}<|{{ m.role }}|>
{{ m.content }}{{ eos_token }}
{% endfor %}<|assistant|>
{{ '' }})"},
    // Nemo, Ministral
    {"mistral-tekken", R"({{ bos_token }}{% for m in messages %}
{% if m.role == 'user' %}[INST]{% if loop.last and messages[0].role == 'system' %}
{{ messages[0].content }}

{% endif %}{{ m.content }}[/INST]
{%- elif m.role == 'assistant' %}{{ m.content }}{{ eos_token }}{% endif %}{% endfor %})"},
    // 7B Instruct v0.3
    {"mistral-v3", R"({{ bos_token }}{% for m in messages %}
{% if m.role == 'user' %}[INST] {% if loop.last and messages[0].role == 'system' %}
{{ messages[0].content }}

{% endif %}{{ m.content }}[/INST]
{%- elif m.role == 'assistant' %} {{ m.content | trim }}{{ eos_token }}{% endif %}{% endfor %})"},
    // 7B Instruct v0.2, with a system message
    {"mistral-v1", R"({{ bos_token }}{% set lead = namespace(text='') %}{% for m in messages %}
{% if m.role == 'system' %}{% set lead.text = m.content + '\n\n' %}
{%- elif m.role == 'user' %} [INST] {{ lead.text }}{% set lead.text = '' %}{{ m.content }} [/INST]
{%- else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %})"},
    {"llama2", R"({% set lead = namespace(text='') %}{% for m in messages %}
{% if m.role == 'system' %}{% set lead.text = '<<SYS>>\n' + m.content + '\n<</SYS>>\n\n' %}
{%- elif m.role == 'user' %}{{ bos_token }}[INST] {{ lead.text }}{% set lead.text = '' %}
{{- m.content | trim }} [/INST]
{%- else %} {{ m.content | trim }} {{ eos_token }}{% endif %}{% endfor %})"},
};

std::string_view text_of(const Vocabulary& vocabulary, TokenId id) {
  return id == kNoToken ? std::string_view() : vocabulary.bytes(id);
}

void set(jinja::Dict& dict, const char* name, const jinja::Value& value) {
  dict.set(jinja::Value::text(name), value);
}

void set_missing(jinja::Dict& dict, const char* name, const jinja::Value& value) {
  if (dict.find(name) == nullptr) set(dict, name, value);
}

bool is_role_name(std::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; });
}

// A role that is a single word does not count as text that a message says.
void own_role(jinja::Value message) {
  if (!message.is(jinja::Kind::dict)) return;
  const jinja::Value* role = message.entries().find("role");
  if (role == nullptr || !role->is(jinja::Kind::text) || !is_role_name(role->as_bytes())) return;
  set(message.entries(), "role", jinja::Value::text(role->as_bytes()));
}

jinja::Value with(const jinja::Value& dict, const char* name, const jinja::Value& value) {
  jinja::Dict changed = dict.entries();
  set(changed, name, value);
  return jinja::Value::dict(std::move(changed));
}

// Returns the member of a dict, or null.
const jinja::Value* member(const jinja::Value& dict, const char* name, jinja::Kind kind) {
  const jinja::Value* found = dict.is(jinja::Kind::dict) ? dict.entries().find(name) : nullptr;
  return found != nullptr && found->is(kind) ? found : nullptr;
}

// Returns a call of a tool whose arguments are a value, if they were the JSON of an object.
jinja::Value with_arguments(const jinja::Value& call, const Cancellation& cancellation) {
  if (const auto* function = member(call, "function", jinja::Kind::dict)) {
    return with(call, "function", with_arguments(*function, cancellation));
  }
  const jinja::Value* given = member(call, "arguments", jinja::Kind::text);
  if (given == nullptr) return call;
  const auto parsed = parse_json(given->as_bytes(), {.cancellation = cancellation});
  return parsed.ok() && parsed.value().is_object()
             ? with(call, "arguments", jinja::value_of(parsed.value(), cancellation))
             : call;
}

// Returns a message with the arguments of its calls as values.
jinja::Value with_values(const jinja::Value& message, const Cancellation& cancellation) {
  const jinja::Value* calls = member(message, "tool_calls", jinja::Kind::list);
  if (calls == nullptr) return message;
  jinja::List changed;
  for (const jinja::Value& call : calls->items()) {
    if (cancellation.requested()) break;
    changed.push_back(with_arguments(call, cancellation));
  }
  return with(message, "tool_calls", jinja::Value::list(std::move(changed)));
}

// Returns the member of a dict that is a text and not empty, or null.
const jinja::Value* text_in(const jinja::Value& dict, const char* name) {
  const jinja::Value* text = member(dict, name, jinja::Kind::text);
  return text != nullptr && !text->as_text().empty() ? text : nullptr;
}

// The names by which templates read what an assistant thought before it answered. Sources: Qwen 3,
// Gemma 4, LFM2.5 and gpt-oss, MiniCPM 3, Command R7B.
constexpr const char* kThoughtNames[] = {"reasoning_content", "reasoning", "thinking", "thought",
                                         "tool_plan"};

// Returns a message with its thoughts under all of the names.
jinja::Value with_thoughts(const jinja::Value& message, const std::vector<const char*>& names) {
  const jinja::Value* thoughts = nullptr;
  for (const char* name : kThoughtNames) {
    if (thoughts == nullptr) thoughts = text_in(message, name);
  }
  if (thoughts == nullptr) return message;
  jinja::Value changed = message;
  for (const char* name : names) {
    if (text_in(changed, name) == nullptr) changed = with(changed, name, *thoughts);
  }
  return changed;
}

bool has_role(const jinja::Value& message, std::string_view role) {
  const jinja::Value* found = text_in(message, "role");
  return found != nullptr && found->as_bytes() == role;
}

// Adds the name of the tool to a result that has none.
void name_result(jinja::Value message, std::string_view tool) {
  if (tool.empty() || text_in(message, "name") != nullptr) return;
  set(message.entries(), "name", jinja::value_of(std::string(tool)));
}

// Returns what a tool has answered: a value if it is the JSON of an object or a list, or else text.
jinja::Value response_of(const jinja::Value& result, const Cancellation& cancellation) {
  const jinja::Value* content = text_in(result, "content");
  if (content == nullptr) {
    const jinja::Value* other = result.entries().find("content");
    return other == nullptr ? jinja::Value::text("") : *other;
  }
  const auto parsed = parse_json(content->as_bytes(), {.cancellation = cancellation});
  const bool has_parts = parsed.ok() && (parsed.value().is_object() || parsed.value().is_array());
  return has_parts ? jinja::value_of(parsed.value(), cancellation) : *content;
}

// Moves the results of tools, and the text that follows them, into the messages that called the
// tools: the first templates of Gemma 4 read a whole turn from one message. Text in front of calls
// becomes a message of its own, because they write a message's text behind its results. Source:
// "Prompt formatting with Gemma 4", https://ai.google.dev/gemma/docs/core/prompt-formatting-gemma4
jinja::List with_responses(const jinja::List& messages, const Cancellation& cancellation) {
  jinja::List made;
  for (size_t i = 0; i < messages.size() && !cancellation.requested(); ++i) {
    const auto follows = [&](std::string_view role) {
      return i + 1 < messages.size() && has_role(messages[i + 1], role);
    };
    const jinja::Value& message = messages[i];
    if (member(message, "tool_calls", jinja::Kind::list) == nullptr || !follows("tool")) {
      made.push_back(message);
      continue;
    }
    if (text_in(message, "content") != nullptr) {
      made.push_back(with(message, "tool_calls", jinja::Value::none()));
    }
    jinja::List responses;
    for (; follows("tool"); ++i) {
      const jinja::Value& result = messages[i + 1];
      const jinja::Value* name = text_in(result, "name");
      jinja::Dict response;
      if (name != nullptr) set(response, "name", *name);
      set(response, "response", response_of(result, cancellation));
      responses.push_back(jinja::Value::dict(std::move(response)));
    }
    jinja::Value turn = with(message, "tool_responses", jinja::Value::list(std::move(responses)));
    const bool has_text = follows("assistant") && text_in(messages[i + 1], "content") != nullptr &&
                          member(messages[i + 1], "tool_calls", jinja::Kind::list) == nullptr;
    const jinja::Value text =
        has_text ? *text_in(messages[++i], "content") : jinja::Value::text("");
    made.push_back(with(turn, "content", text));
  }
  return made;
}

// How the messages of a conversation are given to a template.
struct Form {
  bool adds_thoughts;  // thoughts under all names that the template may read
  bool has_values;     // arguments of calls as values, not as text
};

// A template may only be able to join arguments that are text, or refuse thoughts beside calls.
constexpr Form kBestForm = {true, true};
constexpr Form kOtherForms[] = {{true, false}, {false, true}, {false, false}};

bool any_has(const jinja::List& messages, const char* name, jinja::Kind kind) {
  return std::any_of(messages.begin(), messages.end(), [&](const jinja::Value& message) {
    return member(message, name, kind) != nullptr;
  });
}

// Returns those of the names that a template may read.
std::vector<const char*> thought_names_of(const jinja::Template& program) {
  std::vector<const char*> names;
  for (const char* name : kThoughtNames) {
    if (program.mentions(name)) names.push_back(name);
  }
  return names;
}

}  // namespace

ChatTemplate::ChatTemplate(jinja::Template program, std::string_view bos, std::string_view eos)
    : program_(std::move(program)),
      bos_(bos),
      eos_(eos),
      thought_names_(thought_names_of(program_)) {
  reads_responses_ = program_.mentions("tool_responses") && !knows_results();
}

bool ChatTemplate::knows_results() const {
  const auto with_role = [&](std::string_view role) {
    const Json call = {{"id", "0"}, {"function", {{"name", "f"}, {"arguments", Json::object()}}}};
    const Json messages =
        Json::array({{{"role", "user"}, {"content", "a"}},
                     {{"role", "assistant"}, {"content", ""}, {"tool_calls", Json::array({call})}},
                     {{"role", role}, {"content", "b"}, {"tool_call_id", "0"}, {"name", "f"}}});
    auto variables = chat_variables({{"messages", messages}, {"add_generation_prompt", true}});
    auto text = render(std::move(variables.value()), {});
    return text.ok() ? std::move(text.value().text) : std::string();
  };
  constexpr std::string_view kOtherRole = "unheard-of";
  std::string with_other = with_role(kOtherRole);
  for (size_t at = with_other.find(kOtherRole); at != std::string::npos;
       at = with_other.find(kOtherRole, at)) {
    with_other.replace(at, kOtherRole.size(), "tool");
  }
  return with_role("tool") != with_other;
}

Status check_roles(const Json& messages, const Cancellation& cancellation) {
  constexpr std::string_view kRoles[] = {"system", "developer", "user", "assistant", "tool"};
  for (size_t i = 0; i < messages.size() && !cancellation.requested(); ++i) {
    const std::string_view role = messages[i].text_of("role");
    if (role.empty() || is_among(role, kRoles)) continue;
    const std::string_view meant = meant_by(role, kRoles);
    if (meant.empty()) continue;
    return jinja::refusal(
        cat("messages[", i, "] has the role ", in_quotes(role), ": did you mean \"", meant, "\"?"));
  }
  return {};
}

Result<jinja::Dict> chat_variables(const Json& json, const Cancellation& cancellation) {
  const Json* messages = json.find("messages");
  if (messages == nullptr || !messages->is_array()) {
    return jinja::refusal("a conversation needs a list of messages");
  }
  KINGLET_TRY(check_roles(*messages, cancellation));
  const auto answered = answered_calls(*messages, cancellation);
  jinja::Value variables = jinja::value_of(json, cancellation);
  if (cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
  const jinja::List& list = variables.entries().find("messages")->items();
  for (size_t i = 0; i < list.size(); ++i) {
    own_role(list[i]);
    if (answered[i]) name_result(list[i], answered[i]->tool());
  }
  return std::move(variables.entries());
}

Result<std::string> named_template(std::string_view name) {
  std::string names;
  for (const NamedFormat& row : kFormats) {
    if (row.name == name) return std::string(row.source);
    names += cat(names.empty() ? "" : ", ", row.name);
  }
  return Error{ErrorCode::invalid_argument,
               cat("chat format \"", name, "\" is unknown (known: ", names, ")")};
}

Result<ChatTemplate> ChatTemplate::from_gguf(const GgufHeader& header, const Vocabulary& vocabulary,
                                             bool with_tools) {
  const bool has_own = with_tools && header.find(kToolTemplateKey) != nullptr;
  const char* key = has_own ? kToolTemplateKey : kChatTemplateKey;
  if (header.find(key) == nullptr) {
    return Error{ErrorCode::missing_metadata,
                 cat("this file has no chat template: metadata \"", key, "\" is missing")};
  }
  KINGLET_ASSIGN(const std::string_view source, header.require_string(key));
  return parse(source, vocabulary);
}

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, const Vocabulary& vocabulary) {
  return parse(source, text_of(vocabulary, vocabulary.bos()),
               text_of(vocabulary, vocabulary.eos()));
}

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, std::string_view bos,
                                         std::string_view eos) {
  auto program = jinja::Template::parse(source);
  if (program.ok()) return ChatTemplate(std::move(program.value()), bos, eos);
  return Error{program.error().code,
               cat("the chat template cannot be parsed: ", program.error().message)};
}

Result<ChatText> ChatTemplate::render(jinja::Dict variables, const jinja::Now& now,
                                      const Cancellation& cancellation) const {
  set_missing(variables, "bos_token", jinja::Value::text(bos_));
  set_missing(variables, "eos_token", jinja::Value::text(eos_));
  // Like apply_chat_template() of transformers, which passes None for missing tools and documents.
  set_missing(variables, "tools", jinja::Value::none());
  set_missing(variables, "documents", jinja::Value::none());
  const jinja::Value* given = variables.find("messages");
  jinja::List messages;
  if (given != nullptr && given->is(jinja::Kind::list)) messages = given->items();
  if (reads_responses_) messages = with_responses(messages, cancellation);
  const bool has_calls = any_has(messages, "tool_calls", jinja::Kind::list);
  const bool has_thoughts =
      std::any_of(std::begin(kThoughtNames), std::end(kThoughtNames),
                  [&](const char* name) { return any_has(messages, name, jinja::Kind::text); });
  const auto render_as = [&](const Form& form) {
    jinja::List formed = messages;
    for (jinja::Value& message : formed) {
      if (cancellation.requested()) break;  // the program notices it, too
      if (form.adds_thoughts) message = with_thoughts(message, thought_names_);
      if (form.has_values) message = with_values(message, cancellation);
    }
    if (given != nullptr) set(variables, "messages", jinja::Value::list(std::move(formed)));
    return program_.render(variables, now, cancellation);
  };
  Result<jinja::Text> text = render_as(kBestForm);
  for (const Form& form : kOtherForms) {
    if (text.ok() || text.error().code != ErrorCode::invalid_argument) break;
    if ((!form.adds_thoughts && !has_thoughts) || (!form.has_values && !has_calls)) continue;
    auto other = render_as(form);
    if (other.ok()) text = std::move(other);
  }
  if (text.ok()) return ChatText{text.value().bytes(), text.value().said()};
  return Error{text.error().code,
               cat("the chat template refuses this conversation: ", text.error().message)};
}

}  // namespace kinglet
