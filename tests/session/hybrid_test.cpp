// What a session guarantees, both for models whose layers keep a recurrent state and for models
// with only keys and values.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <vector>

#include "session/generation.h"
#include "session/language_model.h"
#include "session/sessions.h"
#include "session/state.h"
#include "support.h"

namespace kinglet {
namespace {

class EachModel : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto file = read_gguf_file(fixture_path(GetParam()));
    ASSERT_TRUE(file.ok()) << file.error().message;
    auto loaded = load_language_model(std::move(file.value()));
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    loaded_.emplace(std::move(loaded.value()));
  }

  std::unique_ptr<Session> session(uint32_t n_batch = 16, uint32_t page_positions = 0) {
    return make_session(*loaded_, pool_,
                        {.n_ctx = 384,
                         .n_batch = n_batch,
                         .page_positions = page_positions,
                         .pool_positions = 1536});
  }

  std::vector<TokenId> tokens(size_t n, uint32_t seed = 1) {
    std::mt19937 random(seed);
    std::vector<TokenId> ids;
    while (ids.size() < n) {
      ids.push_back(static_cast<TokenId>(random() % loaded_->model.config().vocab_size));
    }
    return ids;
  }

  Result<Generation> start(Session& session, const std::vector<TokenId>& prompt,
                           uint32_t max_tokens) {
    GenerationOptions options;
    options.max_tokens = max_tokens;
    options.replaces_context = true;
    return Generation::start(session, *loaded_->tokenizer, prompt, options);
  }

  bool keeps_state() const { return loaded_->model.state_shape().n_recurrent > 0; }

  std::optional<LanguageModel> loaded_;
  ThreadPool pool_;
};

std::vector<float> fresh_logits(Session& session, std::span<const TokenId> tokens) {
  EXPECT_TRUE(session.truncate(0).ok());
  return logits_after(session, tokens);
}

TEST_P(EachModel, AnyBatchesGiveTheLogitsOfOneTokenAtATime) {
  const auto ids = tokens(90);
  const auto expected = [&] {
    const auto one_by_one = session(1);
    return logits_after(*one_by_one, ids);
  }();
  for (const uint32_t n_batch : {2u, 3u, 16u, 64u, 128u}) {
    const auto batched = session(n_batch);
    EXPECT_LT(difference(logits_after(*batched, ids), expected), kClose) << n_batch;
  }
}

TEST_P(EachModel, ForksDiverge) {
  for (const uint32_t page_positions : {0u, 16u}) {
    const auto parent = session(16, page_positions);
    const auto scratch = session();
    auto ids = tokens(60);
    (void)logits_after(*parent, ids);
    auto forked = parent->fork();
    ASSERT_TRUE(forked.ok());
    auto ours = ids;
    auto theirs = ids;
    for (uint32_t i = 0; i < 5; ++i) {
      const auto mine = tokens(3, 100 + i);
      const auto other = tokens(4, 200 + i);
      ours.insert(ours.end(), mine.begin(), mine.end());
      theirs.insert(theirs.end(), other.begin(), other.end());
      EXPECT_LT(difference(logits_after(*parent, mine), fresh_logits(*scratch, ours)), kClose);
      EXPECT_LT(difference(logits_after(*forked.value(), other), fresh_logits(*scratch, theirs)),
                kClose);
    }
  }
}

TEST_P(EachModel, TruncatesAnywhereAndGoesOn) {
  const auto one = session();
  const auto scratch = session();
  const auto ids = tokens(80);
  const auto more = tokens(5, 2);
  for (const uint32_t n : {79u, 64u, 33u, 17u, 16u, 5u, 1u, 0u}) {
    (void)fresh_logits(*one, ids);
    if (n % 2 == 1) one->add_checkpoint();
    ASSERT_TRUE(one->truncate(n).ok());
    EXPECT_EQ(one->n_positions(), n);
    auto expected = ids;
    expected.resize(n);
    expected.insert(expected.end(), more.begin(), more.end());
    EXPECT_LT(difference(logits_after(*one, more), fresh_logits(*scratch, expected)), kClose) << n;
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), one->tokens().begin()));
  }
  EXPECT_EQ(one->truncate(one->n_positions() + 1).error().code, ErrorCode::invalid_argument);
}

// An append that is cancelled or fails changes nothing: the next append gives the expected logits.
TEST_P(EachModel, CancelledAnywhereItIsAsItWas) {
  const auto one = session(8);
  const auto scratch = session();
  const auto ids = tokens(20);
  const auto more = tokens(30, 2);
  (void)logits_after(*one, ids);
  const auto expected = logits_after(*scratch, joined({ids, more}));
  std::atomic<uint32_t> word{1};
  const Status cancelled = one->append(more, Output::logits, {&word, 1});
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, ErrorCode::cancelled);
  EXPECT_EQ(one->n_positions(), 20u);
  EXPECT_EQ(one->n_computed(), 20u);
  // A step after the first batches may also fail: here, by an id outside the vocabulary.
  auto bad = more;
  bad[25] = static_cast<TokenId>(loaded_->model.config().vocab_size);
  EXPECT_EQ(one->append(bad).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(one->n_computed(), 20u);
  EXPECT_LT(difference(logits_after(*one, more), expected), kClose);
}

