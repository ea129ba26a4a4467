#include "session/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>
#include <vector>

#include "allocations.h"
#include "base/aligned_buffer.h"
#include "gguf/file.h"
#include "kv/rows.h"
#include "model/forward.h"
#include "model/runner.h"
#include "model/scratch.h"
#include "model/shift.h"
#include "session/generation.h"
#include "session/language_model.h"
#include "session/prompt_lookup.h"
#include "session/sessions.h"
#include "support.h"

namespace kinglet {
namespace {

std::vector<TokenId> story(size_t n) {
  std::vector<TokenId> ids = {1};
  while (ids.size() < n) ids.push_back(static_cast<TokenId>(300 + ids.size() * 37 % 1500));
  return ids;
}

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
  return largest;
}

class EachKind : public testing::TestWithParam<size_t> {
 protected:
  SequenceOptions options(uint32_t page_positions) const {
    SequenceOptions session;
    session.n_ctx = 256;
    session.k_kind = session.v_kind = static_cast<KvKind>(GetParam());
    session.page_positions = page_positions;
    return session;
  }
};

TEST_P(EachKind, PagesGiveTheNumbersOfOnePiece) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  const auto tokens = story(150);
  const auto whole = logits_after(*make_session(loaded, pool, options(0)), tokens);
  // Blocks of attention end at page boundaries. Sums are then rounded in another order, which
  // changes some of the codes to which activations are rounded.
  const auto aligned = logits_after(*make_session(loaded, pool, options(64)), tokens);
  EXPECT_EQ(whole, aligned);
  const auto small = logits_after(*make_session(loaded, pool, options(5)), tokens);
  EXPECT_LT(largest_difference(whole, small), 0.5f);
}

TEST_P(EachKind, PrefillAndDecodeAgree) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  const auto tokens = story(100);
  const auto together = logits_after(*make_session(loaded, pool, options(0)), tokens);
  const auto session = make_session(loaded, pool, options(0));
  std::vector<float> one_by_one;
  for (const TokenId token : tokens) one_by_one = logits_after(*session, {&token, 1});
  EXPECT_EQ(together, one_by_one);
}

TEST_P(EachKind, ForksGoTheirOwnWays) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  const auto tokens = story(70);
  const std::vector<TokenId> one = {400, 401, 402};
  const std::vector<TokenId> other = {500, 501};
  for (const uint32_t page_positions : {0u, 32u}) {
    const auto session = make_session(loaded, pool, options(page_positions));
    ASSERT_TRUE(session->append(tokens).ok());
    auto child = session->fork();
    if (page_positions > 0) {
      // The session's own pages are enough for 256 positions in all.
      ASSERT_TRUE(child.ok());
      EXPECT_EQ(&child.value()->sequence().state_here()->rows().store(),
                &session->sequence().state_here()->rows().store());
    }
    ASSERT_TRUE(child.ok());
    const auto child_logits = logits_after(*child.value(), other);
    const auto parent_logits = logits_after(*session, one);

    const auto alone = make_session(loaded, pool, options(page_positions));
    ASSERT_TRUE(alone->append(tokens).ok());
    EXPECT_EQ(logits_after(*alone, one), parent_logits);
    ASSERT_TRUE(alone->truncate(70).ok());
    EXPECT_EQ(logits_after(*alone, other), child_logits);
    EXPECT_EQ(child.value()->n_positions(), 72u);
    EXPECT_EQ(child.value()->tokens().back(), 501);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EachKind, testing::Range(size_t{0}, kNKvKinds));

TEST(Session, SharesAStoreWithOthersUntilItIsFull) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  auto store = make_kv_store(loaded.model, 96, 16, KvKind::int8, KvKind::int8);
  ASSERT_TRUE(store.ok());
  SequenceOptions options;
  options.n_ctx = 96;
  auto a = Session::create_in(store.value(), loaded.model, pool, options);
  auto b = Session::create_in(store.value(), loaded.model, pool, options);
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_TRUE(a.value()->append(story(50)).ok());
  const Status refused = b.value()->append(story(40));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
  EXPECT_EQ(b.value()->n_positions(), 0u);
  EXPECT_TRUE(b.value()->append(story(30)).ok());
  a.value().reset();
  EXPECT_TRUE(b.value()->append(story(60)).ok());
}

