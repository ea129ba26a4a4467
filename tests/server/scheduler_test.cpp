// Answers that are computed together, and the sessions that they share.
#include "server/scheduler.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/session_pool.h"
#include "session/sessions.h"

namespace kinglet::server {
namespace {

using std::chrono::milliseconds;

constexpr SequenceOptions kSession{.n_ctx = 128, .n_batch = 16, .page_positions = 8};

class SchedulerTest : public testing::Test {
 protected:
  std::unique_ptr<Scheduler> start(uint32_t n_parallel, uint32_t pool_positions = 1024) {
    auto scheduler = Scheduler::create(
        loaded_, pool_,
        {.session = kSession, .pool_positions = pool_positions, .n_parallel = n_parallel},
        metrics_);
    EXPECT_TRUE(scheduler.ok()) << scheduler.error().message;
    return std::move(scheduler.value());
  }

  std::vector<TokenId> tokens(const std::string& text) const {
    return loaded_.tokenizer->encode(text);
  }

  std::shared_ptr<GenerationJob> job(const std::string& text, uint32_t n_tokens) const {
    GenerationOptions options;
    options.max_tokens = n_tokens;
    options.sampler.temperature = 0;
    options.replaces_context = true;
    return std::make_shared<GenerationJob>(tokens(text), options);
  }

