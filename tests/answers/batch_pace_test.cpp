// The sizes of a prompt's batches.
#include "answers/batch_pace.h"

#include <gtest/gtest.h>

#include <vector>

namespace kinglet {
namespace {

TEST(BatchPace, FollowsWhatBatchesTake) {
  BatchPace pace(0.15, 64);
  std::vector<uint32_t> sizes = {pace.size()};
  for (const double seconds : {0.06, 0.3, 1e3, 0.0005, 0.0}) {
    pace.took(pace.size(), seconds);
    sizes.push_back(pace.size());
  }
  EXPECT_EQ(sizes, (std::vector<uint32_t>{16, 40, 20, 8, 64, 64}));
  EXPECT_EQ(BatchPace(0.15, 4).size(), 4u);
}

TEST(BatchPace, IsTheLargestWithoutALimit) {
  BatchPace pace(0, 512);
  EXPECT_EQ(pace.size(), 512u);
  pace.took(512, 100);
  EXPECT_EQ(pace.size(), 512u);
}

}  // namespace
}  // namespace kinglet