TEST(Session, ForksShareAPoolUntilItIsFull) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  const auto session =
      make_session(loaded, pool, {.n_ctx = 48, .page_positions = 16, .pool_positions = 80});
  EXPECT_EQ(session->sequence().state_here()->rows().store().config().n_pages, 5u);
  const auto tokens = story(40);
  ASSERT_TRUE(session->append(tokens).ok());
  const auto n_users = [&](uint32_t i) {
    return session->sequence().state_here()->rows().store().n_users(
        session->sequence().state_here()->rows().pages()[i]);
  };
  auto child = session->fork();
  auto late = session->fork();
  ASSERT_TRUE(child.ok() && late.ok());
  EXPECT_EQ(session->sequence().state_here()->rows().store().n_used(), 3u);
  const TokenId next = 333;
  const auto logits = logits_after(*child.value(), {&next, 1});
  EXPECT_EQ(n_users(1), 3u);
  EXPECT_EQ(n_users(2), 2u);  // the child has copied the page
  EXPECT_EQ(session->sequence().state_here()->rows().store().n_page_copies(), 1u);
  ASSERT_TRUE(child.value()->append(story(7)).ok());  // 48 positions in 3 pages, 2 of them shared
  auto other = session->fork();
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(other.value()->append({&next, 1}).ok());  // takes the fifth page

  for (int i = 0; i < 2; ++i) {
    const Status refused = i == 0 ? late.value()->append({&next, 1}) : late.value()->begin_logits();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
    EXPECT_EQ(refused.error().message,
              "KV cache: 1 pages of 16 positions are needed, but 0 are free");
    EXPECT_EQ(late.value()->n_positions(), 40u);
  }
  other.value().reset();
  EXPECT_EQ(logits_after(*late.value(), {&next, 1}), logits);
}

TEST(Session, HasAPoolForItsContextAtLeast) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  for (const uint32_t pool_positions : {0u, 16u, 100u}) {
    const auto session = make_session(
        loaded, pool, {.n_ctx = 100, .page_positions = 16, .pool_positions = pool_positions});
    EXPECT_EQ(session->sequence().state_here()->rows().store().config().n_pages, 7u);
  }
}

TEST(Session, KeepsAPrefixOnlyWhereEveryIdIsTheSame) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  const auto session = make_session(loaded, pool);
  const auto tokens = story(40);
  EXPECT_EQ(session->keep_prefix(tokens), 0u);
  ASSERT_TRUE(session->append(tokens).ok());

  auto changed = tokens;
  changed[25] = 7;
  EXPECT_EQ(session->keep_prefix(changed), 25u);
  EXPECT_EQ(session->n_positions(), 25u);
  const auto reused = logits_after(*session, std::span(changed).subspan(25));
  EXPECT_EQ(logits_after(*make_session(loaded, pool), changed), reused);

  // The last token is always computed, because its logits are needed.
  EXPECT_EQ(session->keep_prefix(changed), 39u);
  EXPECT_EQ(session->keep_prefix({}), 0u);

  // A token that was not computed is not kept either.
  ASSERT_TRUE(session->append(std::span(tokens).first(10)).ok());
  ASSERT_TRUE(session->defer(tokens[10]).ok());
  EXPECT_EQ(session->keep_prefix(tokens), 10u);
  EXPECT_EQ(session->n_positions(), 10u);
}

TEST(Session, DefersNoMoreThanFits) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  const auto session = make_session(loaded, pool, {.n_ctx = 8});
  ASSERT_TRUE(session->append(story(7)).ok() && session->defer(5).ok());
  EXPECT_EQ(session->defer(5).error().code, ErrorCode::context_full);
  EXPECT_EQ(session->n_positions(), 8u);
}

