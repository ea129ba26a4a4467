// What embedding models need in front of a query and of a passage: they were trained so.
#pragma once

#include <string>
#include <string_view>

namespace kinglet {

struct SearchPrompts {
  std::string query;
  std::string passage;
};

// Returns the prompts of a model, by its architecture and its name, which may be that of its file.
// Empty ones for unknown models. Source: the cards of the models.
SearchPrompts search_prompts(std::string_view architecture, std::string_view name);

}  // namespace kinglet
