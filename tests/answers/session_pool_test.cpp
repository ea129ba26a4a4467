// Sessions that share pages.
#include "answers/session_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "session/sessions.h"

namespace kinglet {
namespace {

constexpr SequenceOptions kSession{.n_ctx = 128, .n_batch = 16, .page_positions = 8};

class SessionPoolTest : public testing::Test {
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

  LanguageModel loaded_ = load_stories();
  ThreadPool pool_{1};
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
}  // namespace kinglet
