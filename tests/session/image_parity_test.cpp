// Pictures between tokens, compared with llama.cpp's results on every kernel set. The rows are
// given, so only the text model is compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/format.h"
#include "model/reference.h"
#include "model/runner.h"
#include "session/pictures.h"
#include "session/session.h"
#include "support.h"

namespace kinglet {
namespace {

struct Fixture {
  const char* name;   // of the results, in image/
  const char* model;  // relative to the fixtures' folder
  bool sees_all;      // a picture's row also sees the rows after it
  // How much more than in other models rounded keys and values change probabilities: Gemma 4 does
  // not scale its scores down.
  double sensitivity = 1;
};

constexpr Fixture kFixtures[] = {
    {"llama", "arch/llama.gguf", false},     {"lfm2", "hybrid/lfm2.gguf", false},
    {"qwen2vl", "arch/qwen2vl.gguf", false}, {"qwen3vl", "arch/qwen3vl.gguf", false},
    {"qwen35", "hybrid/qwen35.gguf", false}, {"glm4-sections", "arch/glm4-sections.gguf", false},
    {"gemma3", "arch/gemma3.gguf", true},    {"gemma4", "arch/gemma4.gguf", false, 2},
};

struct ImageReference {
  Reference answers;
  std::vector<TokenId> tokens;  // of the texts, and of the pictures' rows
  std::vector<SharedImage> images;
};

class ImageParity : public testing::TestWithParam<std::tuple<Fixture, const KernelSet*>> {
 protected:
  void SetUp() override {
    auto file = read_gguf_file(fixture_path(std::get<0>(GetParam()).model));
    ASSERT_TRUE(file.ok());
    auto model = Model::load(std::move(file.value()), *std::get<1>(GetParam()));
    ASSERT_TRUE(model.ok()) << model.error().message;
    model_.emplace(std::move(model.value()));
    read();
  }

  void read() {
    const std::string path = cat("image/", std::get<0>(GetParam()).name, ".json");
    reference_.answers = read_reference(path);
    const std::string json = read_text_fixture(path);
    const auto numbers = [&](std::string_view name) {
      size_t from = 0;
      return read_numbers(json, name, from);
    };
    ASSERT_EQ(numbers("width"), std::vector<double>(1, model_->config().image_width()));
    const auto add_text = [&](std::string_view name) {
      for (const double id : numbers(name)) {
        reference_.tokens.push_back(static_cast<TokenId>(id));
      }
    };
    const auto add_picture = [&](std::string_view name, uint32_t picture) {
      const auto grid = numbers(name);
      ImageRows image = make_image_rows(*model_, picture, static_cast<uint32_t>(grid.at(0)),
                                        static_cast<uint32_t>(grid.at(1)));
      image.sees_all = std::get<0>(GetParam()).sees_all;
      reference_.images.push_back(std::make_shared<const ImageRows>(std::move(image)));
      const auto ids = image_tokens(*reference_.images.back());
      reference_.tokens.insert(reference_.tokens.end(), ids.begin(), ids.end());
    };
    add_text("tokens");
    add_picture("first_grid", 1);
    add_text("between");
    add_picture("second_grid", 2);
    add_text("behind");
  }

  // The log probabilities after the first n tokens.
  std::vector<double> logprobs(Session& session, size_t n) {
    const Status begun = session.begin(std::span(reference_.tokens).first(n),
                                       {.replaces_context = true, .images = reference_.images});
    EXPECT_TRUE(begun.ok()) << begun.error().message;
    while (session.n_left() > 0) {
      const Status status = session.advance();
      EXPECT_TRUE(status.ok()) << status.error().message;
      if (!status.ok()) break;
    }
    return log_softmax({session.logits().begin(), session.logits().end()});
  }

  void check(uint32_t n_batch, KvKind kind, double tolerance) {
    auto created = Session::create(
        *model_, pool_, {.n_ctx = 128, .n_batch = n_batch, .k_kind = kind, .v_kind = kind});
    ASSERT_TRUE(created.ok());
    Session& session = *created.value();
    ASSERT_GE(reference_.answers.positions.size(), 8u);
    for (const ReferencePosition& expected : reference_.answers.positions) {
      const auto found = logprobs(session, expected.position + 1);
      const Difference difference = compare(found, expected.logprobs);
      EXPECT_LT(difference.probability, tolerance)
          << expected.position << ", " << kv_kind_info(kind).name;
    }
    for (const TokenId expected : reference_.answers.greedy) {
      const auto found = log_softmax({session.logits().begin(), session.logits().end()});
      const auto best = std::max_element(found.begin(), found.end());
      EXPECT_LT(std::exp(*best) - std::exp(found[static_cast<size_t>(expected)]), 2 * tolerance)
          << "expected " << expected << ", found " << best - found.begin();
      ASSERT_TRUE(session.append({&expected, 1}).ok());
    }
  }

  std::optional<Model> model_;
  ThreadPool pool_;
  ImageReference reference_;
};

TEST_P(ImageParity, InBatches) { check(16, KvKind::f32, 2e-3); }
TEST_P(ImageParity, RowByRow) { check(1, KvKind::f32, 2e-3); }
TEST_P(ImageParity, InOneBatch) { check(64, KvKind::f32, 2e-3); }

// Rounded keys and values change probabilities a little.
TEST_P(ImageParity, WithAnyKindOfCache) {
  const double sensitivity = std::get<0>(GetParam()).sensitivity;
  check(7, KvKind::f16, 4e-3 * sensitivity);
  for (const KvKind kind : {KvKind::q8, KvKind::int8}) check(7, kind, 0.03 * sensitivity);
}

INSTANTIATE_TEST_SUITE_P(
    Models, ImageParity,
    testing::Combine(testing::ValuesIn(kFixtures),
                     testing::ValuesIn(available_kernels().begin(), available_kernels().end())),
    [](const auto& test) {
      return test_name(cat(std::get<0>(test.param).name, "_", std::get<1>(test.param)->name));
    });

}  // namespace
}  // namespace kinglet
