// Sessions whose layers keep a window of their rows, compared with sessions that keep all rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "session/generation.h"
#include "session/language_model.h"
#include "session/sessions.h"
#include "session/state.h"
#include "support.h"

namespace kinglet {
namespace {

std::vector<TokenId> tokens_of(size_t n, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<TokenId> ids(n);
  for (TokenId& id : ids) id = static_cast<TokenId>(3 + random() % 250);
  return ids;
}

class EachWindow : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto file = load_gguf(with_long_context(read_fixture(GetParam())));
    ASSERT_TRUE(file.ok()) << file.error().message;
    auto loaded = load_language_model(std::move(file.value()));
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    loaded_.emplace(std::move(loaded.value()));
  }

  std::unique_ptr<Session> session(bool keeps_all_rows, KvKind kind = KvKind::f32) {
    auto made = make_session(*loaded_, pool_,
                             {.n_ctx = 2048,
                              .n_batch = 16,
                              .k_kind = kind,
                              .v_kind = kind,
                              .keeps_all_rows = keeps_all_rows});
    EXPECT_EQ(made->sequence().state_here()->groups().size(), keeps_all_rows ? 1u : 2u);
    return made;
  }

  bool is_hybrid() const { return loaded_->model.state_shape().n_recurrent > 0; }

  std::optional<LanguageModel> loaded_;
  ThreadPool pool_;
};

TEST_P(EachWindow, TakesLessMemoryThanAllRowsAndNoneMoreWhereItWouldNot) {
  const auto all = session(true);
  const auto windows = session(false);
  EXPECT_LT(windows->bytes().kv, all->bytes().kv);
  uint64_t sum = 0;
  for (const KvCache& group : windows->sequence().state_here()->groups())
    sum += group.store().bytes();
  EXPECT_EQ(windows->bytes().kv, sum);
  const auto longer = make_session(*loaded_, pool_, {.n_ctx = 4096, .n_batch = 16});
  const auto& [seeing_all, with_window] = std::tie(longer->sequence().state_here()->groups()[0],
                                                   longer->sequence().state_here()->groups()[1]);
  EXPECT_EQ(with_window.store().bytes(),
            windows->sequence().state_here()->groups()[1].store().bytes());
  EXPECT_EQ(seeing_all.store().bytes(),
            2 * windows->sequence().state_here()->groups()[0].store().bytes());
  for (const SequenceOptions& options :
       {SequenceOptions{.n_ctx = 512}, SequenceOptions{.n_ctx = 2048, .page_positions = 32},
        SequenceOptions{.n_ctx = 2048, .pool_positions = 4096}}) {
    const auto session = make_session(*loaded_, pool_, options);
    EXPECT_EQ(session->sequence().state_here()->groups().size(), 1u);
  }
}

TEST_P(EachWindow, GivesTheLogitsOfAllRowsInEveryKind) {
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    const auto all = session(true, static_cast<KvKind>(kind));
    const auto windows = session(false, static_cast<KvKind>(kind));
    for (uint32_t n = 1; all->n_positions() + n < 700; n = n * 5 % 97) {
      const auto ids = tokens_of(n, n);
      ASSERT_EQ(logits_after(*windows, ids), logits_after(*all, ids))
          << kind << ", at " << all->n_positions();
    }
  }
}

TEST_P(EachWindow, TakesBackALittleWithoutComputingItAgain) {
  if (is_hybrid()) GTEST_SKIP() << "a recurrent state cannot be cut";
  const auto all = session(true);
  const auto windows = session(false);
  (void)logits_after(*windows, tokens_of(900));
  (void)logits_after(*all, tokens_of(900));
  for (uint32_t i = 0; i < 20; ++i) {
    const uint32_t n = windows->n_positions() - kWindowSpare / 2;
    ASSERT_TRUE(windows->truncate(n).ok() && all->truncate(n).ok());
    EXPECT_EQ(windows->n_left(), 0u);
    const auto ids = tokens_of(33 + i, i);
    ASSERT_EQ(logits_after(*windows, ids), logits_after(*all, ids));
  }
}

