// What Python's str can do, in characters of UTF-8.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "text/jinja/letters.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

// Characters.
int64_t length(const Text& text);

// The byte at which a character begins; the size for those after the last.
size_t byte_of(const Text& text, int64_t character);

// The bytes of [begin, end) that `strip` leaves of a text: without such characters at its ends,
// white space where there are none.
enum class Ends : uint8_t { both, left, right };
Text strip(const Text& text, std::string_view characters, Ends ends);

// At most `n` of them, -1: all.
Text replace(const Text& text, std::string_view old, const Text& with, int64_t n);

// At most a few more than kMostItems: parts between separators, or between white space without one;
// at most n cuts, -1: all.
List split(const Text& text, const Text* separator, int64_t n);
List split_from_right(const Text& text, const Text* separator, int64_t n);
List split_lines(const Text& text, bool keeps_ends);

Text join(const List& parts, const Text& separator);

// As HTML shows it, but for markup, which is so already.
Value escaped(const Value& value);

// nullopt where a letter is in there whose cases are not here.
std::optional<Text> upper(const Text& text);
std::optional<Text> lower(const Text& text);
std::optional<Text> title(const Text& text);
std::optional<Text> capitalize(const Text& text);
// As the filter `title`: also behind apostrophes letters are small.
std::optional<Text> words_up(const Text& text);
// Whether there are letters, and all of them are so. nullopt: as above.
std::optional<bool> is_case(const Text& text, Case wanted);

bool is_blank(std::string_view character);  // white space of Unicode

// How many bytes of it a text begins with, or ends with.
size_t n_blank_ahead(std::string_view bytes);
size_t n_blank_behind(std::string_view bytes);

}  // namespace kinglet::jinja
