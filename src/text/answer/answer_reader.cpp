#include "text/answer/answer_reader.h"

#include <algorithm>
#include <utility>

#include "text/answer/marks.h"

namespace kinglet {

namespace {

constexpr size_t kNowhere = std::string::npos;

size_t find_mark(const std::string& text, std::string_view mark) {
  return mark.empty() ? kNowhere : text.find(mark);
}

// Returns how many bytes of `text` are certain while one of two marks may follow. Space in front of
// a mark is not part of the text, so space at the end of `text` has to wait.
size_t certain_size(std::string_view text, std::string_view mark, std::string_view other) {
  const size_t n_open = std::max(unfinished_mark(text, mark), unfinished_mark(text, other));
  return without_trailing_space(text.substr(0, text.size() - n_open)).size();
}

// Returns `text` without leading space and Llama 3's tag. An answer that begins like JSON, with or
// without the tag, may be Llama 3's calls.
std::string_view behind_python_tag(std::string_view text) {
  text = without_leading_space(text);
  return text.starts_with(kPythonTag) ? without_leading_space(text.substr(kPythonTag.size()))
                                      : text;
}

// Whether the name of a tool and an object begin the text.
Reading begins_named_line(std::string_view text, const std::vector<KnownTool>& tools) {
  Reading read = Reading::broken;
  for (const KnownTool& tool : tools) {
    if (text.starts_with(tool.name)) {
      const std::string_view rest = without_leading_space(text.substr(tool.name.size()));
      if (rest.starts_with('{')) return Reading::whole;
      if (rest.empty()) read = Reading::open;
    } else if (tool.name.starts_with(text)) {
      read = Reading::open;
    }
  }
  return read;
}

}  // namespace

AnswerReader::AnswerReader(const AnswerFormat& format, std::vector<KnownTool> tools,
                           std::string_view prompt)
    : format_(format), tools_(std::move(tools)) {
  prompt = without_trailing_space(prompt);
  if (format_.is_thinking_after(prompt)) {
    place_ = Place::thought;
    drops_space_ = true;
  } else if (can_call() && !format_.calls.begin.empty() && prompt.ends_with(format_.calls.begin)) {
    place_ = Place::calls;
  }
}

void AnswerReader::push(std::string_view text, std::vector<AnswerPart>& parts) {
  held_ += text;
  while (advance(parts)) {
  }
}

void AnswerReader::end(std::vector<AnswerPart>& parts, bool was_cut) {
  has_ended_ = true;
  was_cut_ = was_cut;
  while (advance(parts)) {
  }
}

bool AnswerReader::has_whole_calls(size_t n_most) const {
  return n_calls_ > 0 && n_whole_ >= std::min(n_calls_, n_most);
}

bool AnswerReader::advance(std::vector<AnswerPart>& parts) {
  switch (place_) {
    case Place::text:
      return read_text(parts);
    case Place::thought:
      return read_thought(parts);
    case Place::calls:
      return read_calls(parts);
  }
  return false;
}

// Reports the first bytes of held_ as a part, and takes them.
void AnswerReader::tell_up_to(size_t n_bytes, AnswerPart::Kind kind,
                              std::vector<AnswerPart>& parts) {
  if (drops_space_) {
    const std::string_view all = std::string_view(held_).substr(0, n_bytes);
    const size_t n_space = n_bytes - without_leading_space(all).size();
    take(n_space);
    n_bytes -= n_space;
  }
  if (n_bytes == 0) return;
  drops_space_ = false;
  if (kind == AnswerPart::Kind::text) has_text_ = true;
  parts.push_back({kind, held_.substr(0, n_bytes)});
  take(n_bytes);
}

// A mark that text can spell begins a thought only at the start of the answer; later it is text.
bool AnswerReader::can_think() const {
  return format_.thoughts && (!has_text_ || !format_.thoughts->token.empty());
}

bool AnswerReader::read_text(std::vector<AnswerPart>& parts) {
  if (can_call() && format_.calls.begin.empty() && !has_text_ && !has_given_up_) {
    const std::string_view rest = behind_python_tag(held_);
    if (rest.starts_with('{') || rest.starts_with('[')) {
      place_ = Place::calls;
      return skip(held_.size() - rest.size());
    }
    if (!has_ended_ && kPythonTag.starts_with(rest)) return false;
    const Reading named = format_.calls.syntax == CallSyntax::named_line
                              ? begins_named_line(rest, tools_)
                              : Reading::broken;
    if (named == Reading::whole) {
      place_ = Place::calls;
      return skip(held_.size() - rest.size());
    }
    if (!has_ended_ && named == Reading::open) return false;
  }
  const std::string_view thought = can_think() ? format_.thoughts->begin : std::string_view();
  const std::string_view calls = can_call() ? format_.calls.begin : std::string_view();
  const size_t at_thought = find_mark(held_, thought);
  const size_t at_calls = find_mark(held_, calls);
  if (at_thought == kNowhere && at_calls == kNowhere) {
    if (has_ended_ && has_called_) drop_cut_mark();
    const bool is_certain = has_ended_ || (thought.empty() && calls.empty());
    tell_up_to(is_certain ? held_.size() : certain_size(held_, thought, calls),
               AnswerPart::Kind::text, parts);
    return false;
  }
  const size_t n_text =
      without_trailing_space(std::string_view(held_).substr(0, std::min(at_thought, at_calls)))
          .size();
  if (at_thought < at_calls) {
    if (n_text > 0 && format_.thoughts->token.empty()) {
      tell_up_to(at_thought + thought.size(), AnswerPart::Kind::text, parts);
      return true;
    }
    tell_up_to(n_text, AnswerPart::Kind::text, parts);
    take(held_.find(thought) + thought.size());
    place_ = Place::thought;
    drops_space_ = true;
    return true;
  }
  tell_up_to(n_text, AnswerPart::Kind::text, parts);
  place_ = Place::calls;
  has_called_ = false;
  return skip(held_.find(calls) + calls.size());
}

bool AnswerReader::read_thought(std::vector<AnswerPart>& parts) {
  const std::string_view end = format_.thoughts->end;
  // Qwen 3.5 may call tools without ending its thought.
  const CallSyntax syntax = format_.calls.syntax;
  const bool has_parameters =
      syntax == CallSyntax::parameters || syntax == CallSyntax::inline_parameters;
  const bool ends_with_call = can_call() && has_parameters;
  const std::string_view call = ends_with_call ? format_.calls.begin : std::string_view();
  const size_t at_end = find_mark(held_, end);
  const size_t at_call = find_mark(held_, call);
  if (at_end == kNowhere && at_call == kNowhere) {
    const size_t n_certain =
        has_ended_ ? without_trailing_space(held_).size() : certain_size(held_, end, call);
    tell_up_to(n_certain, AnswerPart::Kind::thought, parts);
    return false;
  }
  const std::string_view thought = std::string_view(held_).substr(0, std::min(at_end, at_call));
  tell_up_to(without_trailing_space(thought).size(), AnswerPart::Kind::thought, parts);
  if (at_end < at_call) take(held_.find(end) + end.size());
  place_ = Place::text;
  drops_space_ = true;
  return true;
}

// Reads the marks, brackets and space around calls; inside a call, reads on in that call.
bool AnswerReader::read_calls(std::vector<AnswerPart>& parts) {
  if (in_broken_call_) return read_broken_call(parts);
  if (in_call_) return read_one_call(parts);
  const CallMarks& marks = format_.calls;
  const std::string_view held = held_;
  if (held.empty()) {
    if (!has_ended_ || has_called_) return false;
    return end_cut_call(parts);
  }
  if (is_space(held[0])) return skip(1);
  if (!marks.end.empty() && held.starts_with(marks.end)) {
    if (!has_called_) return give_up_calls(parts);
    take(marks.end.size());
    skipped_.clear();
    place_ = Place::text;
    drops_space_ = true;
    return true;
  }
  if (!marks.begin.empty() && held.starts_with(marks.begin)) return skip(marks.begin.size());
  const bool may_be_mark = marks.end.starts_with(held) || marks.begin.starts_with(held);
  if (may_be_mark && !has_ended_) return false;
  if (may_be_mark && has_called_) {
    held_.clear();
    return false;
  }
  if (held[0] == '[' || held[0] == ',' || held[0] == ']') return skip(1);
  if (held[0] == ';' && has_called_) return skip(1);  // between calls of Llama 3
  return read_one_call(parts);
}

bool AnswerReader::read_one_call(std::vector<AnswerPart>& parts) {
  // A call is read again from its beginning each time. A long call waits for some more bytes first,
  // so that the total work stays proportional to its length.
  if (held_.size() < next_read_ && !has_ended_) return false;
  next_read_ = held_.size() + held_.size() / 64;
  const CallPrefix call = read_call(format_.calls.syntax, held_, format_.calls.quote, tools_);
  const bool is_call =
      !call.name.empty() && (call.reading == Reading::whole || !call.arguments.empty());
  if (!in_call_) {
    const bool is_unknown = is_call && find_tool(tools_, call.name) == nullptr;
    const bool is_cut = has_ended_ && !is_call;
    if (is_cut && call.reading == Reading::open) return end_cut_call(parts);
    if (is_unknown || is_cut || (call.reading == Reading::broken && !is_call)) {
      return give_up_calls(parts);
    }
    if (!is_call) return false;
    parts.push_back({AnswerPart::Kind::call, call.name});
    ++n_calls_;
    in_call_ = true;
    has_called_ = true;
    skipped_.clear();
    n_told_ = 0;
  }
  if (call.arguments.size() > n_told_) {
    parts.push_back({AnswerPart::Kind::arguments, call.arguments.substr(n_told_)});
    n_told_ = call.arguments.size();
  }
  if (call.reading == Reading::open) return false;
  take(call.n_bytes);
  next_read_ = 0;
  in_call_ = false;
  // Small models forget the brace that ends a call after its arguments.
  if (call.reading == Reading::whole || call.has_whole_arguments) {
    if (n_whole_ + 1 == n_calls_ && is_json_object(call.arguments)) ++n_whole_;
    return true;
  }
  in_broken_call_ = true;
  return true;
}

// Reports what cannot be read, up to a mark of calls, as arguments.
bool AnswerReader::read_broken_call(std::vector<AnswerPart>& parts) {
  const CallMarks& marks = format_.calls;
  const size_t at_mark = std::min(find_mark(held_, marks.end), find_mark(held_, marks.begin));
  in_broken_call_ = at_mark == kNowhere;
  const std::string_view text = std::string_view(held_).substr(0, at_mark);
  const size_t n_certain = has_ended_ || !in_broken_call_
                               ? without_trailing_space(text).size()
                               : certain_size(text, marks.end, marks.begin);
  tell_up_to(n_certain, AnswerPart::Kind::arguments, parts);
  return !in_broken_call_;
}

// Treats held_ as text, and also what was skipped, if no call followed it.
bool AnswerReader::give_up_calls(std::vector<AnswerPart>& parts) {
  const size_t n_skipped = has_called_ ? 0 : skipped_.size();
  if (n_skipped > 0) held_.insert(0, skipped_);
  skipped_.clear();
  drops_space_ = drops_space_ || has_called_;
  place_ = Place::text;
  has_given_up_ = true;
  next_read_ = 0;
  tell_up_to(n_skipped, AnswerPart::Kind::text, parts);
  return true;
}

// Counts a call without arguments at the end of the answer, so that the answer is not whole. Its
// text is shown only if the model left it so and has made no whole call.
bool AnswerReader::end_cut_call(std::vector<AnswerPart>& parts) {
  ++n_calls_;
  const bool is_marked = find_mark(skipped_, format_.calls.begin) != kNowhere;
  if (!is_marked || (n_whole_ == 0 && !was_cut_)) return give_up_calls(parts);
  held_.clear();
  return false;
}

// Drops the beginning of a mark at the end of an answer that has called: the next call was cut.
void AnswerReader::drop_cut_mark() {
  const size_t n_open = unfinished_mark(held_, format_.calls.begin);
  if (n_open == 0) return;
  held_.resize(held_.size() - n_open);
  ++n_calls_;
}

bool AnswerReader::skip(size_t n_bytes) {
  skipped_ += held_.substr(0, n_bytes);
  take(n_bytes);
  return true;
}

}  // namespace kinglet
