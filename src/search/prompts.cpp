#include "search/prompts.h"

#include <initializer_list>

#include "base/ascii.h"

namespace kinglet {
namespace {

// The first row that fits counts. It fits if the architecture is `architecture`, or if the name has
// all of the parts of `name`, in this order; "-" in a part is any character between words.
struct Row {
  std::string_view architecture;
  std::initializer_list<std::string_view> name;
  std::string_view query;
  std::string_view passage;
};

constexpr std::string_view kRetrieval = "Represent this sentence for searching relevant passages: ";

const Row kRows[] = {
    {"nomic-bert", {"nomic-embed"}, "search_query: ", "search_document: "},
    {"nomic-bert-moe", {"nomic-embed"}, "search_query: ", "search_document: "},
    {"gemma-embedding",
     {"embeddinggemma"},
     "task: search result | query: ",
     "title: none | text: "},
    {"",
     {"qwen3-embedding"},
     "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
     ""},
    {"", {"e5-small"}, "query: ", "passage: "},
    {"", {"e5-base"}, "query: ", "passage: "},
    {"", {"e5-large"}, "query: ", "passage: "},
    {"", {"arctic-embed", "v2"}, "query: ", ""},
    {"", {"arctic-embed"}, kRetrieval, ""},
    {"", {"mxbai-embed"}, kRetrieval, ""},
    {"", {"bge-", "-en"}, kRetrieval, ""},
};

bool fits(const Row& row, std::string_view architecture, std::string_view name) {
  if (!row.architecture.empty() && row.architecture == architecture) return true;
  for (const std::string_view part : row.name) {
    const size_t found = name.find(part);
    if (found == std::string_view::npos) return false;
    name.remove_prefix(found + part.size());
  }
  return true;
}

}  // namespace

SearchPrompts search_prompts(std::string_view architecture, std::string_view name) {
  std::string words;
  for (const char c : name) {
    words += c == '_' || c == ' ' || c == '.' ? '-' : to_lower(c);
  }
  for (const std::string_view joined : {"embedding-gemma", "qwen-3-embedding"}) {
    // Names are also written with a space: "Embedding Gemma", "Qwen 3 Embedding".
    const size_t found = words.find(joined);
    if (found != std::string::npos) words.erase(words.find('-', found), 1);
  }
  for (const Row& row : kRows) {
    if (fits(row, architecture, words)) {
      return {std::string(row.query), std::string(row.passage)};
    }
  }
  return {};
}

}  // namespace kinglet
