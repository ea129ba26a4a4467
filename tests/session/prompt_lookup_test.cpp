// Guessing tokens ahead changes the speed of an answer, and nothing else.
#include "session/prompt_lookup.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <vector>

#include "model/shift.h"
#include "session/generation.h"
#include "session/language_model.h"
#include "session/sessions.h"
#include "session/state.h"
#include "support.h"

namespace kinglet {
namespace {

// --- What is guessed ----------------------------------------------------------------------------

Tokens guess(PromptLookup& lookup, const Tokens& tokens, size_t n_room = kMostGuesses) {
  const auto guesses = lookup.guess(tokens, n_room);
  return {guesses.begin(), guesses.end()};
}

TEST(PromptLookup, GuessesWhatFollowedTheSameTokensLast) {
  PromptLookup lookup(4096, kMostGuesses);
  EXPECT_EQ(guess(lookup, {1, 2, 3, 7, 7, 1, 2, 3, 8, 9, 5, 1, 2, 3}), (Tokens{8, 9, 5}));
}

TEST(PromptLookup, GuessesNothingBehindTokensThatWereNotSeenTogether) {
  PromptLookup lookup(4096, kMostGuesses);
  EXPECT_EQ(guess(lookup, {}), Tokens{});
  EXPECT_EQ(guess(lookup, {1, 2}), Tokens{});
  EXPECT_EQ(guess(lookup, {1, 2, 3, 4, 9, 2, 3}), Tokens{});
}

TEST(PromptLookup, GoesOnWithARepetitionWhereTheContextEnds) {
  PromptLookup lookup(4096, kMostGuesses);
  Tokens tokens = {9, 4, 5, 4, 5, 4};
  EXPECT_EQ(guess(lookup, tokens), (Tokens{5, 4, 5}));
}

TEST(PromptLookup, GuessesMoreBehindALongMatchOnceThatHasPaidOff) {
  PromptLookup lookup(4096, kMostGuesses);
  Tokens tokens;
  for (TokenId i = 0; i < 40; ++i) tokens.push_back(i % 20);
  EXPECT_EQ(guess(lookup, tokens).size(), 3u);
  for (TokenId next = 0; next < 8; next += 4) {
    for (int i = 0; i < 3; ++i) lookup.draw(true);
    for (TokenId i = 0; i < 4; ++i) tokens.push_back(next + i);
    EXPECT_EQ(guess(lookup, tokens, 5).size(), 3u);
  }
  for (int i = 0; i < 3; ++i) lookup.draw(true);
  EXPECT_EQ(guess(lookup, tokens), (Tokens{8, 9, 10, 11, 12, 13, 14}));
}

TEST(PromptLookup, StaysWithThePlaceThatItReadsWhileThatMatchesBest) {
  PromptLookup lookup(4096, kMostGuesses);
  Tokens tokens = {10, 11, 12, 1, 2, 3, 20, 21, 22, 1, 2, 3, 30, 31, 10, 11, 12};
  EXPECT_EQ(guess(lookup, tokens), (Tokens{1, 2, 3}));
  for (int i = 0; i < 3; ++i) lookup.draw(true);
  tokens.insert(tokens.end(), {1, 2, 3});
  // The later 1 2 3 was followed by 30, but only the earlier one comes after 10 11 12.
  EXPECT_EQ(guess(lookup, tokens), (Tokens{20, 21, 22}));
}

TEST(PromptLookup, KeepsWithinItsLimits) {
  const Tokens tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3};
  for (uint32_t most = 0; most <= 3; ++most) {
    PromptLookup lookup(4096, most);
    EXPECT_EQ(guess(lookup, tokens).size(), most);
    PromptLookup narrow(4096, kMostGuesses);
    EXPECT_EQ(guess(narrow, tokens, most).size(), most);
  }
}

TEST(PromptLookup, ForgetsPositions) {
  PromptLookup lookup(4096, kMostGuesses);
  EXPECT_FALSE(guess(lookup, {1, 2, 3, 4, 1, 2, 3}).empty());
  lookup.forget();
  for (int i = 0; i < 3; ++i) lookup.draw(true);
  EXPECT_EQ(guess(lookup, {9, 9, 8, 1, 2, 3}), Tokens{});
  EXPECT_EQ(guess(lookup, {9, 9, 8, 1, 2, 3, 9, 8, 1}), (Tokens{2, 3, 9}));
}

// A guess costs at least half of a step, and each token earns 1/128 of one: see PromptLookup.
TEST(PromptLookup, LosesLittleWhereNoGuessIsRight) {
  PromptLookup lookup(8192, kMostGuesses);
  std::mt19937 random(5);
  Tokens tokens;
  size_t n_guesses = 0;
  for (int i = 0; i < 6400; ++i) {
    tokens.push_back(static_cast<TokenId>(random() % 6));
    n_guesses += lookup.guess(tokens, kMostGuesses).size();
    lookup.draw(false);
  }
  EXPECT_GT(n_guesses, 50u);  // it still tries
  EXPECT_LE(n_guesses, 3 + 2 * 6400 / 128u);
}

// --- What comes of it ---------------------------------------------------------------------------

struct Drawn {
  uint32_t n_prompt_done;
  uint32_t n_computed;
  TokenId token;
  std::string text;
  float logprob;
  std::vector<std::pair<TokenId, float>> top;
  FinishReason finish;

