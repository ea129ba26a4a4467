// Answers that are computed together, on a thread of their own.
#include "server/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/mailbox.h"
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

  static GenerationOptions greedy(uint32_t n_tokens) {
    GenerationOptions options;
    options.max_tokens = n_tokens;
    options.sampler.temperature = 0;
    options.replaces_context = true;
    return options;
  }

  // An answer whose events come to a mailbox.
  struct Asked {
    AnswerJob job;
    std::shared_ptr<Mailbox<AnswerEvent>> mailbox = std::make_shared<Mailbox<AnswerEvent>>();
  };

  Asked ask(const std::string& text, uint32_t n_tokens) const {
    Asked asked{{.prompt = tokens(text), .options = greedy(n_tokens), .plan = {}, .deliver = {}}};
    asked.job.options.cancellation = asked.mailbox->cancellation();
    asked.job.deliver = [mailbox = asked.mailbox](Result<AnswerEvent> event) {
      mailbox->deliver(std::move(event));
    };
    return asked;
  }

  // The text of an answer, or the message of its error.
  static std::string text_of(const Asked& asked) {
    std::string text;
    while (auto event = asked.mailbox->wait(milliseconds(20'000))) {
      if (!event->ok()) return text + event->error().message;
      text += event->value().added.text;
      if (event->value().is_last()) return text;
    }
    return text + "nothing came";
  }

  std::string alone(const std::string& text, uint32_t n_tokens) {
    const auto session = make_session(loaded_, pool_, kSession);
    auto generation =
        Generation::start(*session, *loaded_.tokenizer, tokens(text), greedy(n_tokens));
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
    std::vector<Asked> jobs;
    for (const std::string& prompt : kPrompts) {
      jobs.push_back(ask(prompt, 30));
      scheduler->submit(jobs.back().job);
    }
    for (size_t i = 0; i < jobs.size(); ++i) EXPECT_EQ(text_of(jobs[i]), expected[i]);
  }
  EXPECT_GT(metrics_.cached_tokens, 0u);
  EXPECT_GT(metrics_.decoded_tokens, 2 * metrics_.decoding_steps);  // several in one pass
  EXPECT_EQ(metrics_.generated_tokens, 2 * 30 * kPrompts.size());
}

TEST_F(SchedulerTest, AnswersWaitForPagesInTheirOrder) {
  // 16 pages. The third answer would fit in addition to the first. But the second, which fits in
  // addition to neither, comes before the third.
  const auto scheduler = start(4, 128);
  std::vector<Asked> jobs = {ask(kPrompts[0], 60), ask(kPrompts[1], 90), ask(kPrompts[3], 40)};
  const std::string expected[] = {alone(kPrompts[0], 60), alone(kPrompts[1], 90),
                                  alone(kPrompts[3], 40)};
  std::string order;  // of the events, by answer
  for (size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].job.deliver = [&order, i, deliver = jobs[i].job.deliver](Result<AnswerEvent> event) {
      order += static_cast<char>('1' + i);
      deliver(std::move(event));
    };
    scheduler->submit(jobs[i].job);
  }
  for (size_t i = 0; i < jobs.size(); ++i) EXPECT_EQ(text_of(jobs[i]), expected[i]);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end())) << order;
}

TEST_F(SchedulerTest, ManyAnswersUseUpNoPages) {
  const auto scheduler = start(3, 256);
  for (int i = 0; i < 30; ++i) {
    const std::string prompt = kPrompts[static_cast<size_t>(i) % kPrompts.size()];
    const auto one = ask(prompt, 40);
    const auto other = ask("A " + std::to_string(i), 40);
    scheduler->submit(one.job);
    scheduler->submit(other.job);
    EXPECT_EQ(text_of(one), alone(prompt, 40));
    EXPECT_EQ(text_of(other), alone("A " + std::to_string(i), 40));
  }
}

TEST_F(SchedulerTest, WhatNobodyWaitsForIsNotComputed) {
  const auto scheduler = start(1);
  const auto running = ask(kPrompts[0], 1'000'000);
  const auto waiting = ask(kPrompts[1], 10);
  const auto wanted = ask(kPrompts[3], 5);
  waiting.mailbox->cancel();
  for (const auto& each : {running, waiting, wanted}) scheduler->submit(each.job);
  ASSERT_TRUE(running.mailbox->wait(milliseconds(20'000)));
  running.mailbox->cancel();
  EXPECT_EQ(text_of(wanted), alone(kPrompts[3], 5));
  EXPECT_EQ(text_of(waiting), "cancelled before it began");
}

TEST_F(SchedulerTest, StoppingTellsAllThatWait) {
  auto scheduler = start(1);
  const auto running = ask(kPrompts[0], 1'000'000);
  const auto waiting = ask(kPrompts[1], 10);
  scheduler->submit(running.job);
  scheduler->submit(waiting.job);
  scheduler->stop();
  EXPECT_EQ(text_of(waiting), "the server is stopping");
  const auto late = ask(kPrompts[1], 10);
  scheduler->submit(late.job);
  EXPECT_EQ(text_of(late), "the server is stopping");
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
  const auto answer = ask(kPrompts[0], 40);
  std::vector<std::vector<TokenId>> texts;
  for (const std::string& prompt : kPrompts) texts.push_back(tokens(prompt));
  Mailbox<Rows> encoded;
  scheduler->submit(answer.job);
  scheduler->submit(
      EncodingJob{.encoding = {texts, Pooling::mean},
                  .deliver = [&](Result<Rows> rows) { encoded.deliver(std::move(rows)); }});
  auto rows = encoded.wait(milliseconds(20'000));
  ASSERT_TRUE(rows && rows->ok());
  auto encoder = Encoder::create(loaded_.model, pool_, 64);
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<std::span<const TokenId>> one = {texts[i]};
    ASSERT_TRUE(encoder.value().run(one).ok());
    std::vector<float> vector(encoder.value().embedding_size(0, Pooling::mean));
    ASSERT_TRUE(encoder.value().embed(0, Pooling::mean, vector).ok());
    EXPECT_EQ(rows->value()[i], vector);
  }
  EXPECT_EQ(text_of(answer), alone(kPrompts[0], 40));
}

}  // namespace
}  // namespace kinglet::server
