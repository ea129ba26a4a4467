#include "text/token_index.h"

#include <gtest/gtest.h>

#include <algorithm>
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
  size_t end_of_classes = 0;
  for (const TokenIndex::Class& one : index.classes()) {
    EXPECT_EQ(one.begin, end_of_classes);
    end_of_classes = one.end;
  }
  const auto begins = [&](size_t i) {
    return i == end_of_classes || std::any_of(index.classes().begin(), index.classes().end(),
                                              [&](const auto& one) { return i == one.begin; });
  };
  for (size_t i = 0; i < index.size(); ++i) {
    if (begins(i)) {
      EXPECT_EQ(index[i].n_shared, 0u);
      before.clear();
    }
    text = text.substr(0, index[i].n_shared) + std::string(index.rest(i));
    EXPECT_EQ(text, tokenizer->piece(index[i].id));
    EXPECT_LE(before, text);
    EXPECT_TRUE(index[i].n_shared == before.size() ||
                before[index[i].n_shared] != text[index[i].n_shared]);
    for (size_t j = i + 1; j < index[i].after; ++j) {
      EXPECT_GT(index[j].n_shared, index[i].n_shared);
    }
    EXPECT_LE(index[index[i].after].n_shared, index[i].n_shared);
    longest = std::max(longest, text.size());
    before = text;
  }
  EXPECT_EQ(index.max_bytes(), longest);
  EXPECT_EQ(index.size() + index.others().size(), static_cast<size_t>(tokenizer->n_tokens()));
  for (const TokenId id : index.others()) {
    EXPECT_TRUE(tokenizer->piece(id).empty() || tokenizer->is_end_of_generation(id));
  }
}

TEST(TokenIndex, KnowsTokensOfOneClass) {
  const auto tokenizer =
      spm_tokenizer({{"ab1"}, {"é x"}, {"a\"b"}, {"\u2028"}, {std::string(17, 'a')}, {"\xc3"}});
  ASSERT_NE(tokenizer, nullptr);
  const auto classes = tokenizer->index().classes();
  ASSERT_EQ(classes.size(), 2u);
  const auto has = [&](const TokenIndex::Class& one, size_t n, TokenId id) {
    return (one.up_to[n][static_cast<size_t>(id) / 64] >> id % 64 & 1) != 0;
  };
  for (TokenId i = 0; i < 6; ++i) {
    const TokenId id = kFirstExtra + i;
    EXPECT_EQ(has(classes[0], 3, id), i == 0) << i;
    EXPECT_EQ(has(classes[1], 3, id), i == 1) << i;
    EXPECT_FALSE(has(classes[0], 2, id));
    EXPECT_FALSE(has(classes[1], 2, id));
    EXPECT_EQ(has(classes[1], TokenIndex::kMostCharacters, id), i == 1);
  }
  EXPECT_TRUE(has(classes[0], 1, byte_id('a')));
  EXPECT_FALSE(has(classes[1], 16, byte_id('a')));
  EXPECT_TRUE(has(classes[1], 1, byte_id(' ')));
  EXPECT_FALSE(has(classes[1], 16, byte_id('"')));
}

}  // namespace
}  // namespace kinglet
