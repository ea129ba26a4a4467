#include "text/token_index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

TEST(TokenIndex, HoldsEveryTokenWithTextInTheOrderOfItsBytes) {
  const auto tokenizer =
      spm_tokenizer({{"abcdefghi"}, {"abcdefgh"}, {"b"}, {"abcdefghz"}, {"ab"}, {"é"}, {"ab"}});
  ASSERT_NE(tokenizer, nullptr);
  const TokenIndex& index = tokenizer->index();
  std::string text;
  std::string before;
  size_t longest = 0;
  for (size_t i = 0; i < index.size(); ++i) {
    text = text.substr(0, index[i].n_shared) + std::string(index.rest(i));
    EXPECT_EQ(text, tokenizer->piece(index[i].id));
    EXPECT_LE(before, text);
    EXPECT_TRUE(index[i].n_shared == before.size() ||
                before[index[i].n_shared] != text[index[i].n_shared]);
    longest = std::max(longest, text.size());
    before = text;
  }
  EXPECT_EQ(index.max_bytes(), longest);
  EXPECT_EQ(index.size() + index.others().size(), static_cast<size_t>(tokenizer->n_tokens()));
  for (const TokenId id : index.others()) {
    EXPECT_TRUE(tokenizer->piece(id).empty() || tokenizer->is_end_of_generation(id));
  }
}

}  // namespace
}  // namespace kinglet
