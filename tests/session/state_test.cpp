#include "session/state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/hash.h"
#include "gguf/file.h"
#include "model/tiny_model.h"
#include "session/language_model.h"
#include "session/sessions.h"

namespace kinglet {
namespace {

using State = std::vector<std::byte>;

State save(const Session& session) {
  auto saved = save_state(session);
  EXPECT_TRUE(saved.ok());
  return {saved.value().bytes().begin(), saved.value().bytes().end()};
}

std::vector<float> logits_after(Session& session, TokenId token) {
  EXPECT_TRUE(session.append({&token, 1}).ok());
  return {session.logits().begin(), session.logits().end()};
}

// Sets a valid checksum, as somebody who knows the format could.
void seal(State& state) {
  const uint64_t checksum =
      hash_bytes(std::span<const std::byte>(state).subspan(offsetof(StateHeader, model)));
  std::memcpy(&state[offsetof(StateHeader, checksum)], &checksum, sizeof checksum);
}

std::vector<TokenId> story_tokens(size_t n) {
  std::vector<TokenId> ids = {1};
  while (ids.size() < n) ids.push_back(static_cast<TokenId>(300 + ids.size() * 37 % 1500));
  return ids;
}

TEST(State, RestoresWhatWasSavedInEveryKindAndPaging) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    for (const auto& [saved_page, restored_page] : {std::pair{0u, 16u}, std::pair{16u, 0u}}) {
      SequenceOptions options{.n_ctx = 128};
      options.k_kind = static_cast<KvKind>(kind);
      options.v_kind = static_cast<KvKind>((kind + 3) % kNKvKinds);
      options.page_positions = saved_page;
      const auto session = make_session(loaded, pool, options);
      ASSERT_TRUE(session->append(story_tokens(50)).ok());
      const State state = save(*session);

      options.page_positions = restored_page;
      options.n_ctx = 64;
      const auto other = make_session(loaded, pool, options);
      for (const size_t n_before : {0u, 60u}) {
        ASSERT_TRUE(other->truncate(0).ok());
        const auto others = story_tokens(n_before);
        ASSERT_TRUE(n_before == 0 || other->append(others).ok());
        ASSERT_TRUE(restore_state(*other, state).ok());
        EXPECT_EQ(other->n_positions(), 50u);
        EXPECT_EQ(save(*other), state);
      }
      if (saved_page == restored_page) {
        EXPECT_EQ(logits_after(*other, 400), logits_after(*session, 400));
      }
    }
  }
}

TEST(State, GoesOnAsTheSavedSessionWould) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  const auto session = make_session(loaded, pool, {.n_ctx = 128});
  ASSERT_TRUE(session->append(story_tokens(50)).ok());
  const State state = save(*session);
  const auto expected = logits_after(*session, 400);
  const auto other = make_session(loaded, pool, {.n_ctx = 64});
  ASSERT_TRUE(restore_state(*other, state).ok());
  EXPECT_EQ(logits_after(*other, 400), expected);
  ASSERT_TRUE(restore_state(*session, state).ok());
  EXPECT_EQ(logits_after(*session, 400), expected);
}

TEST(State, OfAnEmptySessionIsAHeader) {
  const LanguageModel loaded = load_tiny();
  ThreadPool pool;
  const auto session = make_session(loaded, pool);
  const State state = save(*session);
  EXPECT_EQ(state.size(), sizeof(StateHeader));
  ASSERT_TRUE(session->append(std::vector<TokenId>{1, 3}).ok());
  ASSERT_TRUE(restore_state(*session, state).ok());
  EXPECT_EQ(session->n_positions(), 0u);
}

TEST(State, LeavesForksAlone) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  const auto session = make_session(loaded, pool, {.n_ctx = 128, .page_positions = 16});
  ASSERT_TRUE(session->append(story_tokens(20)).ok());
  const State state = save(*session);
  ASSERT_TRUE(session->append(story_tokens(10)).ok());
  auto fork = session->fork();
  ASSERT_TRUE(fork.ok());
  const State before = save(*fork.value());
  ASSERT_TRUE(restore_state(*session, state).ok());
  EXPECT_EQ(save(*fork.value()), before);
}

class HostileState : public testing::Test {
 protected:
  HostileState() : loaded(load_tiny()) {
    session = make_session(loaded, pool, {.n_ctx = 16});
    EXPECT_TRUE(session->append(std::vector<TokenId>{1, 3, 4, 5, 3}).ok());
    state = save(*session);
    EXPECT_TRUE(session->append(std::vector<TokenId>{6}).ok());
    before = save(*session);
  }

  ErrorCode error_of(const State& bytes) {
    const Status status = restore_state(*session, bytes);
    EXPECT_EQ(save(*session), before) << "the session was changed";
    if (status.ok()) return ErrorCode::io;
    EXPECT_GT(status.error().message.size(), 15u);
    return status.error().code;
  }

