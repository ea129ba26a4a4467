// Decoding for several sessions in one pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "session/joint_decoding.h"
#include "session/sessions.h"

namespace kinglet {
namespace {

constexpr SequenceOptions kOptions{.n_ctx = 64, .n_batch = 16, .page_positions = 8};

class SessionsTogether : public testing::Test {
 protected:
  std::unique_ptr<Session> begin(TokenId first, uint32_t n) {
    auto session = Session::create_in(store_, loaded_.model, pool_, kOptions);
    EXPECT_TRUE(session.ok());
    std::vector<TokenId> prompt;
    for (uint32_t i = 0; i < n; ++i) prompt.push_back(first + static_cast<TokenId>(i));
    EXPECT_TRUE(session.value()->append(prompt).ok());
    return std::move(session.value());
  }

  Status compute(const std::vector<Session*>& sessions) {
    auto pass = CpuJointPass::create(loaded_.model, pool_, 4);
    EXPECT_TRUE(pass.ok());
    return Session::compute_together(sessions, *pass.value());
  }

  LanguageModel loaded_ = load_stories();
  ThreadPool pool_{2};
  std::shared_ptr<KvStore> store_ =
      make_kv_store(loaded_.model, 48, 8, KvKind::f32, KvKind::f32).value();
};

TEST_F(SessionsTogether, EachHasTheLogitsItWouldHaveAlone) {
  const auto a = begin(300, 5);
  const auto b = begin(400, 8);
  const auto c = a->fork();  // shares its page
  ASSERT_TRUE(c.ok());
  const std::vector<Session*> sessions = {a.get(), b.get(), c.value().get()};
  EXPECT_FALSE(a->can_join());
  for (int round = 0; round < 3; ++round) {
    std::vector<std::vector<float>> alone;
    for (size_t i = 0; i < sessions.size(); ++i) {
      const auto token = static_cast<TokenId>(500 + 10 * static_cast<int>(i) + round);
      const auto own = make_session(loaded_, pool_, kOptions);
      const std::vector<TokenId> known(sessions[i]->tokens().begin(), sessions[i]->tokens().end());
      (void)logits_after(*own, known);
      alone.push_back(logits_after(*own, {&token, 1}));
      ASSERT_TRUE(sessions[i]->defer(token).ok());
      EXPECT_TRUE(sessions[i]->can_join());
    }
    ASSERT_TRUE(compute(sessions).ok());
    for (size_t i = 0; i < sessions.size(); ++i) {
      EXPECT_EQ(sessions[i]->n_left(), 0u);
      EXPECT_EQ(std::vector<float>(sessions[i]->logits().begin(), sessions[i]->logits().end()),
                alone[i]);
    }
  }
}

TEST_F(SessionsTogether, WithoutAPageForOneNothingHasChanged) {
  const auto a = begin(300, 5);
  const auto b = begin(400, 8);
  const auto c = begin(500, 32);  // takes all other pages
  ASSERT_EQ(store_->n_free(), 0u);
  ASSERT_TRUE(a->defer(7).ok());
  ASSERT_TRUE(b->defer(7).ok());
  const Status status = compute({a.get(), b.get()});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::out_of_memory);
  EXPECT_TRUE(a->can_join());
  EXPECT_TRUE(b->can_join());
  ASSERT_TRUE(c->truncate(0).ok());
  EXPECT_TRUE(compute({a.get(), b.get()}).ok());
}

// One answer, alone or with others.
struct JoiningAnswer {
  std::unique_ptr<Session> session;
  std::optional<Generation> generation;
  std::vector<TokenId> tokens;
  bool is_over = false;

  JoiningAnswer(const LanguageModel& loaded, ThreadPool& pool, const SequenceOptions& of_session,
                TokenId first)
      : session(make_session(loaded, pool, of_session)) {
    const std::vector<TokenId> prompt = {1, first, first + 1};
    GenerationOptions options;
    options.max_tokens = 20;
    options.sampler.temperature = 0.7f;
    options.sampler.seed = static_cast<uint64_t>(first);
    auto started = Generation::start(*session, *loaded.tokenizer, prompt, options);
    EXPECT_TRUE(started.ok());
    generation.emplace(std::move(started.value()));
  }

  void step() {
    const auto step = generation->step();
    ASSERT_TRUE(step.ok());
    if (step.value().token != kNoToken) tokens.push_back(step.value().token);
    is_over = step.value().is_last();
  }
};

TEST(JointDecoding, LeavesEachAnswerAsItIsAlone) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool(2);
  const SequenceOptions options[] = {
      {.n_ctx = 64}, {.n_ctx = 64, .page_positions = 8}, {.n_ctx = 64, .k_kind = KvKind::int8}};
  std::vector<std::vector<TokenId>> alone;
  for (size_t i = 0; i < std::size(options); ++i) {
    JoiningAnswer answer(loaded, pool, options[i], 300 + static_cast<TokenId>(i));
    while (!answer.is_over) answer.step();
    alone.push_back(answer.tokens);
  }
  auto joint = JointDecoding::create(loaded.model, pool, 2);
  ASSERT_TRUE(joint.ok() && joint.value());
  std::vector<std::unique_ptr<JoiningAnswer>> answers;
  size_t most = 0;
  const auto all_over = [&] {
    return std::all_of(answers.begin(), answers.end(), [](const auto& a) { return a->is_over; });
  };
  while (answers.size() < std::size(options) || !all_over()) {
    const size_t n = answers.size();  // one begins in each of the first rounds
    if (n < std::size(options)) {
      answers.push_back(
          std::make_unique<JoiningAnswer>(loaded, pool, options[n], 300 + static_cast<TokenId>(n)));
    }
    std::vector<RunningAnswer> running;
    for (const auto& answer : answers) {
      if (!answer->is_over) running.push_back({answer->session.get(), &*answer->generation});
    }
    most = std::max(most, joint.value()->compute(running));
    for (const auto& answer : answers) {
      if (!answer->is_over) answer->step();
    }
  }
  EXPECT_EQ(most, 2u);
  for (size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i]->tokens, alone[i]) << i;
}

}  // namespace
}  // namespace kinglet
