// A session on another machine than this one: it needs nothing but the functions of Sequence.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "session/generation.h"
#include "session/sessions.h"
#include "session/state.h"

namespace kinglet {
namespace {

// Has no layers: it remembers its tokens, and the sum of the last two is the most likely next one.
class SumSequence final : public Sequence, public StoredState {
 public:
  explicit SumSequence(const Model& model) : model_(model), logits_(4 * vocab_size()) {}

  const Model& model() const override { return model_; }
  StoredState& state() override { return *this; }
  uint32_t capacity() const override { return 64; }
  uint32_t size() const override { return n_committed_; }
  uint32_t n_batch() const override { return 8; }
  uint32_t n_logit_rows() const override { return 4; }
  SequenceBytes bytes() const override { return {.n_ctx = capacity(), .kv = tokens_.size()}; }

  Status forward(std::span<const int32_t> tokens, const StepOptions& options) override {
    ++n_steps;
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    if (options.output == Output::logits) {
      for (uint32_t row = 0; row <= options.n_guesses; ++row) {
        const size_t end = tokens_.size() - options.n_guesses + row;
        const auto sum = static_cast<size_t>(tokens_[end - 1] + (end > 1 ? tokens_[end - 2] : 0));
        std::fill(logits(row).begin(), logits(row).end(), 0.0f);
        logits(row)[sum % vocab_size()] = 1.0f;
      }
    }
    if (options.n_guesses > 0) return {};
    return commit(static_cast<uint32_t>(tokens.size()));
  }
  Status commit(uint32_t n) override {
    n_committed_ += n;
    return {};
  }
  void rollback() override { tokens_.resize(n_committed_); }
  std::span<float> logits(uint32_t row) override {
    return std::span(logits_).subspan(row * vocab_size(), vocab_size());
  }
  Status grow_batch(uint32_t) override { return {}; }
  uint32_t room_after(uint32_t n) const override { return capacity() - n; }

  uint32_t reachable(uint32_t n_positions) const override { return n_positions; }
  Status truncate(uint32_t n_positions) override {
    n_committed_ = n_positions;
    rollback();
    return {};
  }
  Status unshare(uint32_t) override { return {}; }
  void add_checkpoint() override {}
  void pin() override {}
  void unpin() override {}
  Status shift(uint32_t first, uint32_t n) override {
    const auto begin = tokens_.begin() + static_cast<ptrdiff_t>(first);
    tokens_.erase(begin, begin + static_cast<ptrdiff_t>(n));
    n_committed_ -= n;
    return {};
  }
  Result<std::unique_ptr<Sequence>> fork() const override {
    auto forked = std::make_unique<SumSequence>(model_);
    forked->tokens_ = tokens_;
    forked->n_committed_ = n_committed_;
    return std::unique_ptr<Sequence>(std::move(forked));
  }

  SavedRows saved_rows() const override {
    return {model_.state_shape().rows, KvKind::f32, KvKind::f32, n_committed_, kAllRows};
  }
  // The first number of each position is its token.
  void save(std::span<std::byte> rows, std::span<std::byte>) const override {
    std::fill(rows.begin(), rows.end(), std::byte{0});
    for (size_t i = 0; i < n_committed_; ++i) {
      const auto number = static_cast<float>(tokens_[i]);
      std::memcpy(&rows[i * static_cast<size_t>(saved_rows().position_bytes())], &number,
                  sizeof number);
    }
  }
  Status restore(const SavedRows& saved, std::span<const std::byte> rows,
                 std::span<const std::byte>) override {
    tokens_.clear();
    for (size_t i = 0; i < saved.n_positions; ++i) {
      float number = 0;
      std::memcpy(&number, &rows[i * static_cast<size_t>(saved.position_bytes())], sizeof number);
      tokens_.push_back(static_cast<int32_t>(number));
    }
    n_committed_ = saved.n_positions;
    return {};
  }

  uint32_t n_steps = 0;

 private:
  size_t vocab_size() const { return model_.config().vocab_size; }

  const Model& model_;
  std::vector<int32_t> tokens_;
  uint32_t n_committed_ = 0;
  std::vector<float> logits_;
};

class OnAnotherMachine : public testing::Test {
 protected:
  OnAnotherMachine() {
    auto sequence = std::make_unique<SumSequence>(loaded_.model);
    sequence_ = sequence.get();
    session_ = std::make_unique<Session>(std::move(sequence));
  }

  // The most likely next token.
  static TokenId next(Session& session) {
    const std::span<const float> logits = session.logits();
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }

  LanguageModel loaded_ = load_stories();
  SumSequence* sequence_ = nullptr;
  std::unique_ptr<Session> session_;
};

TEST_F(OnAnotherMachine, TextIsComputedInBatches) {
  const Tokens prompt = {1, 1, 1, 1, 1, 1, 1, 1, 2, 3};
  ASSERT_TRUE(session_->append(prompt).ok());
  EXPECT_EQ(sequence_->n_steps, 2u);
  EXPECT_EQ(next(*session_), 5);
  GenerationOptions options;
  options.max_tokens = 3;
  options.sampler.temperature = 0;
  auto generation =
      Generation::start(*session_, *loaded_.tokenizer, joined({prompt, {5}}), options);
  ASSERT_TRUE(generation.ok());
  Tokens found;
  while (found.size() < 3) {
    const auto step = generation.value().step();
    ASSERT_TRUE(step.ok());
    if (step.value().token != kNoToken) found.push_back(step.value().token);
  }
  EXPECT_EQ(found, (Tokens{8, 13, 21}));
}

TEST_F(OnAnotherMachine, GuessesAreComputedInOneStep) {
  ASSERT_TRUE(session_->append(Tokens{1, 1}).ok());
  ASSERT_TRUE(session_->defer(next(*session_)).ok());
  ASSERT_TRUE(session_->look_ahead(Tokens{3, 5, 9}).ok());
  EXPECT_EQ(sequence_->n_steps, 2u);
  for (const bool is_right : {true, true, false}) {
    ASSERT_TRUE(session_->defer(next(*session_)).ok());
    const auto taken = session_->take_guess();
    ASSERT_TRUE(taken.ok());
    EXPECT_EQ(taken.value(), is_right);
  }
  EXPECT_EQ(session_->n_computed(), 5u);
  ASSERT_TRUE(session_->begin_logits().ok() && session_->advance().ok());
  EXPECT_EQ(next(*session_), 13);
}

TEST_F(OnAnotherMachine, ContextsAreCutForkedShiftedAndSaved) {
  ASSERT_TRUE(session_->append(Tokens{1, 2, 3, 4}).ok());
  const auto saved = save_state(*session_);
  ASSERT_TRUE(saved.ok());
  const auto fork = session_->fork();
  ASSERT_TRUE(fork.ok());
  ASSERT_TRUE(session_->truncate(2).ok());
  ASSERT_TRUE(session_->append(Tokens{7}).ok());
  EXPECT_EQ(next(*session_), 9);
  ASSERT_TRUE(fork.value()->shift(0, 3).ok());
  ASSERT_TRUE(fork.value()->append(Tokens{8}).ok());
  EXPECT_EQ(next(*fork.value()), 12);
  ASSERT_TRUE(restore_state(*session_, saved.value().bytes()).ok());
  ASSERT_TRUE(session_->append(Tokens{6}).ok());
  EXPECT_EQ(next(*session_), 10);
}

}  // namespace
}  // namespace kinglet
