// Vectors of texts that are computed in groups.
#include "answers/encoding_run.h"

#include <gtest/gtest.h>

#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "gguf/file.h"
#include "kernels/kernels.h"
#include "support.h"

namespace kinglet {
namespace {

using Texts = std::vector<std::vector<TokenId>>;

class EncodingRunTest : public testing::Test {
 protected:
  Result<Rows> rows_of(const Encoding& encoding) {
    Result<Rows> told = Rows();
    n_done_.clear();
    run_.submit({.encoding = encoding,
                 .deliver = [&](Result<Rows> rows) { told = std::move(rows); },
                 .on_progress = [&](size_t n) { n_done_.push_back(n); }});
    while (run_.is_busy()) run_.advance();
    return told;
  }

  Model model_ =
      std::move(Model::load(std::move(read_gguf_file(fixture_path("encoder/bert.gguf")).value()),
                            *available_kernels().back())
                    .value());
  ThreadPool pool_{1};
  EncodingRun run_{model_, pool_};
  std::vector<size_t> n_done_;
};

TEST_F(EncodingRunTest, GivesEachTextItsVectorAlone) {
  for (const size_t length : {3u, 60u, 5u}) {
    Texts texts;
    for (TokenId first = 6; texts.size() * length < 2 * kGroupTokens; first = 6 + first % 20) {
      texts.emplace_back(length, 5);
      texts.back().front() = first;
    }
    const auto rows = rows_of({.texts = texts});
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    ASSERT_EQ(rows.value().size(), texts.size());
    const size_t n_in_group = (kGroupTokens - 1) / length + 1;
    EXPECT_EQ(n_done_, (std::vector<size_t>{n_in_group, texts.size()})) << length;
    for (const size_t i : {size_t{0}, n_in_group, texts.size() - 1}) {
      EXPECT_EQ(rows.value()[i], rows_of({.texts = {texts[i]}}).value()[0]) << length;
    }
  }
}

TEST_F(EncodingRunTest, ShortensAndNormalizesEachVector) {
  const Texts texts = {{5, 6, 7}};
  const auto rows =
      rows_of({.texts = texts, .pooling = Pooling::none, .n_numbers = 4, .normalizes = true});
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  const std::span<const float> numbers(rows.value()[0]);
  ASSERT_EQ(numbers.size(), 3u * 4u);
  for (size_t i = 0; i < numbers.size(); i += 4) {
    const auto vector = numbers.subspan(i, 4);
    EXPECT_NEAR(std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0), 1, 1e-6);
  }
}

TEST_F(EncodingRunTest, RefusesWrongTexts) {
  for (const Texts& wrong : {Texts{{-1}}, Texts{{}}, Texts{{5}, {}}}) {
    EXPECT_EQ(rows_of({.texts = wrong}).error().code, ErrorCode::invalid_argument);
  }
  EXPECT_TRUE(rows_of({.texts = {{5}}}).ok());
}

}  // namespace
}  // namespace kinglet
