// Divides the answer to a conversation into text, thoughts and calls while it is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/answer_plan.h"
#include "text/answer/answer_reader.h"

namespace kinglet {

// What a piece of an answer adds to one call.
struct CallDelta {
  size_t index;                     // of the call, from 0
  std::optional<std::string> name;  // of the tool, in the first delta of a call
  std::string arguments;            // more of the JSON object
};

// What a piece of an answer adds.
struct AnswerDelta {
  std::string text;
  std::string thought;
  std::vector<CallDelta> calls;  // one for each call, in order

  bool empty() const { return text.empty() && thought.empty() && calls.empty(); }

  // Adds what the next piece of the same answer adds.
  AnswerDelta& operator+=(AnswerDelta next);
};

class ChatAnswer {
 public:
  explicit ChatAnswer(const AnswerPlan& plan) : reader_(plan.reader()) {}

  // Adds text, and returns what it makes certain.
  AnswerDelta push(std::string_view text);

  // Ends the answer, and returns what was held back.
  AnswerDelta end();

  // See AnswerReader.
  bool has_whole_calls(size_t n_most) const { return reader_.has_whole_calls(n_most); }

  // Returns why the answer ended, if its generation ended for `reason`: a call that is not whole
  // was cut, whatever ended the answer. Only the first `n_most` calls count. To be asked after
  // end().
  FinishReason finish(FinishReason reason, size_t n_most = SIZE_MAX) const;

 private:
  AnswerDelta take_parts();

  AnswerReader reader_;
  std::vector<AnswerPart> parts_;
  size_t n_calls_ = 0;  // begun
};

}  // namespace kinglet