// Runs batch by batch, with another request between any two batches.
TEST_P(EachModel, AbandonedBetweenBatchesItIsAsItWas) {
  const auto one = session(8);
  const auto scratch = session();
  const auto ids = tokens(20);
  const auto more = tokens(30, 2);
  (void)logits_after(*one, ids);
  const auto expected = logits_after(*scratch, joined({ids, more}));
  for (int n_batches = 0; n_batches < 5; ++n_batches) {
    ASSERT_TRUE(one->begin(more, {.output = Output::none}).ok());
    for (int i = 0; i < n_batches; ++i) ASSERT_TRUE(one->advance(7).ok());
    EXPECT_EQ(one->n_positions(), 50u);
    EXPECT_EQ(one->n_left(), 30u - 7u * static_cast<uint32_t>(n_batches));
    ASSERT_TRUE(one->abandon().ok() && one->abandon().ok());
    EXPECT_EQ(one->n_positions(), 20u);
    EXPECT_EQ(one->n_computed(), 20u);
  }
  // The next append also abandons the unfinished one, and so does a batch that fails.
  ASSERT_TRUE(one->begin(more, {}).ok() && one->advance().ok());
  EXPECT_EQ(one->append({}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(one->n_computed(), 20u);
  auto bad = more;
  bad[25] = -1;
  ASSERT_TRUE(one->begin(bad, {}).ok() && one->advance().ok());
  while (one->n_left() > 0 && one->advance().ok()) {
  }
  EXPECT_EQ(one->n_positions(), 20u);
  EXPECT_EQ(one->n_computed(), 20u);
  EXPECT_LT(difference(logits_after(*one, more), expected), kClose);
}

// If the tokens replace the context, their complete batches stay.
TEST_P(EachModel, AbandonedAPromptThatReplacesTheContextKeepsItsBatches) {
  const auto one = session(8);
  const auto scratch = session();
  const auto ids = tokens(20);
  (void)logits_after(*one, ids);
  one->add_checkpoint();
  auto next = ids;
  const auto more = tokens(30, 2);
  next.insert(next.end(), more.begin(), more.end());
  ASSERT_TRUE(one->begin(next, {.replaces_context = true}).ok());
  EXPECT_EQ(one->n_left(), 30u);
  ASSERT_TRUE(one->advance().ok() && one->advance().ok() && one->abandon().ok());
  EXPECT_EQ(one->n_positions(), 36u);
  EXPECT_EQ(one->n_left(), 0u);
  EXPECT_TRUE(std::equal(one->tokens().begin(), one->tokens().end(), next.begin()));
  ASSERT_TRUE(one->begin(next, {.replaces_context = true}).ok());
  EXPECT_EQ(one->n_left(), 14u);
  while (one->n_left() > 0) ASSERT_TRUE(one->advance().ok());
  const std::vector<float> logits(one->logits().begin(), one->logits().end());
  EXPECT_LT(difference(logits, fresh_logits(*scratch, next)), kClose);
}

TEST_P(EachModel, ADeferredTokenIsComputedByWhatComesNext) {
  const auto scratch = session();
  const auto ids = tokens(20);
  const auto more = tokens(5, 2);
  const auto with_deferred = joined({ids, {7}});
  const auto behind_deferred = fresh_logits(*scratch, with_deferred);
  const auto behind_all = fresh_logits(*scratch, joined({with_deferred, more}));
  const auto one = session();
  (void)logits_after(*one, ids);
  ASSERT_TRUE(one->defer(7).ok());
  EXPECT_EQ(one->n_positions(), 21u);
  EXPECT_EQ(one->n_computed(), 20u);
  auto fork = one->fork();
  const auto saved = save_state(*one);
  ASSERT_TRUE(fork.ok() && saved.ok());
  const auto other = session();
  ASSERT_TRUE(restore_state(*other, saved.value().bytes()).ok());
  for (Session* session : {one.get(), fork.value().get(), other.get()}) {
    ASSERT_EQ(session->n_left(), 1u);
    // An append that fails leaves the token to compute.
    EXPECT_FALSE(session->append(std::vector<TokenId>{3, -1}).ok());
    EXPECT_EQ(session->n_positions(), 21u);
    EXPECT_LT(difference(logits_after(*session, more), behind_all), kClose);
  }
  const Status to_deferred = one->truncate(21);
  ASSERT_TRUE(to_deferred.ok() && one->begin_logits().ok());
  while (one->n_left() > 0) ASSERT_TRUE(one->advance().ok());
  const std::vector<float> logits(one->logits().begin(), one->logits().end());
  EXPECT_LT(difference(logits, behind_deferred), kClose);
}

TEST_P(EachModel, SavesAndRestores) {
  const auto one = session();
  const auto ids = tokens(50);
  const auto more = tokens(7, 2);
  (void)logits_after(*one, ids);
  const auto saved = save_state(*one);
  ASSERT_TRUE(saved.ok());
  const auto expected = logits_after(*one, more);
  const auto other = session(16, 32);
  (void)logits_after(*other, tokens(9, 3));
  const Status restored = restore_state(*other, saved.value().bytes());
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_LT(difference(logits_after(*other, more), expected), kClose);
  // If a part must be computed again, that is saved, too.
  ASSERT_TRUE(one->truncate(40).ok());
  const auto behind = save_state(*one);
  ASSERT_TRUE(behind.ok());
  ASSERT_TRUE(restore_state(*other, behind.value().bytes()).ok());
  EXPECT_EQ(other->n_positions(), 40u);
  EXPECT_LT(difference(logits_after(*other, more), logits_after(*one, more)), kClose);
}

TEST_P(EachModel, ADamagedStateIsRefused) {
  const auto one = session();
  (void)logits_after(*one, tokens(20));
  auto saved = save_state(*one);
  ASSERT_TRUE(saved.ok());
  const std::vector<std::byte> whole(saved.value().bytes().begin(), saved.value().bytes().end());
  for (size_t at = 0; at < whole.size(); at += whole.size() / 97 + 1) {
    auto changed = whole;
    changed[at] ^= std::byte{0x10};
    EXPECT_FALSE(restore_state(*one, changed).ok()) << at;
  }
  EXPECT_EQ(one->n_positions(), 20u);
}

TEST_P(EachModel, RefusesToShiftWhatHoldsTheDroppedTokens) {
  const auto one = session();
  (void)logits_after(*one, tokens(40));
  const Status shifted = one->shift(4, 10);
  EXPECT_EQ(shifted.ok(), !keeps_state());
  if (!shifted.ok()) {
    EXPECT_EQ(shifted.error().code, ErrorCode::unsupported_feature);
    EXPECT_NE(shifted.error().message.find("recurrent state"), std::string::npos);
    EXPECT_EQ(one->n_positions(), 40u);
  }
}

// Twenty turns with the whole conversation as the prompt: each turn computes the new tokens, and at
// most also those after the last checkpoint.
TEST_P(EachModel, ALongChatComputesOnlyWhatIsNew) {
  const auto one = session();
  std::vector<TokenId> conversation = tokens(12);
  for (uint32_t turn = 0; turn < 20; ++turn) {
    const uint32_t n_before = one->n_computed();  // without the last token drawn
    const auto question = tokens(6, 1000 + turn);
    conversation.insert(conversation.end(), question.begin(), question.end());
    auto generation = start(*one, conversation, 5);
    ASSERT_TRUE(generation.ok()) << generation.error().message;
    const uint32_t n_kept = one->n_computed();
    EXPECT_EQ(n_kept, n_before) << "turn " << turn;
    if (turn > 0) {
      EXPECT_GE(n_kept + 1, conversation.size() - question.size());
    }
    for (;;) {
      const auto step = generation.value().step();
      ASSERT_TRUE(step.ok()) << step.error().message;
      if (step.value().finish != FinishReason::none) break;
      if (step.value().token != kNoToken) conversation.push_back(step.value().token);
    }
  }
}

// A template may drop a part of the last answer, as those of thinking models do. The session then
// goes back to the end of the prompt, and no further.
TEST_P(EachModel, AnAnswerThatIsDroppedCostsNoMoreThanItself) {
  const auto one = session();
  const auto prompt = tokens(60);
  auto first = start(*one, prompt, 20);
  ASSERT_TRUE(first.ok());
  while (first.value().step().value().finish == FinishReason::none) {
  }
  auto next = prompt;
  const auto other = tokens(10, 5);
  next.insert(next.end(), other.begin(), other.end());
  ASSERT_TRUE(start(*one, next, 1).ok());
  EXPECT_EQ(one->n_computed(), 60u);
}

INSTANTIATE_TEST_SUITE_P(Models, EachModel,
                         testing::Values("arch/llama.gguf", "arch/gemma3.gguf", "arch/gemma4.gguf",
                                         "hybrid/lfm2.gguf", "hybrid/lfm2moe.gguf",
                                         "hybrid/qwen35.gguf", "hybrid/mamba2.gguf",
                                         "hybrid/granitehybrid.gguf",
                                         "hybrid/granitehybrid-moe.gguf", "hybrid/falcon-h1.gguf",
                                         "hybrid/qwen35moe.gguf", "hybrid/lfm3.gguf",
                                         "hybrid/lfm3-plain.gguf", "arch/k2-horizon.gguf",
                                         "hybrid/nemotron_h-Q4_0.gguf"),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace kinglet
