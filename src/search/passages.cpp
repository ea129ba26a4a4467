#include "search/passages.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/utf8.h"

namespace kinglet {
namespace {

// A sentence, a line, or a part of one that is too long for a passage.
struct Unit {
  Passage place;
  size_t n_tokens;  // with the space before it
  bool opens;       // begins a block: a paragraph, a heading, an item of a list
  bool is_heading;
};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Returns the place without the space around it, which may leave nothing.
Passage trimmed(std::string_view text, Passage place) {
  while (place.begin < place.end && is_space(text[place.begin])) ++place.begin;
  while (place.begin < place.end && is_space(text[place.end - 1])) --place.end;
  return place;
}

// Whether a line, without the space at its beginning, begins a block even without a blank line
// before it: headings, items of lists, quotes, tables.
bool begins_block(std::string_view line) {
  if (line.starts_with(">") || line.starts_with("|") || line.starts_with("#")) return true;
  if (line.starts_with("\xe2\x80\xa2")) return true;  // •
  const size_t n_digits = std::min(line.find_first_not_of("0123456789"), line.size());
  const size_t mark = n_digits;
  const std::string_view marks = n_digits == 0 ? "-*+" : ".)";
  return n_digits <= 3 && mark + 1 < line.size() && marks.find(line[mark]) != marks.npos &&
         is_space(line[mark + 1]);
}

// "# " to "###### ", as in Markdown.
bool is_heading(std::string_view line) {
  const size_t level = line.find_first_not_of('#');
  return level != line.npos && level >= 1 && level <= 6 && is_space(line[level]);
}

bool begins_fence(std::string_view line) {
  return line.starts_with("```") || line.starts_with("~~~");
}

// A run of lines that belong together.
struct Block {
  Passage place;
  bool is_heading = false;
  bool is_code = false;  // between fences: its lines are the units
};

// A blank line ends a block, and so does a heading; the lines of a fence are one block.
std::vector<Block> blocks_of(std::string_view text) {
  std::vector<Block> blocks;
  bool is_open = false;  // whether the next line may continue the last block
  bool is_fenced = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const Passage line = {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
    begin = end;
    const std::string_view content = trimmed(text, line).of(text);
    const bool is_fence = begins_fence(content);
    if (is_fenced) {
      blocks.back().place.end = line.end;
      is_fenced = !is_fence;
      is_open = is_fenced;
    } else if (content.empty()) {
      is_open = false;
    } else if (is_open && !is_fence && !begins_block(content)) {
      blocks.back().place.end = line.end;
    } else {
      blocks.push_back({line, is_heading(content), is_fence});
      is_fenced = is_fence;
      is_open = !blocks.back().is_heading;
    }
  }
  return blocks;
}

// Whether a sentence ends with this character, whatever follows: full stops of Chinese, Japanese
// and Indic scripts.
bool ends_sentence(char32_t c) {
  return c == U'。' || c == U'！' || c == U'？' || c == U'।' || c == U'॥';
}

// Whether a sentence ends with this character if space follows.
bool may_end_sentence(char32_t c) {
  return c == '.' || c == '!' || c == '?' || c == U'…' || c == U'؟' || c == U'۔';
}

// What may follow a full stop within its sentence.
bool closes(char32_t c) {
  return c == '"' || c == '\'' || c == ')' || c == ']' || c == U'”' || c == U'’' || c == U'»' ||
         c == U'」' || c == U'』' || c == U'）';
}

// "Dr.", "e.g.", "A.": a full stop after them ends no sentence. Some sentences stay together so.
bool is_abbreviation(std::string_view before) {
  const size_t space = before.find_last_of(" \t\n(");
  const std::string_view word = space == before.npos ? before : before.substr(space + 1);
  if (word.size() == 1) return true;
  if (word.find('.') != word.npos) return is_letter(word.back());
  constexpr std::string_view kKnown[] = {"Mr", "Mrs", "Ms", "Dr",  "Prof", "St", "No",
                                         "vs", "etc", "cf", "Fig", "fig",  "pp"};
  return is_among(word, kKnown);
}

// Calls f(place) for each sentence of a block, without the space around it.
template <class F>
void for_each_sentence(std::string_view text, Passage block, const F& f) {
  const auto add = [&](uint32_t begin, uint32_t end) {
    const Passage place = trimmed(text, {begin, end});
    if (place.begin < place.end) f(place);
  };
  uint32_t begin = block.begin;
  bool has_ended = false;  // a full stop was found; only what closes may follow
  bool needs_space = false;
  for (uint32_t i = block.begin; i < block.end;) {
    const Utf8Char c = decode_utf8(text.substr(i));
    if (has_ended && !closes(c.code_point) && !may_end_sentence(c.code_point) &&
        !ends_sentence(c.code_point)) {
      if (!needs_space || is_space(text[i])) {
        add(begin, i);
        begin = i;
      }
      has_ended = false;
    }
    if (ends_sentence(c.code_point)) {
      has_ended = true;
      needs_space = false;
    } else if (may_end_sentence(c.code_point)) {
      needs_space = !has_ended || needs_space;
      has_ended =
          has_ended || c.code_point != '.' || !is_abbreviation(text.substr(begin, i - begin));
    }
    i += static_cast<uint32_t>(c.n_bytes);
  }
  add(begin, block.end);
}

template <class F>
void for_each_line(std::string_view text, Passage place, const F& f) {
  for (uint32_t begin = place.begin; begin < place.end;) {
    const size_t found = std::min<size_t>(text.find('\n', begin), place.end - 1);
    const auto end = static_cast<uint32_t>(found + 1);
    const Passage line = trimmed(text, {begin, end});
    if (line.begin < line.end) f(line);
    begin = end;
  }
}

// A longer "sentence", in bytes, is taken for lines without full stops.
constexpr uint32_t kLongSentence = 400;

// Bytes of a blank line between two paragraphs.
constexpr uint32_t kCountedSpace = 2;

class Cutter {
 public:
  Cutter(std::string_view text, const PassageOptions& options) : text_(text), options_(options) {}

