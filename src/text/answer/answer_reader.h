// Splits what a model writes, while it writes, into thoughts, answer text and calls of tools.
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
    call,       // the beginning of a call: `text` is the tool's name
    arguments,  // a piece of the arguments of the last call: part of a JSON object
  };
  Kind kind;
  std::string text;
};

// Takes an answer piece by piece. However the answer is cut into pieces, the parts of each kind
// spell the same text. White space around thoughts and calls is dropped. What looks like a call,
// but does not call a known tool, is text; so is a call that ends before its arguments, except if
// the answer was cut there, or after whole calls: then it is dropped. If a call can no longer be
// read after its name was reported, the rest of its text, up to the next mark of calls, is reported
// as arguments.
class AnswerReader {
 public:
  // If `tools` is empty there are no calls. `prompt`: the text that the answer continues; its end
  // may have begun a thought or the calls.
  AnswerReader(const AnswerFormat& format, std::vector<KnownTool> tools, std::string_view prompt);

  void push(std::string_view text, std::vector<AnswerPart>& parts);
  // `was_cut`: the model had not ended the answer.
  void end(std::vector<AnswerPart>& parts, bool was_cut = false);

  // Whether the text so far has begun a thought, and not ended it.
  bool is_thinking() const { return place_ == Place::thought; }

  // Whether there are calls, and the first `n_most` of them are whole: neither cut by the end of
  // the answer nor written wrongly, and with arguments that are the JSON of an object. To be asked
  // after end().
  bool has_whole_calls(size_t n_most) const;

 private:
  enum class Place : uint8_t { text, thought, calls };

  // Each of these takes from held_ what is certain, and returns whether there may be more to take.
  bool advance(std::vector<AnswerPart>& parts);
  bool read_text(std::vector<AnswerPart>& parts);
  bool read_thought(std::vector<AnswerPart>& parts);
  bool read_calls(std::vector<AnswerPart>& parts);
  bool read_one_call(std::vector<AnswerPart>& parts);
  bool read_broken_call(std::vector<AnswerPart>& parts);
  bool give_up_calls(std::vector<AnswerPart>& parts);
  bool end_cut_call(std::vector<AnswerPart>& parts);
  void drop_cut_mark();
  bool skip(size_t n_bytes);

  bool can_think() const;
  bool can_call() const { return !tools_.empty(); }
  void take(size_t n_bytes) { held_.erase(0, n_bytes); }
  void tell_up_to(size_t n_bytes, AnswerPart::Kind kind, std::vector<AnswerPart>& parts);

  AnswerFormat format_;
  std::vector<KnownTool> tools_;
  std::string held_;      // what is not certain yet
  std::string skipped_;   // space, marks and brackets in front of the next call
  size_t n_told_ = 0;     // bytes of arguments already reported for the call at the start of held_
  size_t next_read_ = 0;  // bytes that held_ must have before its call is read again
  Place place_ = Place::text;
  size_t n_calls_ = 0;           // calls begun
  size_t n_whole_ = 0;           // how many of them, from the first, are whole
  bool in_call_ = false;         // the name of the call at the start of held_ was reported
  bool in_broken_call_ = false;  // so was its beginning, and the rest cannot be read
  bool drops_space_ = false;     // drop the space that the next text or thought begins with
  bool has_called_ = false;      // there was a call since the mark that begins calls
  bool has_given_up_ = false;    // what looked like calls was text
  bool has_text_ = false;        // some text of the answer was reported
  bool has_ended_ = false;       // nothing follows held_
  bool was_cut_ = false;         // see end()
};

}  // namespace kinglet
