// Source: Jinja's documentation of `wordwrap`, and Python's of its module textwrap, which says
// where a line may end.
#include "text/jinja/word_wrap.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/format.h"
#include "base/utf8.h"
#include "text/jinja/arguments.h"
#include "text/jinja/strings.h"
#include "text/jinja/work.h"
#include "text/unicode_table.h"

namespace kinglet::jinja {
namespace {

struct WrapOptions {
  size_t width = 0;             // the most characters of a line
  bool breaks_words = true;     // that are longer than a line
  bool ends_at_hyphens = true;  // lines may end behind a hyphen
};

// Wraps a text without line breaks.
class LineWrapper {
 public:
  LineWrapper(const Text& text, const WrapOptions& options) : text_(text), options_(options) {
    const std::string_view bytes = text.bytes();
    for (size_t at = 0; at < bytes.size();) {
      const Utf8Char character = decode_utf8(bytes.substr(at));
      places_.push_back(at);
      codes_.push_back(character.code_point);
      at += character.n_bytes;
    }
    places_.push_back(bytes.size());
  }

  void append_to(List& lines) {
    const std::vector<size_t> ends = piece_ends();
    size_t begin = 0;  // of the rest of the text
    bool is_first = true;
    for (size_t next = 0; begin < codes_.size() && Work::spend(4 * kOfItem);) {
      if (!is_first && is_all_blank(begin, ends[next])) begin = ends[next++];
      size_t end = begin;
      size_t last_begin = begin;  // of the last piece on the line
      while (next < ends.size() && ends[next] - begin <= options_.width) {
        last_begin = end;
        end = ends[next++];
      }
      if (next < ends.size() && ends[next] - end > options_.width) {
        const size_t cut = cut_long(begin, end, ends[next]);
        if (options_.breaks_words || cut > end) {
          last_begin = end;  // also if nothing fits: as in Python, blanks then stay
          end = cut;
          if (end == ends[next]) ++next;
        }
      }
      const size_t rest = end;
      if (end > last_begin && is_all_blank(last_begin, end)) end = last_begin;
      if (end > begin) {
        lines.push_back(Value::text(text_.cut(places_[begin], places_[end])));
        is_first = false;
      }
      begin = rest;
    }
  }

 private:
  bool has(size_t at, uint16_t traits) const {
    return at < codes_.size() && (UnicodeTable::get().traits(codes_[at]) & traits) != 0;
  }
  bool is(size_t at, char32_t code) const { return at < codes_.size() && codes_[at] == code; }
  bool is_space(size_t at) const { return is(at, ' ') || is(at, '\t'); }
  bool is_in_word(size_t at) const {
    return is(at, '_') || has(at, trait::kLetter | trait::kNumber);
  }
  bool is_letter_at(size_t at) const { return is(at, '_') || has(at, trait::kLetter); }
  // The same for the character that is `n` before a place.
  bool is_letter_before(size_t at, size_t n) const { return at >= n && is_letter_at(at - n); }

  bool may_stand_before_dash(size_t at) const {
    constexpr std::u32string_view kPunctuation = U"!\"'&.,?";
    return at > 0 && (is_in_word(at - 1) || kPunctuation.find(codes_[at - 1]) != kPunctuation.npos);
  }

  // Whether a dash of several hyphens is between a word and another. Returns its end, or 0.
  size_t end_of_dash(size_t at) const {
    if (!is(at, '-') || !is(at + 1, '-') || !may_stand_before_dash(at)) return 0;
    size_t end = at;
    while (is(end, '-')) ++end;
    return is_in_word(end) ? end : 0;
  }

  // Whether a line may end behind the hyphen here: "well-|known", "a-b-|c".
  bool is_inner_hyphen(size_t at) const {
    const bool follows_letters =
        is_letter_before(at, 1) &&
        (is_letter_before(at, 2) || (at >= 3 && is(at - 2, '-') && is_letter_before(at, 3)));
    const bool precedes_letters =
        is_letter_at(at + 1) && (is_letter_at(at + 2) || (is(at + 2, '-') && is_letter_at(at + 3)));
    return follows_letters && precedes_letters;
  }

  // Returns where the piece ends that begins here: blanks, a dash, or a word or a part of one.
  size_t end_of_piece(size_t at) const {
    const size_t n = codes_.size();
    if (is_space(at)) {
      while (is_space(at)) ++at;
      return at;
    }
    if (options_.ends_at_hyphens) {
      if (const size_t end = end_of_dash(at)) return end;
    }
    for (++at; at < n && !is_space(at); ++at) {
      if (!options_.ends_at_hyphens || !is(at, '-')) continue;
      if (is_inner_hyphen(at)) return at + 1;
      if (end_of_dash(at) != 0) return at;
    }
    return at;
  }

  std::vector<size_t> piece_ends() const {
    std::vector<size_t> ends;
    for (size_t at = 0; at < codes_.size();) {
      at = end_of_piece(at);
      ends.push_back(at);
    }
    return ends;
  }

  // Returns where a line ends that began at `line`, goes on with a piece [begin, end), and has no
  // room for all of it.
  size_t cut_long(size_t line, size_t begin, size_t end) const {
    if (!options_.breaks_words) return begin == line ? end : begin;
    const size_t most = options_.width - (begin - line);
    size_t hyphen = options_.ends_at_hyphens ? most : 0;
    while (hyphen > 0 && !is(begin + hyphen - 1, '-')) --hyphen;
    // Not behind hyphens with which the piece begins.
    size_t n_leading = 0;
    while (n_leading < hyphen && is(begin + n_leading, '-')) ++n_leading;
    return begin + (n_leading < hyphen ? hyphen : most);
  }

  bool is_all_blank(size_t begin, size_t end) const {
    for (size_t at = begin; at < end; ++at) {
      const size_t n = places_[at + 1] - places_[at];
      if (!is_blank(std::string_view(text_.bytes()).substr(places_[at], n))) return false;
    }
    return true;
  }

  const Text& text_;
  const WrapOptions& options_;
  std::vector<size_t> places_;   // where each character begins, and the end
  std::vector<char32_t> codes_;  // of the characters
};

}  // namespace

Result<Value> wordwrap_filter(Arguments& arguments) {
  ArgumentReader reader("wordwrap", arguments);
  const int64_t width = reader.take_integer("width", 79);
  WrapOptions options;
  options.breaks_words = reader.take_truth("break_long_words", true);
  const Value* between = reader.take("wrapstring");
  options.ends_at_hyphens = reader.take_truth("break_on_hyphens", true);
  KINGLET_TRY(reader.check_end());
  const Value& value = filtered(arguments);
  if (!value.is(Kind::text))
    return refusal(cat("wordwrap: expected str, found ", value.type_name()));
  const bool is_default = between == nullptr || between->is(Kind::none);
  if (!is_default && !between->is(Kind::text))
    return refusal("wordwrap: expected str as wrapstring");
  const List paragraphs = split_lines(value.as_text(), false);
  if (width <= 0 && !paragraphs.empty()) return refusal("wordwrap: expected a width of at least 1");
  options.width = static_cast<size_t>(width);
  List lines;
  for (const Value& paragraph : paragraphs) {
    const size_t n_before = lines.size();
    LineWrapper(paragraph.as_text(), options).append_to(lines);
    if (lines.size() == n_before) lines.push_back(Value::text(""));
    if (lines.size() > kMostItems) return refusal("wordwrap: too many lines");
  }
  return Value::text(join(lines, is_default ? Text("\n") : between->as_text()));
}

}  // namespace kinglet::jinja