TEST(Session, RefusesHiddenStatesAndModelsWithoutText) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  const auto session = make_session(loaded, pool);
  EXPECT_EQ(session->append(story(3), Output::hidden).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(session->n_positions(), 0u);
  for (const auto& [name, words] : {std::pair{"bert", "\"bert\" is an encoder"},
                                    std::pair{"qwen3-rerank", "qwen3.pooling_type is set"}}) {
    auto file = read_gguf_file(fixture_path(std::string("encoder/") + name + ".gguf"));
    ASSERT_TRUE(file.ok());
    const auto encoder = load_language_model(std::move(file.value()));
    ASSERT_TRUE(encoder.ok()) << encoder.error().message;
    const auto refused = Session::create(encoder.value().model, pool, {});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::unsupported_feature);
    EXPECT_NE(refused.error().message.find(words), std::string::npos);
  }
}

TEST(Session, ShiftsTheContext) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  const auto tokens = story(60);
  for (size_t i = 0; i < kNKvKinds; ++i) {
    const auto kind = static_cast<KvKind>(i);
    for (const uint32_t page_positions : {0u, 16u}) {
      SequenceOptions options;
      options.n_ctx = 128;
      options.k_kind = options.v_kind = kind;
      options.page_positions = page_positions;
      const auto session = make_session(loaded, pool, options);
      ASSERT_TRUE(session->append(tokens).ok());
      auto fork = session->fork();
      ASSERT_TRUE(fork.ok());
      ASSERT_TRUE(session->shift(4, 20).ok());
      EXPECT_EQ(session->n_positions(), 40u);
      EXPECT_EQ(session->tokens()[3], tokens[3]);
      EXPECT_EQ(session->tokens()[4], tokens[24]);
      EXPECT_FALSE(session->shift(30, 11).ok());

      // The keys of other sessions are not rotated.
      const TokenId next = 333;
      const auto untouched = make_session(loaded, pool, options);
      ASSERT_TRUE(untouched->append(tokens).ok());
      EXPECT_EQ(logits_after(*fork.value(), {&next, 1}), logits_after(*untouched, {&next, 1}));
      EXPECT_TRUE(session->append({&next, 1}).ok());
    }
  }
}

// In the first layer, keys depend only on their own token: after the shift they are the keys of a
// context without the dropped tokens.
TEST(Session, ShiftedKeysAreThoseOfTheirNewPositions) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  const auto sequence_of = [&] {
    auto state = empty_sequence(loaded.model, 64);
    EXPECT_TRUE(state.ok());
    return std::move(state.value());
  };
  auto scratch = Scratch::create(loaded.model, 64, 1);
  ASSERT_TRUE(scratch.ok());
  const auto tokens = story(50);
  std::vector<TokenId> remaining(tokens.begin(), tokens.begin() + 4);
  remaining.insert(remaining.end(), tokens.begin() + 24, tokens.end());
  SequenceState shifted = sequence_of();
  SequenceState fresh = sequence_of();
  ASSERT_TRUE(forward(loaded.model, pool, scratch.value(), shifted, tokens, Output::none).ok());
  ASSERT_TRUE(forward(loaded.model, pool, scratch.value(), fresh, remaining, Output::none).ok());
  ASSERT_TRUE(shift_positions(loaded.model, shifted, 4, 20).ok());
  ASSERT_EQ(shifted.size(), fresh.size());
  for (uint32_t position = 0; position < fresh.size(); ++position) {
    for (uint32_t head = 0; head < loaded.model.state_shape().rows[0].n_kv_heads; ++head) {
      const auto key = key_at(shifted.rows(), 0, position, head);
      EXPECT_LT(largest_difference(key, key_at(fresh.rows(), 0, position, head)), 1e-4f)
          << position;
      EXPECT_EQ(value_at(shifted.rows(), 0, position, head),
                value_at(fresh.rows(), 0, position, head));
    }
  }
}

