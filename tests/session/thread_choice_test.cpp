#include "session/thread_choice.h"

#include <gtest/gtest.h>

#include <map>

#include "session/sessions.h"

namespace kinglet {
namespace {

// The choice if each number of threads takes this long, where 5 % are noise.
size_t choice(size_t n, const std::map<size_t, double>& seconds) {
  return fastest_threads(n, [&](size_t more, size_t fewer) {
    EXPECT_LT(fewer, more);
    return seconds.at(fewer) < 0.95 * seconds.at(more);
  });
}

TEST(ThreadChoice, TakesThemAllWhereTheyHelp) {
  EXPECT_EQ(choice(2, {{1, 10}, {2, 6}}), 2u);
  EXPECT_EQ(choice(8, {{1, 40}, {4, 12}, {8, 7}}), 8u);
}

TEST(ThreadChoice, IsNeverSlowerThanOne) {
  EXPECT_EQ(choice(2, {{1, 10}, {2, 20}}), 1u);
  EXPECT_EQ(choice(8, {{1, 10}, {4, 60}, {8, 50}}), 1u);
  EXPECT_EQ(choice(4, {{1, 10}, {2, 20}, {4, 30}}), 1u);
}

TEST(ThreadChoice, HalvesThemWhileThatIsFaster) {
  EXPECT_EQ(choice(8, {{1, 40}, {2, 21}, {4, 12}, {8, 30}}), 4u);
  EXPECT_EQ(choice(8, {{1, 40}, {2, 11}, {4, 20}, {8, 30}}), 2u);
  EXPECT_EQ(choice(6, {{1, 40}, {3, 15}, {6, 30}}), 3u);
}

TEST(ThreadChoice, KeepsMoreWhereTheyAreAsFast) { EXPECT_EQ(choice(2, {{1, 9.8}, {2, 10}}), 2u); }

TEST(ThreadChoice, OneIsLeftAlone) { EXPECT_EQ(choice(1, {}), 1u); }

TEST(ThreadChoice, LeavesThePoolAsManyAsItHad) {
  for (const LanguageModel& loaded : {load_stories(), load_tiny()}) {
    ThreadPool pool(3);
    ASSERT_TRUE(choose_threads(loaded.model, pool).ok());
    EXPECT_GE(pool.n_threads(), 1u);
    EXPECT_LE(pool.n_threads(), 3u);
    const auto session = make_session(loaded, pool);
    const std::vector<TokenId> tokens = {1, 2, 3};
    EXPECT_TRUE(session->append(tokens, Output::logits).ok());
  }
}

TEST(ThreadChoice, AModelWithoutWeightsHasNoneToMeasure) {
  TinyModel tiny;
  tiny.has_weights = false;
  const LanguageModel loaded = load_tiny(tiny);
  ThreadPool pool(2);
  const size_t n_started = pool.n_threads();
  EXPECT_TRUE(choose_threads(loaded.model, pool).ok());
  EXPECT_EQ(pool.n_threads(), n_started);
}

}  // namespace
}  // namespace kinglet
