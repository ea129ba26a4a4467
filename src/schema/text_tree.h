// Converts long lists of texts to expressions.
#pragma once

#include <string>
#include <vector>

#include "schema/rules.h"

namespace kinglet::schema {

// Matches one of the texts, which are UTF-8. Beginnings that several share are written once: a
// matcher then follows one of them, and not each text.
Expression tree_of_texts(std::vector<std::string> texts, GrammarRules& rules);

}  // namespace kinglet::schema
