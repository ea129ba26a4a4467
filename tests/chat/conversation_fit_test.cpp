// Leaving messages out of conversations.
#include "chat/conversation_fit.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace kinglet {
namespace {

// One letter for each role: s, u, a, t (tool).
std::vector<std::string> roles_of(std::string_view letters) {
  std::vector<std::string> roles;
  for (const char letter : letters) {
    roles.emplace_back(letter == 's'   ? "system"
                       : letter == 'u' ? "user"
                       : letter == 'a' ? "assistant"
                                       : "tool");
  }
  return roles;
}

using Runs = std::vector<MessageRun>;

TEST(ConversationFit, FindsExchangesAndRoundsOfCalls) {
  EXPECT_EQ(removable_runs(roles_of("")), Runs());
  EXPECT_EQ(removable_runs(roles_of("ssu")), Runs());
  EXPECT_EQ(removable_runs(roles_of("suauau")), (Runs{{1, 3}, {3, 5}}));
  EXPECT_EQ(removable_runs(roles_of("uuauu")), (Runs{{0, 3}}));
  EXPECT_EQ(removable_runs(roles_of("uau"
                                    "atattat")),
            (Runs{{0, 2}, {3, 5}, {5, 8}}));
  EXPECT_EQ(removable_runs(roles_of("au")), (Runs{{0, 1}}));
}

TEST(ConversationFit, KnowsTheNamesOfWhatToDo) {
  EXPECT_EQ(find_on_full("shift"), OnFull::shift);
  EXPECT_EQ(find_on_full("dropOldest"), OnFull::drop_oldest);
  EXPECT_EQ(find_on_full("none"), std::nullopt);
}

// Each message has the same number of tokens.
std::vector<size_t> fitted(std::string_view letters, size_t n_most, size_t n_each = 10) {
  const auto kept = fit_messages(roles_of(letters), n_most, [&](const std::vector<size_t>& some) {
    return std::optional(some.size() * n_each);
  });
  return kept.value();
}

TEST(ConversationFit, KeepsWhatFits) {
  EXPECT_EQ(fitted("suau", 40), (std::vector<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(fitted("suau", 39), (std::vector<size_t>{0, 3}));
  EXPECT_EQ(fitted("su", 5), (std::vector<size_t>{0, 1}));  // too long all the same
}

TEST(ConversationFit, LeavesOutTheSameWhileAConversationGrows) {
  std::string letters = "s";
  size_t n_changes = 0;
  size_t dropped_before = 0;
  for (int turn = 0; turn < 40; ++turn) {
    letters += turn == 0 ? "u" : "au";
    const std::vector<size_t> kept = fitted(letters, 200);
    EXPECT_LE(kept.size() * 10, 200u);
    EXPECT_EQ(kept.front(), 0u);
    EXPECT_EQ(kept.back(), letters.size() - 1);
    const size_t dropped = letters.size() - kept.size();
    EXPECT_GE(dropped, dropped_before);
    n_changes += dropped != dropped_before;
    dropped_before = dropped;
  }
  EXPECT_GT(n_changes, 4u);
  EXPECT_LT(n_changes, 8u);  // a step of 100 tokens is five turns
}

TEST(ConversationFit, EndsWithItsCounting) {
  EXPECT_EQ(fit_messages(roles_of("uau"), 5, [](const auto&) { return std::optional<size_t>(); }),
            std::nullopt);
}

TEST(ConversationFit, MakesRoomForAnAnswer) {
  EXPECT_EQ(room_for_prompt(100, 30), 70u);
  EXPECT_EQ(room_for_prompt(100, 500), 50u);
}

TEST(ConversationFit, KeepsTheSystemMessagesInAShift) {
  EXPECT_EQ(count_kept({1, 2, 3, 4, 5, 6, 9}, {1, 2, 3, 4, 5, 6, 7, 8}, 100), 6u);
  EXPECT_EQ(count_kept({9}, {1, 2}, 100), 4u);
  EXPECT_EQ(count_kept({1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}, 5), 4u);
}

}  // namespace
}  // namespace kinglet