  bool operator==(const Drawn&) const = default;
};

// Everything that an answer returns, and the state that it leaves.
struct Outcome {
  std::vector<Drawn> steps;
  std::string error;
  uint32_t n_guessed = 0;
  uint32_t n_accepted = 0;
  Tokens context;
  uint32_t n_left = 0;
  std::vector<std::byte> state;  // as saved
  std::vector<float> logits;     // after another prompt
};

void expect_same(const Outcome& found, const Outcome& expected) {
  ASSERT_EQ(found.steps.size(), expected.steps.size());
  for (size_t i = 0; i < found.steps.size(); ++i) {
    ASSERT_EQ(found.steps[i], expected.steps[i])
        << "step " << i << ", tokens " << found.steps[i].token << " and "
        << expected.steps[i].token;
  }
  EXPECT_EQ(found.error, expected.error);
  EXPECT_EQ(found.context, expected.context);
  EXPECT_EQ(found.n_left, expected.n_left);
  EXPECT_EQ(found.state, expected.state);
  EXPECT_EQ(found.logits, expected.logits);
}

class Looking : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto file = read_gguf_file(fixture_path(GetParam()));
    ASSERT_TRUE(file.ok()) << file.error().message;
    auto loaded = load_language_model(std::move(file.value()));
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    loaded_.emplace(std::move(loaded.value()));
  }

  bool keeps_state() const { return loaded_->model.state_shape().n_recurrent > 0; }

  Tokens tokens(size_t n, uint32_t seed) const {
    std::mt19937 random(seed);
    const auto n_ordinary = static_cast<uint32_t>(loaded_->tokenizer->n_tokens() - 3);
    Tokens ids;
    while (ids.size() < n) ids.push_back(static_cast<TokenId>(3 + random() % n_ordinary));
    return ids;
  }

  // A few tokens again and again, and a part of the text that is copied.
  Tokens repeating_prompt() const {
    Tokens prompt;
    const Tokens copied = loaded_->tokenizer->encode("GKPQRUVXGKPQRUVKGKPQRUVX");
    for (const Tokens& part : {tokens(9, 1), tokens(9, 1), tokens(9, 1), copied}) {
      prompt.insert(prompt.end(), part.begin(), part.end());
    }
    return prompt;
  }

  static void answer(Generation& generation, Outcome& outcome, size_t n_steps = SIZE_MAX) {
    for (size_t i = 0; i < n_steps; ++i) {
      auto step = generation.step();
      if (!step.ok()) {
        outcome.error = step.error().message;
        return;
      }
      const GenerationStep& drawn = step.value();
      outcome.n_guessed = drawn.n_guessed;
      outcome.n_accepted = drawn.n_accepted;
      std::vector<std::pair<TokenId, float>> top;
      for (const Candidate& candidate : drawn.top)
        top.emplace_back(candidate.token, candidate.weight);
      outcome.steps.push_back({drawn.n_prompt_done, drawn.n_computed, drawn.token, drawn.text,
                               drawn.logprob, top, drawn.finish});
      if (drawn.finish != FinishReason::none) return;
    }
  }

  void look_at(Session& session, Outcome& outcome) const {
    outcome.context.assign(session.tokens().begin(), session.tokens().end());
    outcome.n_left = session.n_left();
    const auto saved = save_state(session);
    ASSERT_TRUE(saved.ok());
    outcome.state.assign(saved.value().bytes().begin(), saved.value().bytes().end());
    go_on(session, outcome);
  }

  // Appends the next turn.
  void go_on(Session& session, Outcome& outcome) const {
    if (session.n_ctx() - session.n_positions() < 3) return;
    ASSERT_TRUE(session.append(tokens(3, 9)).ok());
    outcome.logits.assign(session.logits().begin(), session.logits().end());
  }

  Outcome outcome_of(GenerationOptions options, uint32_t n_lookup,
                     const SequenceOptions& session_options) {
    options.n_lookup = n_lookup;
    const auto session = make_session(*loaded_, pool_, session_options);
    auto generation = Generation::start(*session, *loaded_->tokenizer, repeating_prompt(), options);
    EXPECT_TRUE(generation.ok());
    Outcome outcome;
    answer(generation.value(), outcome);
    look_at(*session, outcome);
    return outcome;
  }

  // Returns how many guesses were kept.
  uint32_t check(const GenerationOptions& options,
                 const SequenceOptions& session = {.n_ctx = 256}) {
    const Outcome expected = outcome_of(options, 0, session);
    EXPECT_EQ(expected.n_guessed, 0u);
    uint32_t n_accepted = 0;
    for (const uint32_t n_lookup : {1u, kMostGuesses}) {
      const Outcome found = outcome_of(options, n_lookup, session);
      expect_same(found, expected);
      EXPECT_LE(found.n_accepted, found.n_guessed);
      n_accepted = found.n_accepted;
    }
    return n_accepted;
  }

  static GenerationOptions greedy(uint32_t max_tokens) {
    GenerationOptions options;
    options.max_tokens = max_tokens;
    options.sampler.temperature = 0.0f;
    options.sampler.logit_bias = {{2, -100.0f}};  // token 2 would end the answer
    return options;
  }

  // Text that must be copied, except one letter of eight. No token contains two of these letters.
  static GenerationOptions copying(uint32_t max_tokens) {
    GenerationOptions options = greedy(max_tokens);
    auto grammar = Grammar::parse("root ::= (\"GKPQRUVX\" | \"GKPQRUVK\")+");
    EXPECT_TRUE(grammar.ok());
    options.grammar = std::make_shared<const Grammar>(std::move(grammar.value()));
    return options;
  }

  std::optional<LanguageModel> loaded_;
  ThreadPool pool_;
};

