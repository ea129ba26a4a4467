#include "text/merge_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace kinglet {
namespace {

using Entry = MergeQueue::Entry;

float priority_of(uint32_t merge) { return -static_cast<float>(merge / 2); }  // pairs are equal

bool comes_first(const Entry& a, const Entry& b) {
  const float priority_a = priority_of(a.merge);
  const float priority_b = priority_of(b.merge);
  return priority_a != priority_b ? priority_a > priority_b : a.left < b.left;
}

TEST(MergeQueue, GivesTheLeftmostOfEqualMergesFirstWhateverTheOrderTheyCameIn) {
  MergeQueue queue;
  for (const uint32_t left : {3u, 5u, 9u, 4u, 1u, 6u, 2u}) queue.push({left, 7}, 1.0f);
  std::vector<uint32_t> lefts;
  while (!queue.empty()) lefts.push_back(queue.pop().left);
  EXPECT_EQ(lefts, (std::vector<uint32_t>{1, 2, 3, 4, 5, 6, 9}));
}

// A few different merges, and thousands of them.
TEST(MergeQueue, AgreesWithSearchingAllThatAreThere) {
  std::mt19937 random(1);
  for (const uint32_t n_merges : {1u, 3u, 40u, 5000u}) {
    MergeQueue queue;
    std::vector<Entry> there;
    for (uint32_t i = 0; i < 3000; ++i) {
      const bool is_pushed = there.empty() || random() % 3 != 0;
      if (is_pushed) {
        // Most are pushed from left to right, in the order of the text.
        const uint32_t left = random() % 4 == 0 ? static_cast<uint32_t>(random() % 3000) : i;
        const Entry entry = {left, static_cast<uint32_t>(random() % n_merges)};
        queue.push(entry, priority_of(entry.merge));
        there.push_back(entry);
      } else {
        const auto first = std::min_element(there.begin(), there.end(), comes_first);
        const Entry popped = queue.pop();
        ASSERT_EQ(popped.left, first->left);
        ASSERT_EQ(priority_of(popped.merge), priority_of(first->merge));
        there.erase(first);
      }
    }
    while (!there.empty()) {
      const auto first = std::min_element(there.begin(), there.end(), comes_first);
      ASSERT_EQ(queue.pop().left, first->left);
      there.erase(first);
    }
    EXPECT_TRUE(queue.empty());
  }
}

}  // namespace
}  // namespace kinglet
