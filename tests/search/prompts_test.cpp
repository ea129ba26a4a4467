#include "search/prompts.h"

#include <gtest/gtest.h>

namespace kinglet {
namespace {

TEST(SearchPrompts, AreThoseOfKnownModels) {
  EXPECT_EQ(search_prompts("nomic-bert", "whatever").query, "search_query: ");
  EXPECT_EQ(search_prompts("bert", "Multilingual E5 Small").passage, "passage: ");
  EXPECT_EQ(search_prompts("gemma-embedding", "").passage, "title: none | text: ");
  EXPECT_EQ(search_prompts("gemma3", "Embedding Gemma 300m").query,
            "task: search result | query: ");
  EXPECT_EQ(search_prompts("qwen3", "Qwen3 Embedding 0.6B").query.substr(0, 10), "Instruct: ");
  EXPECT_EQ(search_prompts("bert", "bge-small-en-v1.5-q8_0.gguf").query.substr(0, 9), "Represent");
  EXPECT_EQ(search_prompts("bert", "bge-small-zh").query, "");
  EXPECT_EQ(search_prompts("bert", "snowflake-arctic-embed-m-v2.0").query, "query: ");
  EXPECT_EQ(search_prompts("bert", "all-MiniLM-L6-v2").query, "");
  EXPECT_EQ(search_prompts("bert", "all-MiniLM-L6-v2").passage, "");
}

}  // namespace
}  // namespace kinglet