TEST(Allocations, AreAllCounted) {
  const auto counts = [](const auto& allocate) {
    const size_t before = n_allocations();
    allocate();
    return n_allocations() > before;
  };
  EXPECT_TRUE(counts([] { EXPECT_TRUE(AlignedBuffer::allocate(100, "a test").ok()); }));
  void* volatile memory = nullptr;  // volatile, so that the calls are not optimized away
  EXPECT_TRUE(counts([&] { memory = ::operator new(7); }));
  ::operator delete(memory);
  EXPECT_EQ(counts([&] { memory = std::malloc(10); }), kCountsMalloc);
  EXPECT_TRUE(counts([&] { memory = std::realloc(memory, 1000); }));
  std::free(memory);
  EXPECT_TRUE(counts([&] { memory = std::calloc(10, 10); }));
  std::free(memory);
}

constexpr size_t kThreadCounts[] = {
    1,
#if !defined(__wasm__)
    2,
#endif
};

TEST(Session, DecodingAllocatesNothingAfterTheFirstToken) {
  const LanguageModel loaded = load_stories();
  for (const size_t n_threads : kThreadCounts) {
    ThreadPool pool(n_threads);
    for (const uint32_t page_positions : {0u, 8u}) {
      for (size_t kind = 0; kind < kNKvKinds; ++kind) {
        SequenceOptions options;
        options.k_kind = options.v_kind = static_cast<KvKind>(kind);
        options.page_positions = page_positions;
        const auto session = make_session(loaded, pool, options);
        ASSERT_TRUE(session->append(story(20)).ok());
        const TokenId token = 345;
        ASSERT_TRUE(session->append({&token, 1}).ok());
        const size_t n_before = n_allocations();
        for (int i = 0; i < 30; ++i) ASSERT_TRUE(session->append({&token, 1}).ok());
        EXPECT_EQ(n_allocations(), n_before) << kv_kind_info(static_cast<KvKind>(kind)).name;
      }
    }
  }
}

TEST(Session, LookingAheadAllocatesNothing) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  const auto session = make_session(loaded, pool, {.n_ctx = 256});
  PromptLookup lookup(256, kMostGuesses);
  ASSERT_TRUE(session->append(std::vector<TokenId>{1, 345, 346, 345, 346, 345}).ok());
  const size_t n_before = n_allocations();
  uint32_t n_taken = 0;
  for (int i = 0; i < 60; ++i) {  // the tokens are those that are guessed
    ASSERT_TRUE(session->defer(session->tokens().back() == 345 ? 346 : 345).ok());
    const auto was_guessed = session->take_guess();
    ASSERT_TRUE(was_guessed.ok());
    n_taken += was_guessed.value();
    lookup.draw(was_guessed.value());
    if (was_guessed.value()) continue;
    const auto guesses = lookup.guess(session->tokens(), session->n_guesses_room());
    ASSERT_TRUE(session->look_ahead(guesses).ok());
  }
  EXPECT_EQ(n_allocations(), n_before);
  EXPECT_GT(n_taken, 40u);
  EXPECT_EQ(session->n_left(), 0u);
}

// Removing all tokens keeps the memory, too.
TEST(Session, BeginsAgainWithoutAllocating) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  SequenceOptions options;
  options.page_positions = 8;
  const auto session = make_session(loaded, pool, options);
  const auto first = logits_after(*session, story(20));
  const size_t n_before = n_allocations();
  ASSERT_TRUE(session->truncate(0).ok());
  const auto tokens = story(20);
  const size_t n_for_tokens = n_allocations() - n_before;
  ASSERT_TRUE(session->append(tokens).ok());
  EXPECT_EQ(n_allocations(), n_before + n_for_tokens);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), session->logits().begin()));
}

}  // namespace
}  // namespace kinglet