  std::vector<Passage> cut() {
    for (const Block& block : blocks_of(text_)) add_block(block);
    std::vector<Passage> passages;
    for (size_t first = 0; first < units_.size();) {
      size_t end = end_of_passage(first);
      // Joined units may have more tokens than each for itself.
      while (end - first > 1 && n_tokens_of(first, end) > options_.max_tokens) --end;
      passages.push_back({units_[first].place.begin, units_[end - 1].place.end});
      first = end < units_.size() ? next_first(first, end) : end;
    }
    return passages;
  }

 private:
  void add_block(const Block& block) {
    const size_t n_before = units_.size();
    const auto add = [&](Passage place) { add_unit(place, block.is_heading); };
    if (block.is_code) {
      for_each_line(text_, block.place, add);
    } else {
      for_each_sentence(text_, block.place, [&](Passage sentence) {
        if (sentence.end - sentence.begin > kLongSentence) {
          for_each_line(text_, sentence, add);
        } else {
          add(sentence);
        }
      });
    }
    if (units_.size() > n_before) units_[n_before].opens = true;
  }

  // Adds a unit; if it is too long, its halves, cut between words where there are any.
  void add_unit(Passage place, bool is_heading) {
    // With the space before it, which is part of a passage.
    const uint32_t before = std::min<uint32_t>(
        place.begin - (units_.empty() ? 0 : units_.back().place.end), kCountedSpace);
    const size_t n_tokens =
        options_.count_tokens(Passage{place.begin - before, place.end}.of(text_));
    const uint32_t middle = n_tokens > options_.max_tokens ? middle_of(place) : place.begin;
    if (middle == place.begin) {
      units_.push_back({place, n_tokens, false, is_heading});
      return;
    }
    for (const Passage half : {Passage{place.begin, middle}, Passage{middle, place.end}}) {
      const Passage part = trimmed(text_, half);
      if (part.begin < part.end) add_unit(part, is_heading);
    }
  }

  // Returns the space that is nearest to the middle, or else a border of characters near it; the
  // beginning if there is only one character.
  uint32_t middle_of(Passage place) const {
    const uint32_t middle = place.begin + (place.end - place.begin) / 2;
    for (uint32_t i = 0; middle + i < place.end && i < middle - place.begin; ++i) {
      if (is_space(text_[middle + i])) return middle + i;
      if (is_space(text_[middle - i])) return middle - i;
    }
    uint32_t border = place.begin;
    for (uint32_t i = place.begin; i < place.end && (border == place.begin || i <= middle);) {
      if (i > place.begin) border = i;
      i += static_cast<uint32_t>(decode_utf8(text_.substr(i)).n_bytes);
    }
    return border;
  }

  size_t n_tokens_of(size_t first, size_t end) const {
    const Passage place = {units_[first].place.begin, units_[end - 1].place.end};
    return options_.count_tokens(place.of(text_));
  }

  // Returns the index after the last unit of the passage that begins with unit `first`.
  size_t end_of_passage(size_t first) const {
    size_t n_tokens = 0;
    size_t end = first;
    size_t last_block = first;  // ends the passage where it is at least half full
    for (; end < units_.size(); ++end) {
      const Unit& unit = units_[end];
      if (end > first && n_tokens + unit.n_tokens > options_.max_tokens) break;
      const bool is_full = end > first && n_tokens >= options_.max_tokens / 2;
      if (unit.opens && is_full && !units_[end - 1].is_heading) last_block = end;
      n_tokens += unit.n_tokens;
    }
    if (end < units_.size() && !units_[end].opens && last_block > first) return last_block;
    // Headings at the end belong to what follows.
    while (end < units_.size() && end - 1 > first && units_[end - 1].is_heading) --end;
    return end;
  }

  // Returns the first unit of the passage after the one from `first` to `end`.
  size_t next_first(size_t first, size_t end) const {
    if (units_[end].opens) return end;
    // The repeated sentences must leave room for a new one.
    const size_t n_next = std::min(units_[end].n_tokens, options_.max_tokens);
    size_t room = std::min(options_.overlap, options_.max_tokens - n_next);
    size_t begin = end;
    while (begin - 1 > first && units_[begin - 1].n_tokens <= room) {
      room -= units_[--begin].n_tokens;
    }
    return begin;
  }

  std::string_view text_;
  const PassageOptions& options_;
  std::vector<Unit> units_;
};

}  // namespace

std::vector<Passage> cut_passages(std::string_view text, const PassageOptions& options) {
  return Cutter(text, options).cut();
}

}  // namespace kinglet
