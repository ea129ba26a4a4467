// Says which of some labels fits a text: what a model computes for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "answers/encoding_run.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "chat/chat_layout.h"
#include "session/language_model.h"
#include "text/vocabulary.h"

namespace kinglet {

// The most labels of a classification.
constexpr size_t kMostLabels = 1000;

struct LabelledText {
  std::string text;
  std::string label;
};

struct Classification {
  std::vector<std::string> labels = {};  // empty: those of the file's head
  std::string instruction = {};          // empty: one that lists the labels
  std::vector<LabelledText> examples = {};
  // A label's score is the mean of its tokens' log probabilities instead of their sum: else long
  // labels are less probable.
  bool per_token = false;
};

// A text model reads a prompt, and its probabilities of the labels as answers to it are scaled to
// the sum 1. The prompt is a conversation: the instruction is the system message, each example is a
// question with its answer, and the text is the last question. Without a chat template, these
// follow one another in plain text. A model with a classification head reads only the text.
class Classifier {
 public:
  // `loaded` and `layout` must outlive the object. Errors: invalid_argument (fewer than two labels,
  // an empty one, or the same twice; for a model with a head: labels that are not the head's, or
  // any instruction or example); unsupported_feature (the model makes vectors, or one score);
  // those of ChatLayout.
  static Result<Classifier> create(const LanguageModel& loaded, const ChatLayout& layout,
                                   Classification wanted);

  // In the order of the rows of the encoding.
  const std::vector<std::string>& labels() const { return wanted_.labels; }

  // The tokens to compute for a text. Errors: prompt_too_long, cancelled; those of ChatLayout.
  Result<std::vector<TokenId>> tokens(std::string_view text,
                                      const Cancellation& cancellation = {}) const;

  // What to compute; the texts are to be added. The row of each text has the probabilities of the
  // labels.
  const Encoding& encoding() const { return encoding_; }

 private:
  Classifier(const LanguageModel& loaded, const ChatLayout& layout, Classification wanted)
      : loaded_(&loaded), layout_(&layout), wanted_(std::move(wanted)) {}

  Status use_head();
  Status use_text();
  Result<std::vector<TokenId>> chat_tokens(std::string_view text,
                                           const Cancellation& cancellation) const;
  std::string plain_prompt(std::string_view text) const;

  const LanguageModel* loaded_;
  const ChatLayout* layout_;
  Classification wanted_;
  Encoding encoding_;
  bool is_chat_ = false;
  bool has_system_ = true;  // the template takes a system message
};

}  // namespace kinglet
