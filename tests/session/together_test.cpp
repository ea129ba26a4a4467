// Decoding for several sessions in one pass.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "session/sessions.h"

namespace kinglet {
namespace {

constexpr SessionOptions kOptions{.n_ctx = 64, .n_batch = 16, .page_positions = 8};

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
    auto scratch = Scratch::create(loaded_.model, 4, pool_.n_threads(), 4);
    EXPECT_TRUE(scratch.ok());
    return Session::compute_together(sessions, scratch.value());
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

}  // namespace
}  // namespace kinglet
