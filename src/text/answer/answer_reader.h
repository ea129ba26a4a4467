// Parts what a model writes while it writes it: thoughts, answer, calls of tools.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/answer/answer_format.h"

namespace kinglet {

struct AnswerPart {
  enum class Kind : uint8_t {
    text,       // of the answer
    thought,    // what the model thinks before it answers
    call,       // a call begins: `text` is the tool's name
    arguments,  // of the call that began last: a piece of a JSON object
  };
  Kind kind;
  std::string text;
};

// Takes an answer piece by piece. However it is cut, the parts of one kind spell the same. White
// space around thoughts and calls belongs to neither. What looks like a call, but is none of a tool
// that is known, is text. Arguments that the model does not finish, or writes wrongly, end where
// they cannot be read on.
class AnswerReader {
 public:
  // Without `tools` there are no calls. `prompt`: what the answer goes on from, whose end may have
  // begun a thought, or the calls.
  AnswerReader(const AnswerFormat& format, std::vector<KnownTool> tools, std::string_view prompt);

  void push(std::string_view text, std::vector<AnswerPart>& parts);
  void end(std::vector<AnswerPart>& parts);

 private:
  enum class Place : uint8_t { text, thought, calls };

  // Each takes what is certain from held_, and tells whether there is more to take.
  bool advance(std::vector<AnswerPart>& parts);
  bool read_text(std::vector<AnswerPart>& parts);
  bool read_thought(std::vector<AnswerPart>& parts);
  bool read_calls(std::vector<AnswerPart>& parts);
  bool read_one_call(std::vector<AnswerPart>& parts);
  bool give_up_calls(std::vector<AnswerPart>& parts);
  bool skip(size_t n_bytes);

  bool can_think() const;
  bool can_call() const { return !tools_.empty(); }
  void take(size_t n_bytes) { held_.erase(0, n_bytes); }
  void tell_up_to(size_t n_bytes, AnswerPart::Kind kind, std::vector<AnswerPart>& parts);

  AnswerFormat format_;
  std::vector<KnownTool> tools_;
  std::string held_;      // what is not certain yet
  std::string skipped_;   // space, marks and brackets in front of the next call
  size_t n_told_ = 0;     // bytes of the arguments of the call that held_ begins with
  size_t next_read_ = 0;  // bytes that held_ must have before its call is read again
  Place place_ = Place::text;
  bool in_call_ = false;       // the name was told of the call that held_ begins with
  bool drops_space_ = false;   // that the next text or thought begins with
  bool has_called_ = false;    // since the mark in front of calls
  bool has_given_up_ = false;  // what looked like calls was none
  bool has_text_ = false;      // the answer has some
  bool has_ended_ = false;     // nothing follows what is held
};

}  // namespace kinglet