TEST_P(Looking, IsTheSameAnswerGreedily) {
  GenerationOptions options = greedy(120);
  options.n_logprobs = 3;
  check(options);
}

TEST_P(Looking, IsTheSameAnswerWithAnySeedAndTemperature) {
  for (const float temperature : {0.05f, 0.4f, 1.5f}) {
    for (const uint64_t seed : {1u, 2u}) {
      GenerationOptions options = greedy(60);
      options.n_logprobs = 1;
      options.sampler.temperature = temperature;
      options.sampler.seed = seed;
      check(options);
    }
  }
}

TEST_P(Looking, IsTheSameAnswerWithPenaltiesAndBiases) {
  GenerationOptions options = greedy(60);
  options.sampler.temperature = 0.3f;
  options.sampler.repeat_penalty = 1.1f;
  options.sampler.frequency_penalty = -0.2f;
  options.sampler.presence_penalty = 0.1f;
  options.sampler.repeat_last_n = 16;
  options.sampler.logit_bias = {{2, -100.0f}, {7, 3.0f}, {8, 3.0f}};
  check(options);
}

TEST_P(Looking, IsTheSameAnswerWithinAGrammar) {
  GenerationOptions options = copying(100);
  EXPECT_GT(check(options), 50u);
  options.sampler.temperature = 1.0f;
  options.n_logprobs = 2;
  EXPECT_GT(check(options), 20u);
}