  template <class T>
  ErrorCode error_with(size_t offset, T value) {
    State changed = state;
    std::memcpy(&changed[offset], &value, sizeof value);
    seal(changed);
    return error_of(changed);
  }

  LanguageModel loaded;
  ThreadPool pool;
  std::unique_ptr<Session> session;
  State state;
  State before;
};

TEST_F(HostileState, OfAnyLengthIsRefused) {
  for (size_t n = 0; n < state.size(); ++n) {
    State cut(state.begin(), state.begin() + static_cast<ptrdiff_t>(n));
    ASSERT_EQ(error_of(cut), ErrorCode::corrupt) << n;
    if (n < sizeof(StateHeader)) continue;
    const uint64_t n_bytes = n;
    std::memcpy(&cut[offsetof(StateHeader, n_bytes)], &n_bytes, sizeof n_bytes);
    seal(cut);
    ASSERT_EQ(error_of(cut), ErrorCode::corrupt) << n;
  }
  State longer = state;
  longer.push_back(std::byte{0});
  EXPECT_EQ(error_of(longer), ErrorCode::corrupt);
}

TEST_F(HostileState, WithAnyBitChangedIsRefused) {
  for (size_t i = 0; i < state.size(); ++i) {
    State changed = state;
    changed[i] ^= std::byte{1} << (i % 8);
    ASSERT_NE(error_of(changed), ErrorCode::io) << i;
  }
}

TEST_F(HostileState, ThatIsSealedIsRefusedByWhatItSays) {
  EXPECT_EQ(error_with(0, 'X'), ErrorCode::corrupt);
  EXPECT_EQ(error_with(offsetof(StateHeader, version), kStateVersion + 1),
            ErrorCode::unsupported_version);
  EXPECT_EQ(error_with(offsetof(StateHeader, model), uint64_t{1}), ErrorCode::wrong_shape);
  for (const size_t field :
       {offsetof(StateHeader, n_recurrent), offsetof(StateHeader, position_bytes),
        offsetof(StateHeader, k_kind), offsetof(StateHeader, v_kind)}) {
    EXPECT_EQ(error_with(field, 0xffffffffu), ErrorCode::wrong_shape) << field;
  }
  EXPECT_EQ(error_with(offsetof(StateHeader, n_tokens), 17u), ErrorCode::context_full);
  EXPECT_EQ(error_with(offsetof(StateHeader, n_tokens), 0xffffffffu), ErrorCode::context_full);
  EXPECT_EQ(error_with(offsetof(StateHeader, n_tokens), 4u), ErrorCode::corrupt);
  EXPECT_EQ(error_with(offsetof(StateHeader, n_positions), 4u), ErrorCode::corrupt);
  EXPECT_EQ(error_with(offsetof(StateHeader, n_positions), 0xffffffffu), ErrorCode::corrupt);
  EXPECT_EQ(error_with(sizeof(StateHeader), TokenId{-1}), ErrorCode::corrupt);
  EXPECT_EQ(error_with(sizeof(StateHeader) + 4, TokenId{1 << 20}), ErrorCode::corrupt);
  for (const float bad : {NAN, INFINITY}) {
    EXPECT_EQ(error_with(sizeof(StateHeader) + 5 * sizeof(TokenId), bad), ErrorCode::corrupt);
    EXPECT_EQ(error_with(state.size() - sizeof bad, bad), ErrorCode::corrupt);
  }
}

TEST_F(HostileState, OfAnotherModelOrKindIsRefused) {
  TinyModel other;
  other.weight *= 2;
  const LanguageModel other_loaded = load_tiny(other);
  const auto stranger = make_session(other_loaded, pool, {.n_ctx = 16});
  EXPECT_EQ(restore_state(*stranger, state).error().code, ErrorCode::wrong_shape);
  const auto narrow =
      make_session(loaded, pool, {.n_ctx = 16, .k_kind = KvKind::f16, .v_kind = KvKind::f16});
  EXPECT_EQ(restore_state(*narrow, state).error().code, ErrorCode::wrong_shape);
  const auto small = make_session(loaded, pool, {.n_ctx = 4});
  EXPECT_EQ(restore_state(*small, state).error().code, ErrorCode::context_full);
}

TEST(State, NamesTheKindsThatDiffer) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  SequenceOptions options{.n_ctx = 64, .k_kind = KvKind::q8, .v_kind = KvKind::q8};
  const auto saved = make_session(loaded, pool, options);
  ASSERT_TRUE(saved->append(story_tokens(9)).ok());
  options.k_kind = KvKind::f16;
  const auto other = make_session(loaded, pool, options);
  const std::string message = restore_state(*other, save(*saved)).error().message;
  EXPECT_NE(message.find("keys in q8 and values in q8, the session"), std::string::npos) << message;
  EXPECT_NE(message.find("keys in f16 and values in q8"), std::string::npos) << message;
}

}  // namespace
}  // namespace kinglet
