#include "answers/classifier.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/format.h"
#include "base/in_quotes.h"
#include "json/json.h"
#include "session/encoder_input.h"

namespace kinglet {
namespace {

constexpr const char* kLabelsKey = "classifier.output_labels";

Error wrong(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

Status check_labels(const std::vector<std::string>& labels) {
  if (labels.empty()) {
    return wrong("the labels are missing: this model's file names none, so at least 2 are needed");
  }
  if (labels.size() < 2 || labels.size() > kMostLabels) {
    return wrong(cat("found ", labels.size(), labels.size() == 1 ? " label" : " labels",
                     ", expected 2 to ", kMostLabels));
  }
  std::set<std::string_view> seen;
  for (const std::string& label : labels) {
    if (label.empty()) return wrong("a label is empty");
    if (!seen.insert(label).second)
      return wrong(cat("the label ", in_quotes(label), " occurs twice"));
  }
  return {};
}

Status check_examples(const Classification& wanted) {
  for (const auto& [text, label] : wanted.examples) {
    if (std::find(wanted.labels.begin(), wanted.labels.end(), label) != wanted.labels.end())
      continue;
    return wrong(cat("the label ", in_quotes(label), " of an example is not one of the labels"));
  }
  return {};
}

Json message(const char* role, std::string_view content) {
  return {{"role", role}, {"content", content}};
}

// Returns the names of a head's labels, in the order of its scores.
Result<std::vector<std::string>> head_labels(const GgufHeader& header) {
  std::vector<std::string> names;
  KINGLET_ASSIGN(const std::string_view architecture,
                 header.get_string("general.architecture", ""));
  const MetadataValue* const value = header.find(cat(architecture, ".", kLabelsKey));
  const auto list = value == nullptr ? std::nullopt : value->as_array();
  if (list) {
    list->for_each([&](uint64_t, const MetadataValue& name) {
      names.emplace_back(name.as_string().value_or(""));
    });
  }
  return names;
}

}  // namespace

Result<Classifier> Classifier::create(const LanguageModel& loaded, const ChatLayout& layout,
                                      Classification wanted) {
  Classifier made(loaded, layout, std::move(wanted));
  if (loaded.model.config().makes_text()) {
    KINGLET_TRY(made.use_text());
  } else {
    KINGLET_TRY(made.use_head());
  }
  return made;
}

Status Classifier::use_head() {
  const ModelConfig& config = loaded_->model.config();
  if (config.pooling != Pooling::rank || config.n_labels < 2) {
    return Error{
        ErrorCode::unsupported_feature,
        cat("the model computes ", config.pooling == Pooling::rank ? "one score" : "embeddings",
            ": classification needs a text model, or one whose file names two labels or "
            "more (",
            kLabelsKey, ")")};
  }
  KINGLET_ASSIGN(auto labels, head_labels(loaded_->model.header()));
  // A requested order could not be kept without the caller's noticing: rows are in the head's.
  const bool is_same = std::is_permutation(labels.begin(), labels.end(), wanted_.labels.begin(),
                                           wanted_.labels.end());
  if (!wanted_.labels.empty() && !is_same) {
    return wrong(cat("the labels are ", list_of(wanted_.labels), ", but the file's are ",
                     list_of(labels), "; they may be left out"));
  }
  if (!wanted_.instruction.empty() || !wanted_.examples.empty()) {
    return wrong("the model has a classification head: it reads no instruction and no examples");
  }
  wanted_.labels = std::move(labels);
  encoding_ = {.pooling = Pooling::rank, .normalizes = true};
  return {};
}

Status Classifier::use_text() {
  KINGLET_TRY(check_labels(wanted_.labels));
  KINGLET_TRY(check_examples(wanted_));
  if (wanted_.instruction.empty()) {
    wanted_.instruction = cat(
        "Classify the text. Answer with one of these labels only: ", list_of(wanted_.labels), ".");
  }
  Status has_template = layout_->check();
  is_chat_ = has_template.ok();
  if (!is_chat_ && has_template.error().code != ErrorCode::missing_metadata) return has_template;
  for (const std::string& label : wanted_.labels) {
    const std::string answer = is_chat_ ? label : " " + label;
    encoding_.labels.push_back(loaded_->tokenizer->encode(answer, {.add_bos = false}));
    if (encoding_.labels.back().empty()) {
      return wrong(cat("the label ", in_quotes(label), " has no tokens"));
    }
  }
  encoding_.per_token = wanted_.per_token;
  // Some templates refuse system messages.
  if (is_chat_) has_system_ = chat_tokens("text", {}).ok();
  return {};
}

Result<std::vector<TokenId>> Classifier::tokens(std::string_view text,
                                                const Cancellation& cancellation) const {
  if (encoding_.labels.empty()) {
    return embedding_tokens(*loaded_, text, TooLong::fail, cancellation);
  }
  if (is_chat_) return chat_tokens(text, cancellation);
  std::vector<TokenId> tokens =
      loaded_->tokenizer->encode(plain_prompt(text), {.cancellation = cancellation});
  if (cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
  return tokens;
}

Result<std::vector<TokenId>> Classifier::chat_tokens(std::string_view text,
                                                     const Cancellation& cancellation) const {
  Json messages = Json::array();
  std::string opening;
  if (has_system_) {
    messages.push_back(message("system", wanted_.instruction));
  } else {
    opening = wanted_.instruction + "\n\n";
  }
  for (const auto& example : wanted_.examples) {
    messages.push_back(message("user", std::exchange(opening, "") + example.text));
    messages.push_back(message("assistant", example.label));
  }
  messages.push_back(message("user", opening.append(text)));
  // A label is not what a model thinks first.
  Json variables = {{"messages", std::move(messages)},
                    {"add_generation_prompt", true},
                    {"enable_thinking", false}};
  KINGLET_ASSIGN(const ChatText chat,
                 layout_->lay_out(std::move(variables), Json::array(), cancellation));
  std::vector<TokenId> tokens = loaded_->tokenizer->encode(
      chat.text, {.parse_special = true, .cancellation = cancellation}, chat.said);
  if (cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
  return tokens;
}

std::string Classifier::plain_prompt(std::string_view text) const {
  std::string prompt = wanted_.instruction;
  for (const auto& example : wanted_.examples) {
    prompt += cat("\n\nText: ", example.text, "\nLabel: ", example.label);
  }
  return prompt.append("\n\nText: ").append(text).append("\nLabel:");
}

}  // namespace kinglet