TEST_P(Looking, EndsAtAStopStringAnywhere) {
  for (const char* stop : {"XGKPQ", "RUVKGKPQRUVXGK", "VKG", "X", "R"}) {
    GenerationOptions options = copying(80);
    options.sampler.temperature = 1.0f;
    options.stop = {stop};
    check(options);
  }
}

TEST_P(Looking, EndsWhereItsTokensDo) {
  uint32_t n_accepted = 0;
  for (uint32_t n = 1; n <= 40; ++n) n_accepted += check(copying(n));
  EXPECT_GT(n_accepted, 100u);
}

TEST_P(Looking, EndsWhereTheContextDoes) {
  uint32_t n_accepted = 0;
  for (uint32_t n_ctx = 60; n_ctx < 70; ++n_ctx)
    n_accepted += check(copying(200), {.n_ctx = n_ctx});
  EXPECT_GT(n_accepted, 50u);
}

TEST_P(Looking, ShiftsAFullContext) {
  GenerationOptions options = copying(150);
  options.shifts_context = true;
  options.n_kept = 5;
  if (!check_can_shift(loaded_->model).ok()) {
    const auto session = make_session(*loaded_, pool_, {.n_ctx = 80});
    auto refused = Generation::start(*session, *loaded_->tokenizer, repeating_prompt(), options);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::unsupported_feature);
    return;
  }
  EXPECT_GT(check(options, {.n_ctx = 80}), 50u);
}

TEST_P(Looking, IsTheSameInEveryKindOfCacheInPagesAndBatches) {
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    SequenceOptions session = {.n_ctx = 256, .page_positions = 16};
    session.k_kind = session.v_kind = static_cast<KvKind>(kind);
    EXPECT_GT(check(copying(60), session), 5u) << kv_kind_info(session.k_kind).name;
  }
  for (const uint32_t n_batch : {1u, 2u, 5u, 8u}) {
    const uint32_t n_accepted = check(copying(60), {.n_ctx = 256, .n_batch = n_batch});
    EXPECT_EQ(n_accepted > 0, n_batch > 1) << n_batch;
  }
  for (const uint32_t page_positions : {1u, 5u, 32u}) {
    check(copying(60), {.n_ctx = 128, .page_positions = page_positions});
  }
}

// Guesses take no pages that the answer does not need.
TEST_P(Looking, LeavesThePagesOfAPoolToOthers) {
  const auto pages_of_steps = [&](uint32_t n_lookup) {
    const auto session = make_session(*loaded_, pool_, {.n_ctx = 160, .page_positions = 16});
    GenerationOptions options = copying(80);
    options.n_lookup = n_lookup;
    auto generation = Generation::start(*session, *loaded_->tokenizer, repeating_prompt(), options);
    EXPECT_TRUE(generation.ok());
    std::vector<size_t> n_pages;
    Outcome outcome;
    do {
      answer(generation.value(), outcome, 1);
      n_pages.push_back(session->sequence().state_here()->rows().pages().size());
    } while (outcome.error.empty() && outcome.steps.back().finish == FinishReason::none);
    EXPECT_EQ(outcome.n_accepted > 10, n_lookup > 0);
    return n_pages;
  };
  EXPECT_EQ(pages_of_steps(kMostGuesses), pages_of_steps(0));
}

