// Writes GBNF for long lists of texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/rules.h"

namespace kinglet::schema {

// Matches one of the texts, which are UTF-8. Beginnings that several share are written once: a
// matcher then follows one of them, and not each text.
std::string tree_of_texts(std::vector<std::string> texts, std::string_view at, GrammarRules& rules);

}  // namespace kinglet::schema
