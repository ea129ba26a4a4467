// The functions of Python's str. Characters are UTF-8.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "text/jinja/letters.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace kinglet::jinja {

// Returns the value's text, and counts the work of looking at its characters.
Text characters_of(const Value& value);

// Returns the number of characters.
int64_t length(const Text& text);

// Returns the byte at which a character begins; the size of the text for characters after the last.
size_t byte_of(const Text& text, int64_t character);

// Returns the text without such characters at its ends. If `characters` is empty, removes white
// space.
enum class Ends : uint8_t { both, left, right };
Text strip(const Text& text, std::string_view characters, Ends ends);

// Replaces at most `n` occurrences of `old`; -1: all.
Text replace(const Text& text, std::string_view old, const Text& with, int64_t n);

// Split a text at a separator, or at white space if `separator` is null. They cut at most `n` times
// (-1: no limit) and return at most a few more than kMostItems parts.
List split(const Text& text, const Text* separator, int64_t n);
List split_from_right(const Text& text, const Text* separator, int64_t n);
List split_lines(const Text& text, bool keeps_ends);

Text join(const List& parts, const Text& separator);

// Returns the value's text as markup, escaped for HTML. Markup stays as it is.
Value escaped(const Value& value);

// These return nullopt if the text has a letter whose case is not known (Case::unknown).
std::optional<Text> upper(const Text& text);
std::optional<Text> lower(const Text& text);
std::optional<Text> title(const Text& text);
std::optional<Text> capitalize(const Text& text);
// Like the filter `title`: unlike title(), letters after an apostrophe become lower case.
std::optional<Text> words_up(const Text& text);
// Whether there are letters with case, and all of them are of case `wanted`. nullopt: as above.
std::optional<bool> is_case(const Text& text, Case wanted);

bool is_blank(std::string_view character);  // white space of Unicode

// Return how many bytes of white space a text begins with, or ends with.
size_t n_blank_ahead(std::string_view bytes);
size_t n_blank_behind(std::string_view bytes);

}  // namespace kinglet::jinja