// The flag is set before each step in turn, as another thread would do.
TEST_P(Looking, CancelledAnywhereItHoldsWhatWasTold) {
  const auto outcome_of_cancelled = [&](size_t n_steps, uint32_t n_lookup, bool abandons) {
    const auto session = make_session(*loaded_, pool_, {.n_ctx = 256});
    std::atomic<uint32_t> word{0};
    GenerationOptions options = copying(60);
    options.n_lookup = n_lookup;
    options.cancellation = {&word, 7};
    auto generation = Generation::start(*session, *loaded_->tokenizer, repeating_prompt(), options);
    EXPECT_TRUE(generation.ok());
    Outcome outcome;
    answer(generation.value(), outcome, n_steps);
    word = 7;
    if (abandons) {
      EXPECT_TRUE(session->abandon().ok());
    } else {
      answer(generation.value(), outcome, 1);
    }
    outcome.context.assign(session->tokens().begin(), session->tokens().end());
    // A recurrent state after guesses cannot be cut: it is computed again.
    if (!keeps_state()) outcome.n_left = session->n_left();
    EXPECT_LE(session->n_left(), kMostLogitRows);
    go_on(*session, outcome);
    return outcome;
  };
  for (const bool abandons : {false, true}) {
    for (size_t n_steps = 2; n_steps < 45; n_steps += 1 + n_steps / 20) {
      expect_same(outcome_of_cancelled(n_steps, kMostGuesses, abandons),
                  outcome_of_cancelled(n_steps, 0, abandons));
    }
  }
}

TEST_P(Looking, ForksAnywhereGoOnAlike) {
  const auto outcome_of_fork = [&](size_t n_steps, uint32_t n_lookup, uint32_t page_positions) {
    const auto session = make_session(
        *loaded_, pool_, {.n_ctx = 256, .page_positions = page_positions, .pool_positions = 1024});
    GenerationOptions options = copying(60);
    options.n_lookup = n_lookup;
    auto generation = Generation::start(*session, *loaded_->tokenizer, repeating_prompt(), options);
    EXPECT_TRUE(generation.ok());
    Outcome outcome;
    answer(generation.value(), outcome, n_steps);
    auto fork = session->fork();
    EXPECT_TRUE(fork.ok());
    Outcome of_fork;
    go_on(*fork.value(), of_fork);
    answer(generation.value(), outcome);  // the parent continues, too
    look_at(*session, outcome);
    go_on(*fork.value(), of_fork);
    outcome.logits.insert(outcome.logits.end(), of_fork.logits.begin(), of_fork.logits.end());
    return outcome;
  };
  for (const uint32_t page_positions : {0u, 16u}) {
    for (size_t n_steps = 2; n_steps < 40; n_steps += 3) {
      expect_same(outcome_of_fork(n_steps, kMostGuesses, page_positions),
                  outcome_of_fork(n_steps, 0, page_positions));
    }
  }
}

// Several turns; each prompt begins with all earlier turns.
TEST_P(Looking, AChatIsTheSame) {
  uint32_t n_accepted = 0;
  const auto chat = [&](uint32_t n_lookup) {
    const auto session = make_session(*loaded_, pool_, {.n_ctx = 384, .n_batch = 16});
    Outcome outcome;
    Tokens conversation = repeating_prompt();
    for (uint32_t turn = 0; turn < 6; ++turn) {
      GenerationOptions options = turn % 2 == 0 ? copying(33) : greedy(21);
      options.replaces_context = true;
      options.n_lookup = n_lookup;
      auto generation = Generation::start(*session, *loaded_->tokenizer, conversation, options);
      EXPECT_TRUE(generation.ok());
      answer(generation.value(), outcome);
      n_accepted += outcome.n_accepted;
      conversation.assign(session->tokens().begin(), session->tokens().end() - turn % 3);
      const Tokens question = tokens(5, 20 + turn);
      conversation.insert(conversation.end(), question.begin(), question.end());
    }
    look_at(*session, outcome);
    return outcome;
  };
  const Outcome found = chat(kMostGuesses);
  EXPECT_GT(n_accepted, 30u);
  expect_same(found, chat(0));
}

INSTANTIATE_TEST_SUITE_P(Models, Looking,
                         testing::Values("arch/llama.gguf", "arch/gemma3.gguf", "arch/gpt2.gguf",
                                         "hybrid/lfm2.gguf", "hybrid/qwen35.gguf",
                                         "hybrid/mamba2.gguf", "hybrid/granitehybrid-moe.gguf",
                                         "hybrid/falcon-h1.gguf", "hybrid/lfm3.gguf",
                                         "hybrid/nemotron_h-Q4_0.gguf", "arch/k2-horizon.gguf"),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace kinglet
