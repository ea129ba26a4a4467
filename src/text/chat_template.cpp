#include "text/chat_template.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "json/json.h"
#include "text/jinja/json.h"

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
jinja::Value with_arguments(const jinja::Value& call) {
  if (const auto* function = member(call, "function", jinja::Kind::dict)) {
    return with(call, "function", with_arguments(*function));
  }
  const jinja::Value* given = member(call, "arguments", jinja::Kind::text);
  if (given == nullptr) return call;
  const auto parsed = parse_json(given->as_bytes());
  return parsed.ok() && parsed.value().is_object()
             ? with(call, "arguments", jinja::value_of(parsed.value()))
             : call;
}

// Returns the messages with the arguments of their calls as values; nullopt if there are no calls.
std::optional<jinja::Value> with_arguments_of_all(const jinja::Dict& variables) {
  const jinja::Value* messages = variables.find("messages");
  if (messages == nullptr || !messages->is(jinja::Kind::list)) return std::nullopt;
  bool has_calls = false;
  jinja::List made;
  for (const jinja::Value& message : messages->items()) {
    const jinja::Value* calls = member(message, "tool_calls", jinja::Kind::list);
    if (calls == nullptr) {
      made.push_back(message);
      continue;
    }
    has_calls = true;
    jinja::List changed;
    for (const jinja::Value& call : calls->items()) changed.push_back(with_arguments(call));
    made.push_back(with(message, "tool_calls", jinja::Value::list(std::move(changed))));
  }
  if (!has_calls) return std::nullopt;
  return jinja::Value::list(std::move(made));
}

}  // namespace

Result<jinja::Dict> chat_variables(const Json& json) {
  const Json* messages = json.find("messages");
  if (messages == nullptr || !messages->is_array()) {
    return jinja::refusal("a conversation has a list of messages");
  }
  jinja::Value variables = jinja::value_of(json);
  for (const jinja::Value& message : variables.entries().find("messages")->items()) {
    own_role(message);
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
               cat("the chat template cannot be read: ", program.error().message)};
}

Result<ChatText> ChatTemplate::render(jinja::Dict variables, const jinja::Now& now) const {
  set_missing(variables, "bos_token", jinja::Value::text(bos_));
  set_missing(variables, "eos_token", jinja::Value::text(eos_));
  // Like apply_chat_template() of transformers, which passes None for missing tools and documents.
  set_missing(variables, "tools", jinja::Value::none());
  set_missing(variables, "documents", jinja::Value::none());
  const auto messages = with_arguments_of_all(variables);
  jinja::Dict with_values = variables;
  if (messages) set(with_values, "messages", *messages);
  auto text = program_.render(with_values, now);
  if (!text.ok() && messages) {
    auto text_with_texts = program_.render(variables, now);
    if (text_with_texts.ok()) text = std::move(text_with_texts);
  }
  if (text.ok()) return ChatText{text.value().bytes(), text.value().said()};
  return Error{text.error().code,
               cat("the chat template refuses this conversation: ", text.error().message)};
}

}  // namespace kinglet
