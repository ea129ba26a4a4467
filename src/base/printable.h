// Makes text of others, such as that of files, models and servers, safe for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace kinglet {

enum class Lines : bool { escaped, kept };

// Returns the text with escapes (\x1b, \u202e) for everything that could control a terminal or
// change the order in which it shows the text: control characters (C0, DEL and C1), line and
// paragraph separators, embeddings, overrides and isolates of directions, and bytes that are no
// UTF-8. Lines::kept: tabs and line feeds stay, and carriage returns are left out.
std::string printable(std::string_view text, Lines lines = Lines::escaped);

}  // namespace kinglet