TEST_P(EachWindow, TruncatesAnywhereAndGoesOn) {
  const auto all = session(true);
  const auto windows = session(false);
  const auto ids = tokens_of(1100);
  const auto more = tokens_of(5, 2);
  for (const uint32_t n : {1099u, 1036u, 700u, 512u, 100u, 1u, 0u}) {
    ASSERT_TRUE(windows->truncate(0).ok() && all->truncate(0).ok());
    (void)logits_after(*windows, ids);
    (void)logits_after(*all, ids);
    ASSERT_TRUE(windows->truncate(n).ok() && all->truncate(n).ok());
    EXPECT_EQ(windows->n_positions(), n);
    EXPECT_LT(difference(logits_after(*windows, more), logits_after(*all, more)), kClose) << n;
    EXPECT_TRUE(std::equal(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(n),
                           windows->tokens().begin()));
  }
}

TEST_P(EachWindow, CancelledAnywhereItIsAsItWas) {
  const auto all = session(true);
  const auto windows = session(false);
  (void)logits_after(*windows, tokens_of(600));
  (void)logits_after(*all, tokens_of(600));
  for (const uint32_t n_batches : {1u, 3u, 40u}) {
    ASSERT_TRUE(windows->begin(tokens_of(700, 2), {.output = Output::none}).ok());
    for (uint32_t i = 0; i < n_batches; ++i) ASSERT_TRUE(windows->advance().ok());
    ASSERT_TRUE(windows->abandon().ok());
    EXPECT_EQ(windows->n_positions(), 600u);
    EXPECT_EQ(windows->n_computed(), 600u);
  }
  auto bad = tokens_of(700, 2);
  bad[650] = -1;
  EXPECT_EQ(windows->append(bad).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(windows->n_computed(), 600u);
  const auto ids = tokens_of(7, 3);
  EXPECT_EQ(logits_after(*windows, ids), logits_after(*all, ids));
}

// The answer is generated again, twice. Each time, the prompt is not computed again.
TEST_P(EachWindow, AnAnswerIsWrittenAnewFromItsPrompt) {
  const auto windows = session(false);
  const auto prompt = tokens_of(700);
  for (int i = 0; i < 3; ++i) {
    GenerationOptions options;
    options.max_tokens = 300;
    options.replaces_context = true;
    auto next = prompt;
    const auto ending = tokens_of(i > 0 ? 5 : 0, static_cast<uint32_t>(i));
    next.insert(next.end(), ending.begin(), ending.end());
    auto generation = Generation::start(*windows, *loaded_->tokenizer, next, options);
    ASSERT_TRUE(generation.ok());
    if (i > 0) {
      EXPECT_EQ(windows->n_computed(), 700u);
    }
    for (int step = 0; step < 200; ++step) {
      ASSERT_TRUE(generation.value().step().ok());
    }
    ASSERT_TRUE(windows->abandon().ok());
  }
}

TEST_P(EachWindow, ShiftsAsAllRowsDo) {
  if (is_hybrid()) GTEST_SKIP() << "a recurrent state cannot be shifted";
  for (const KvKind kind : {KvKind::f32, KvKind::q4}) {
    const auto all = session(true, kind);
    const auto windows = session(false, kind);
    (void)logits_after(*windows, tokens_of(1000));
    (void)logits_after(*all, tokens_of(1000));
    for (const auto& [n_kept, n_dropped] :
         {std::pair{10u, 400u}, {0u, 1u}, {100u, 65u}, {500u, 3u}, {0u, 300u}}) {
      ASSERT_TRUE(windows->shift(n_kept, n_dropped).ok() && all->shift(n_kept, n_dropped).ok());
      EXPECT_EQ(windows->n_left(), 0u);
      EXPECT_TRUE(std::equal(all->tokens().begin(), all->tokens().end(), windows->tokens().begin(),
                             windows->tokens().end()));
      const auto ids = tokens_of(70, n_dropped);
      ASSERT_EQ(logits_after(*windows, ids), logits_after(*all, ids)) << n_kept;
    }
    EXPECT_EQ(windows->shift(10, 5000).error().code, ErrorCode::invalid_argument);
  }
}

// A window would need rows that were freed: they are computed again from the tokens.
TEST_P(EachWindow, ShiftsWhatIsNotThereAnyMoreByComputingIt) {
  if (is_hybrid()) GTEST_SKIP() << "a recurrent state cannot be shifted";
  const auto windows = session(false);
  const auto scratch = session(true);
  auto ids = tokens_of(1000);
  (void)logits_after(*windows, ids);
  ASSERT_TRUE(windows->shift(300, 699).ok());
  EXPECT_EQ(windows->n_positions(), 301u);
  EXPECT_GT(windows->n_left(), 0u);
  ids.erase(ids.begin() + 300, ids.begin() + 999);
  ids.push_back(5);
  const auto last = std::span<const TokenId>(ids).last(1);
  EXPECT_LT(difference(logits_after(*windows, last), logits_after(*scratch, ids)), kClose);
}

TEST_P(EachWindow, RestoresWhatEitherKindOfSessionSaved) {
  const auto ids = tokens_of(700);
  const auto more = tokens_of(5, 2);
  const auto all = session(true, KvKind::int8);
  const auto windows = session(false, KvKind::int8);
  (void)logits_after(*all, ids);
  (void)logits_after(*windows, ids);
  const auto of_all = save_state(*all);
  const auto of_windows = save_state(*windows);
  ASSERT_TRUE(of_all.ok() && of_windows.ok());
  EXPECT_LT(of_windows.value().bytes().size(), of_all.value().bytes().size());
  const auto expected = logits_after(*all, more);
  for (const auto* saved : {&of_all.value(), &of_windows.value()}) {
    for (const bool keeps_all_rows : {false, true}) {
      const auto other = session(keeps_all_rows, KvKind::int8);
      (void)logits_after(*other, tokens_of(30, 3));
      const Status restored = restore_state(*other, saved->bytes());
      ASSERT_TRUE(restored.ok()) << restored.error().message;
      EXPECT_EQ(other->n_positions(), 700u);
      const bool has_all = !keeps_all_rows || saved == &of_all.value();
      EXPECT_EQ(other->n_left(), has_all ? 0u : 700u);
      if (!keeps_all_rows) {  // saving it again gives the same bytes
        const auto again = save_state(*other);
        EXPECT_TRUE(std::equal(again.value().bytes().begin(), again.value().bytes().end(),
                               of_windows.value().bytes().begin(),
                               of_windows.value().bytes().end()));
      }
      const auto logits = logits_after(*other, more);
      if (has_all) {
        EXPECT_EQ(logits, expected);
      } else {
        EXPECT_LT(difference(logits, expected), 0.05f) << "codes of int8 may round otherwise";
      }
    }
  }
  auto damaged =
      std::vector<std::byte>(of_windows.value().bytes().begin(), of_windows.value().bytes().end());
  for (size_t at = 0; at < damaged.size(); at += damaged.size() / 97 + 1) {
    damaged[at] ^= std::byte{0x10};
    EXPECT_FALSE(restore_state(*windows, damaged).ok()) << at;
    damaged[at] ^= std::byte{0x10};
  }
}

// Two sessions go through the same operations; the one with windows may have to compute more.
TEST_P(EachWindow, IsRightAfterAnyOperations) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    std::mt19937 random(seed);
    auto all = session(true);
    auto windows = session(false);
    bool is_exact = true;
    bool is_shifted = false;
    for (int i = 0; i < 120; ++i) {
      const auto up_to = [&](uint32_t n) { return static_cast<uint32_t>(random() % (n + 1)); };
      const uint32_t n = all->n_positions();
      switch (random() % 8) {
        case 0: {
          const uint32_t to = up_to(3) == 0 ? up_to(n) : n - std::min(n, up_to(40));
          ASSERT_TRUE(windows->truncate(to).ok() && all->truncate(to).ok());
          break;
        }
        case 1: {
          auto a = all->fork();
          auto w = windows->fork();
          ASSERT_TRUE(a.ok() && w.ok());
          std::swap(all, a.value());
          std::swap(windows, w.value());
          break;
        }
        case 2: {
          const auto saved = save_state(*windows);
          ASSERT_TRUE(saved.ok() && restore_state(*windows, saved.value().bytes()).ok());
          break;
        }
        case 3:
          windows->add_checkpoint();
          all->add_checkpoint();
          break;
        case 4: {
          if (is_hybrid() || windows->n_left() > 0) break;
          const uint32_t first = up_to(n);
          const uint32_t n_dropped = up_to((n - first) / 2);
          ASSERT_TRUE(windows->shift(first, n_dropped).ok());
          ASSERT_TRUE(all->shift(first, n_dropped).ok());
          is_shifted = true;
          break;
        }
        default: {
          const uint32_t most = std::min(2048 - n, up_to(4) == 0 ? 400u : 50u);
          if (most == 0) break;
          const auto ids = tokens_of(1 + up_to(most - 1), seed * 1000 + static_cast<uint32_t>(i));
          std::atomic<uint32_t> word{1};
          if (up_to(3) == 0) {
            EXPECT_EQ(windows->append(ids, Output::logits, {&word, 1}).error().code,
                      ErrorCode::cancelled);
          }
          is_exact = is_exact && windows->n_left() == all->n_left();
          const auto found = logits_after(*windows, ids);
          const auto expected = logits_after(*all, ids);
          if (is_exact) {
            ASSERT_EQ(found, expected) << "operation " << i << " of seed " << seed;
          }
          ASSERT_LT(difference(found, expected), kClose) << "operation " << i << " of " << seed;
        }
      }
      // Rows that were moved differ from those that the tokens alone would give.
      if (is_shifted && windows->n_left() > 0) {
        ASSERT_TRUE(windows->truncate(0).ok() && all->truncate(0).ok());
      }
      if (all->n_positions() == 0) {
        is_exact = true;
        is_shifted = false;
      }
      ASSERT_EQ(windows->n_positions(), all->n_positions());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EachWindow,
                         testing::Values("arch/gemma2.gguf", "arch/gemma3.gguf", "arch/gemma4.gguf",
                                         "arch/gemma4-kv.gguf", "arch/olmo2-window.gguf",
                                         "arch/cohere2.gguf", "hybrid/lfm2-window.gguf",
                                         "hybrid/lfm3.gguf", "hybrid/lfm3-plain.gguf"),
                         [](const auto& test) { return test_name(test.param); });

// A shift may leave more than a batch to compute: the next token is drawn after all of it.
TEST(Window, ATokenIsDrawnBehindAllThatAShiftLeft) {
  constexpr uint32_t kWindow = 200;
  auto file = load_gguf(
      with_number(with_long_context(read_fixture("arch/gemma3.gguf")), ".sliding_window", kWindow));
  ASSERT_TRUE(file.ok());
  const auto loaded = load_language_model(std::move(file.value()));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  ThreadPool pool;
  std::vector<std::vector<TokenId>> answers;
  for (const uint32_t n_batch : {16u, 256u}) {
    const auto one = make_session(loaded.value(), pool, {.n_ctx = kLong, .n_batch = n_batch});
    ASSERT_EQ(one->sequence().state_here()->groups().size(), 2u);
    GenerationOptions options;
    options.max_tokens = 12;
    options.sampler.seed = 3;
    options.sampler.temperature = 2;
    options.shifts_context = true;
    options.n_kept = kLong - 330;
    const auto prompt = tokens_of(kLong - 4);
    auto generation = Generation::start(*one, *loaded.value().tokenizer, prompt, options);
    ASSERT_TRUE(generation.ok());
    answers.emplace_back();
    uint32_t n_most_left = 0;
    for (;;) {
      const auto step = generation.value().step();
      ASSERT_TRUE(step.ok()) << step.error().message;
      if (step.value().finish != FinishReason::none) break;
      if (step.value().token == kNoToken) continue;
      answers.back().push_back(step.value().token);
      n_most_left = std::max(n_most_left, one->n_left());
    }
    EXPECT_GT(n_most_left, 100u);
  }
  EXPECT_EQ(answers[0], answers[1]);
}

}  // namespace
}  // namespace kinglet
