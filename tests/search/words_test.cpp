#include "search/words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kinglet {
namespace {

using Hashes = std::vector<uint32_t>;

Hashes joined(std::initializer_list<std::string_view> words) {
  Hashes all;
  for (const std::string_view word : words) {
    const Hashes one = word_hashes(word);
    EXPECT_EQ(one.size(), 1u) << word;
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

TEST(Words, AreRunsOfLettersAndDigitsInLowerCase) {
  EXPECT_EQ(word_hashes("The U.S. état, 42nd — тест!"),
            joined({"the", "u", "s", "ÉTAT", "42nd", "ТЕСТ"}));
  EXPECT_EQ(word_hashes(" .,; \n"), Hashes());
  EXPECT_NE(word_hashes("cat"), word_hashes("act"));
}

TEST(Words, ArePairsWhereThereIsNoSpace) {
  EXPECT_EQ(word_hashes("東京都 a 京"), joined({"東京", "京都", "a", "京"}));
  EXPECT_EQ(word_hashes("GGUFを読む"), joined({"gguf", "を読", "読む"}));
}

TEST(Words, AreFoundInPassages) {
  const std::string text = "a cat a dog. The cat sat.";
  const std::vector<Passage> passages = {{0, 12}, {13, 25}};
  const PassageWords words(text, passages);
  EXPECT_EQ(std::vector(words.lengths().begin(), words.lengths().end()), Hashes({4, 3}));
  const auto find = [&](std::string_view word) { return words.find(word_hashes(word).front()); };
  ASSERT_EQ(find("cat").size(), 2u);
  EXPECT_EQ(find("cat")[1].passage, 1u);
  ASSERT_EQ(find("A").size(), 1u);
  EXPECT_EQ(find("A")[0].n_times, 2u);
  EXPECT_TRUE(find("bird").empty());
}

}  // namespace
}  // namespace kinglet
