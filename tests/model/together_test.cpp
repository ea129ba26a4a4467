// Computes one token for each of several sequences in one pass: the results are those of each
// sequence alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "model/runner.h"

namespace kinglet {
namespace {

class Together : public testing::TestWithParam<const char*> {
 protected:
  // Sequences of different lengths, in one store of small pages.
  void begin(uint32_t n_sequences) {
    auto file = read_gguf_file(fixture_path(GetParam()));
    ASSERT_TRUE(file.ok());
    auto runner = ModelRunner::create(std::move(file.value()), *available_kernels().front(), 16, 2);
    ASSERT_TRUE(runner.ok()) << runner.error().message;
    runner_ = std::move(runner.value());
    auto scratch = Scratch::create(runner_->model, n_sequences, 2, n_sequences);
    ASSERT_TRUE(scratch.ok());
    scratch_ = std::move(scratch.value());
    auto store = KvStore::create(
        {.rows = runner_->model.state_shape().rows, .page_positions = 8, .n_pages = 64});
    ASSERT_TRUE(store.ok());
    for (uint32_t i = 0; i < n_sequences; ++i) {
      sequences_.push_back(std::move(SequenceState::create(store.value(), 0, kCtx).value()));
      tokens_.push_back(token(7 * i));
      std::vector<int32_t> prompt;
      for (uint32_t at = 0; at < 1 + 5 * i; ++at) prompt.push_back(token(i + at));
      while (!prompt.empty()) {
        const auto batch = std::span(prompt).first(std::min<size_t>(prompt.size(), 16));
        ASSERT_TRUE(step(sequences_[i], batch));
        prompt.erase(prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(batch.size()));
      }
    }
    for (SequenceState& sequence : sequences_) states_.push_back(&sequence);
  }

  bool step(SequenceState& sequence, std::span<const int32_t> batch) {
    return forward(runner_->model, runner_->pool, runner_->scratch, sequence, batch, Output::logits)
        .ok();
  }

  int32_t token(uint32_t i) const {
    return static_cast<int32_t>((11 + 13 * i) % runner_->model.config().vocab_size);
  }

  Status run(std::span<SequenceState* const> states, std::span<const int32_t> tokens) {
    return forward_together(runner_->model, runner_->pool, scratch_, states, tokens);
  }

  std::vector<float> row(size_t i) const {
    const size_t n = runner_->model.config().vocab_size;
    return {scratch_.logits + i * n, scratch_.logits + (i + 1) * n};
  }

  std::unique_ptr<ModelRunner> runner_;
  Scratch scratch_;
  std::vector<SequenceState> sequences_;
  std::vector<SequenceState*> states_;
  std::vector<int32_t> tokens_;
};

TEST_P(Together, GivesEachSequenceItsLogitsAlone) {
  begin(5);
  std::vector<std::vector<float>> alone;
  for (size_t i = 0; i < states_.size(); ++i) {
    auto fork = states_[i]->fork();
    ASSERT_TRUE(fork.ok());
    ASSERT_TRUE(step(fork.value(), std::span(tokens_).subspan(i, 1)));
    const float* logits = runner_->scratch.logits;
    alone.emplace_back(logits, logits + runner_->model.config().vocab_size);
  }
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(run(states_, tokens_).ok());
    for (size_t i = 0; i < states_.size(); ++i) EXPECT_EQ(row(i), alone[i]) << i;
    for (SequenceState* state : states_) state->rollback();  // and the same once more
  }
  ASSERT_TRUE(run(states_, tokens_).ok());
  for (size_t i = 0; i < states_.size(); ++i) {
    ASSERT_TRUE(states_[i]->commit(1).ok());
    EXPECT_EQ(states_[i]->size(), 2 + 5 * i);
  }
}

TEST_P(Together, RefusesWhatIsNotOneTokenForEach) {
  begin(3);
  const uint32_t n = states_[1]->size();
  EXPECT_FALSE(run(states_, std::span(tokens_).first(2)).ok());
  tokens_[1] = -1;
  EXPECT_FALSE(run(states_, tokens_).ok());
  EXPECT_EQ(states_[1]->size(), n);
}

INSTANTIATE_TEST_SUITE_P(Models, Together,
                         testing::Values("arch/llama.gguf", "arch/gpt2.gguf", "arch/gemma2.gguf",
                                         "arch/gemma4.gguf", "arch/olmoe.gguf",
                                         "arch/phi3-long.gguf", "arch/cohere2.gguf",
                                         "arch/k2-horizon.gguf", "arch/exaone.gguf"),
                         [](const auto& tested) { return test_name(tested.param); });

TEST(TogetherRecurrent, IsRefused) {
  auto runner = ModelRunner::create("hybrid/lfm2.gguf", *available_kernels().front(), 16, 1);
  ASSERT_TRUE(runner.ok());
  EXPECT_FALSE(can_run_together(runner.value()->model));
  SequenceState* const state = &runner.value()->state;
  const int32_t token = 1;
  const Status status = forward_together(runner.value()->model, runner.value()->pool,
                                         runner.value()->scratch, {&state, 1}, {&token, 1});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::unsupported_feature);
}

}  // namespace
}  // namespace kinglet
