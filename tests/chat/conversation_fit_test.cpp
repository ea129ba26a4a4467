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

// One letter for each role: s, u, a, t (the result of a call of the latest assistant).
std::vector<MessagePlace> places_of(std::string_view letters) {
  std::vector<MessagePlace> places;
  std::optional<size_t> latest;
  for (const char letter : letters) {
    if (letter == 'a') latest = places.size();
    places.push_back({letter == 's'   ? "system"
                      : letter == 'u' ? "user"
                      : letter == 'a' ? "assistant"
                                      : "tool"});
    if (letter == 't') places.back().call = latest;
  }
  return places;
}

// The number of each message's run; "-": it stays.
std::string runs_of(const std::vector<MessagePlace>& places) {
  std::string told;
  for (const size_t run : removable_runs(places)) {
    told += run == kStays ? '-' : static_cast<char>('0' + run);
  }
  return told;
}

TEST(ConversationFit, FindsExchangesAndRoundsOfCalls) {
  EXPECT_EQ(runs_of(places_of("")), "");
  EXPECT_EQ(runs_of(places_of("ssu")), "---");
  EXPECT_EQ(runs_of(places_of("suauau")), "-0011-");
  EXPECT_EQ(runs_of(places_of("uuauu")), "000--");
  EXPECT_EQ(runs_of(places_of("uau"
                              "atattat")),
            "00-11222--");
  EXPECT_EQ(runs_of(places_of("au")), "0-");
}

TEST(ConversationFit, LeavesOutACallWithItsResultsWhereverTheyAre) {
  EXPECT_EQ(runs_of(places_of("uautau")), "00101-");
  EXPECT_EQ(runs_of(places_of("uaut")), "00-0");
  EXPECT_EQ(runs_of(places_of("uauta")), "00-0-");
  // The second call's result comes after that of the third.
  std::vector<MessagePlace> places = places_of("uaautt");
  places[4].call = 2;
  places[5].call = 1;
  EXPECT_EQ(runs_of(places), "000-00");
  places = places_of("uaaatt");
  places[4].call = 3;
  places[5].call = 1;
  EXPECT_EQ(runs_of(places), "-01--0");
}

// Each message has the same number of tokens.
std::vector<size_t> fitted(std::string_view letters, size_t n_most, size_t n_each = 10) {
  const auto kept = fit_messages(places_of(letters), n_most, [&](const std::vector<size_t>& some) {
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
  EXPECT_EQ(fit_messages(places_of("uau"), 5, [](const auto&) { return std::optional<size_t>(); }),
            std::nullopt);
}

TEST(ConversationFit, MakesRoomForAnAnswer) {
  EXPECT_EQ(room_for_prompt(100, 30), 70u);
  EXPECT_EQ(room_for_prompt(100, 500), 50u);
}

TEST(ConversationFit, KeepsTheSystemMessagesInAShift) {
  EXPECT_EQ(count_kept(6, 100), 6u);
  EXPECT_EQ(count_kept(0, 100), 4u);
  EXPECT_EQ(count_kept(6, 5), 4u);
}

}  // namespace
}  // namespace kinglet
