// Answers that take turns, in sessions of their own.
#include "answers/runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "session/sessions.h"

namespace kinglet {
namespace {

constexpr uint32_t kSizes[] = {96, 128, 96, 128, 96};
constexpr uint32_t kTokens = 30;

class RunnerTest : public testing::Test {
 protected:
  struct Told {
    std::string text;
    std::string error;
    size_t n_events = 0;
    FinishReason finish = FinishReason::none;
  };

  std::unique_ptr<Session> session(uint32_t n_ctx) {
    return make_session(loaded_, pool_, {.n_ctx = n_ctx, .n_batch = 16});
  }

  std::unique_ptr<Runner> runner(double batch_seconds = 0) {
    auto made = Runner::create(loaded_, pool_, {.batch_seconds = batch_seconds});
    EXPECT_TRUE(made.ok());
    return std::move(made.value());
  }

  AnswerJob job(const std::string& prompt, Session& session, Told& told) const {
    AnswerJob job{.prompt = loaded_.tokenizer->encode(prompt),
                  .options = {},
                  .plan = {},
                  .deliver =
                      [&told](Result<AnswerEvent> event) {
                        ++told.n_events;
                        if (!event.ok()) {
                          told.error = event.error().message;
                          return;
                        }
                        told.text += event.value().added.text;
                        told.finish = event.value().finish;
                      },
                  .session = &session};
    job.options.max_tokens = kTokens;
    job.options.sampler.temperature = 0;
    return job;
  }

  std::string alone(const std::string& prompt, uint32_t n_ctx) {
    Told told;
    const auto own = session(n_ctx);
    const auto single = runner();
    single->submit(job(prompt, *own, told));
    while (single->is_busy()) single->advance();
    EXPECT_EQ(single->state().n_passes, single->state().n_decoded);
    return told.text;
  }

  LanguageModel loaded_ = load_stories();
  ThreadPool pool_{1};
};

const std::vector<std::string> kBeginnings = {"Once upon a time", "The sun", "One day a cat",
                                              "Lily had a red ball and she", "A bear"};

TEST_F(RunnerTest, ContextsOfEachSizeAreComputedTogether) {
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<Told> told(kBeginnings.size());
  const auto several = runner(0.001);
  for (size_t i = 0; i < kBeginnings.size(); ++i) {
    sessions.push_back(session(kSizes[i]));
    several->submit(job(kBeginnings[i], *sessions[i], told[i]));
  }
  while (several->is_busy()) several->advance(std::chrono::milliseconds(5));
  for (size_t i = 0; i < kBeginnings.size(); ++i) {
    EXPECT_EQ(told[i].text, alone(kBeginnings[i], kSizes[i]));
    EXPECT_EQ(told[i].finish, FinishReason::length);
    EXPECT_LE(told[i].n_events, kTokens + 1);  // progress in a prompt is no event
  }
  const RunnerState state = several->state();
  EXPECT_EQ(state.n_running, 0u);
  EXPECT_GT(state.n_decoded, 2 * state.n_passes);
}

TEST_F(RunnerTest, JobsThatNobodyWaitsForEnd) {
  std::atomic<uint32_t> is_cancelled = 0;
  Told running;
  Told late;
  const auto one = session(128);
  const auto other = session(128);
  const auto both = runner();
  AnswerJob first = job("Once upon a time", *one, running);
  first.options.cancellation = {&is_cancelled, 1};
  AnswerJob second = first;
  second.session = other.get();
  second.deliver = job("", *other, late).deliver;
  both->submit(std::move(first));
  both->advance();
  is_cancelled = 1;
  both->submit(std::move(second));
  EXPECT_EQ(late.error, "cancelled before it began");
  for (int i = 0; i < 3; ++i) both->advance();
  EXPECT_FALSE(both->is_busy());
  EXPECT_EQ(running.finish, FinishReason::cancelled);
}

TEST_F(RunnerTest, AbandoningEndsAnswersAndTexts) {
  Told told;
  std::string error;
  const auto own = session(128);
  const auto busy = runner();
  busy->submit(job("The sun", *own, told));
  busy->submit(EncodingJob{
      .encoding = {.texts = {loaded_.tokenizer->encode("The sun")}},
      .deliver = [&](const Result<Rows>& rows) { error = rows.ok() ? "" : rows.error().message; }});
  busy->abandon({ErrorCode::cancelled, "enough"});
  EXPECT_EQ(told.error, "enough");
  EXPECT_EQ(error, "enough");
  EXPECT_FALSE(busy->is_busy());
}

}  // namespace
}  // namespace kinglet