  // The text of an answer, or the message of its error.
  static std::string text_of(GenerationJob& job) {
    std::string text;
    while (auto event = job.wait(milliseconds(20'000))) {
      if (event->error) return text + event->error->message;
      text += event->step.text;
      if (event->is_last()) return text;
    }
    return text + "nothing came";
  }

  std::string alone(const std::string& text, uint32_t n_tokens) {
    const auto session = make_session(loaded_, pool_, kSession);
    GenerationOptions options = job(text, n_tokens)->options();
    options.cancellation = {};
    auto generation = Generation::start(*session, *loaded_.tokenizer, tokens(text), options);
    EXPECT_TRUE(generation.ok());
    std::string answer;
    for (auto reason = FinishReason::none; reason == FinishReason::none;) {
      auto step = generation.value().step();
      EXPECT_TRUE(step.ok());
      answer += step.value().text;
      reason = step.value().finish;
    }
    return answer;
  }

  LanguageModel loaded_ = load_stories();
  ThreadPool pool_{1};
  Metrics metrics_;
};

const std::vector<std::string> kPrompts = {
    "Once upon a time",
    "One day a cat",
    "Once upon a time there was a dog who",
    "The sun",
    "Lily had a red ball and she",
    "Once upon a time there was a bear who lived in a big forest"};

TEST_F(SchedulerTest, AnswersTogetherAreThoseAlone) {
  std::vector<std::string> expected;
  for (const std::string& prompt : kPrompts) expected.push_back(alone(prompt, 30));
  const auto scheduler = start(4);
  for (int round = 0; round < 2; ++round) {
    std::vector<std::shared_ptr<GenerationJob>> jobs;
    for (const std::string& prompt : kPrompts) {
      jobs.push_back(job(prompt, 30));
      scheduler->submit(jobs.back());
    }
    for (size_t i = 0; i < jobs.size(); ++i) EXPECT_EQ(text_of(*jobs[i]), expected[i]);
  }
  EXPECT_GT(metrics_.cached_tokens, 0u);
  EXPECT_GT(metrics_.decoded_tokens, 2 * metrics_.decoding_steps);  // several in one pass
  EXPECT_EQ(metrics_.generated_tokens, 2 * 30 * kPrompts.size());
}

TEST_F(SchedulerTest, AnswersWaitForPagesInTheirOrder) {
  // 16 pages. The third answer would fit in addition to the first. But the second, which fits in
  // addition to neither, comes before the third.
  const auto scheduler = start(4, 128);
  const auto first = job(kPrompts[0], 60);
  const auto second = job(kPrompts[1], 90);
  const auto third = job(kPrompts[3], 40);
  const std::string expected[] = {alone(kPrompts[0], 60), alone(kPrompts[1], 90),
                                  alone(kPrompts[3], 40)};
  for (const auto& each : {first, second, third}) scheduler->submit(each);
  EXPECT_EQ(text_of(*first), expected[0]);
  EXPECT_FALSE(third->wait(milliseconds(0)));
  EXPECT_EQ(text_of(*second), expected[1]);
  EXPECT_EQ(text_of(*third), expected[2]);
}

TEST_F(SchedulerTest, ManyAnswersUseUpNoPages) {
  const auto scheduler = start(3, 256);
  for (int i = 0; i < 30; ++i) {
    const std::string prompt = kPrompts[static_cast<size_t>(i) % kPrompts.size()];
    const auto one = job(prompt, 40);
    const auto other = job("A " + std::to_string(i), 40);
    scheduler->submit(one);
    scheduler->submit(other);
    EXPECT_EQ(text_of(*one), alone(prompt, 40));
    EXPECT_EQ(text_of(*other), alone("A " + std::to_string(i), 40));
  }
}

TEST_F(SchedulerTest, WhatNobodyWaitsForIsNotComputed) {
  const auto scheduler = start(1);
  const auto running = job(kPrompts[0], 1'000'000);
  const auto waiting = job(kPrompts[1], 10);
  const auto wanted = job(kPrompts[3], 5);
  waiting->cancel();
  for (const auto& each : {running, waiting, wanted}) scheduler->submit(each);
  ASSERT_TRUE(running->wait(milliseconds(20'000)));
  running->cancel();
  EXPECT_EQ(text_of(*wanted), alone(kPrompts[3], 5));
  EXPECT_EQ(text_of(*waiting), "cancelled before it was begun");
}

TEST_F(SchedulerTest, StoppingTellsAllThatWait) {
  auto scheduler = start(1);
  const auto running = job(kPrompts[0], 1'000'000);
  const auto waiting = job(kPrompts[1], 10);
  scheduler->submit(running);
  scheduler->submit(waiting);
  scheduler->stop();
  EXPECT_EQ(text_of(*waiting), "the server is being stopped");
  const auto late = job(kPrompts[1], 10);
  scheduler->submit(late);
  EXPECT_EQ(text_of(*late), "the server is being stopped");
}

TEST_F(SchedulerTest, RequestsBeyondTheQueueAreRefused) {
  auto scheduler = Scheduler::create(
      loaded_, pool_, {.session = kSession, .pool_positions = 128, .n_parallel = 1, .n_queue = 1},
      metrics_);
  ASSERT_TRUE(scheduler.ok());
  {
    const auto first = scheduler.value()->admit();
    const auto second = scheduler.value()->admit();
    EXPECT_TRUE(first && second);
    EXPECT_FALSE(scheduler.value()->admit());
  }
  EXPECT_TRUE(scheduler.value()->admit());
  EXPECT_EQ(metrics_.refused, 1u);
}

TEST_F(SchedulerTest, TextsBecomeVectorsBesideAnswers) {
  const auto scheduler = start(2);
  const auto answer = job(kPrompts[0], 40);
  std::vector<std::vector<TokenId>> texts;
  for (const std::string& prompt : kPrompts) texts.push_back(tokens(prompt));
  const auto encoding = std::make_shared<EncodingJob>(texts, Pooling::mean);
  scheduler->submit(answer);
  scheduler->submit(encoding);
  auto rows = encoding->wait(milliseconds(20'000));
  ASSERT_TRUE(rows && rows->ok());
  auto encoder = Encoder::create(loaded_.model, pool_, 64);
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<std::span<const TokenId>> one = {texts[i]};
    ASSERT_TRUE(encoder.value().run(one).ok());
    std::vector<float> vector(encoder.value().embedding_size(0, Pooling::mean));
    ASSERT_TRUE(encoder.value().embed(0, Pooling::mean, vector).ok());
    EXPECT_EQ(rows->value()[i], vector);
  }
  EXPECT_EQ(text_of(*answer), alone(kPrompts[0], 40));
}

class SessionPoolTest : public SchedulerTest {
 protected:
  std::unique_ptr<Session> take(SessionPool& pool, const std::vector<TokenId>& prompt) {
    auto session = pool.take(prompt, {});
    EXPECT_TRUE(session.ok());
    return std::move(session.value());
  }

  std::unique_ptr<Session> holding(const std::vector<TokenId>& prompt) {
    auto session = Session::create_in(store_, loaded_.model, pool_, kSession);
    EXPECT_TRUE(session.value()->append(prompt).ok());
    return std::move(session.value());
  }

  std::shared_ptr<KvStore> store_ =
      make_kv_store(loaded_.model, 256, 8, KvKind::f32, KvKind::f32).value();
};

TEST_F(SessionPoolTest, GivesTheSessionThatSharesMost) {
  SessionPool pool(loaded_.model, pool_, store_, kSession, 4);
  std::vector<TokenId> begun(40);
  for (size_t i = 0; i < begun.size(); ++i) begun[i] = static_cast<TokenId>(300 + i);
  pool.give_back(holding({begun.begin(), begun.begin() + 20}));
  pool.give_back(holding(begun));
  const uint32_t n_used = store_->n_used();

  // The first half of the longer session's tokens and more: a fork that takes no page, and both
  // stay.
  std::vector<TokenId> other(begun.begin(), begun.begin() + 30);
  other.push_back(7);
  const auto forked = take(pool, other);
  EXPECT_EQ(pool.n_idle(), 2u);
  EXPECT_EQ(forked->keep_prefix(other), 30u);
  EXPECT_EQ(store_->n_used(), n_used);

  // A prompt that continues the longer session takes that session.
  begun.push_back(8);
  const auto taken = take(pool, begun);
  EXPECT_EQ(pool.n_idle(), 1u);
  EXPECT_EQ(taken->n_positions(), 40u);

  // A prompt that begins differently shares nothing.
  EXPECT_EQ(take(pool, {1, 2, 3})->n_positions(), 0u);
}

TEST_F(SessionPoolTest, GivesUpTheOldestFirst) {
  SessionPool pool(loaded_.model, pool_, store_, kSession, 2);
  std::vector<std::vector<TokenId>> prompts;
  for (TokenId first = 300; first < 600; first += 100) {
    prompts.emplace_back();
    for (TokenId i = 0; i < 40; ++i) prompts.back().push_back(first + i);
    pool.give_back(holding(prompts.back()));
  }
  EXPECT_EQ(pool.n_idle(), 2u);
  EXPECT_EQ(store_->n_used(), 10u);
  pool.make_room(store_->n_free() + 1);
  EXPECT_EQ(pool.n_idle(), 1u);
  prompts[2].push_back(5);
  EXPECT_EQ(take(pool, prompts[2])->n_positions(), 40u);
  pool.make_room(1000);
  EXPECT_EQ(store_->n_used(), 0u);
}

}  // namespace
}  // namespace kinglet::server
