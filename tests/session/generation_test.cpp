#include "session/generation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "gguf/file.h"
#include "model/tiny_model.h"
#include "session/language_model.h"
#include "session/sessions.h"
#include "support.h"

namespace kinglet {
namespace {

struct Told {
  std::string text;
  std::vector<TokenId> tokens;
  FinishReason finish = FinishReason::none;
};

Told run(Generation& generation) {
  Told told;
  while (told.finish == FinishReason::none) {
    auto step = generation.step();
    EXPECT_TRUE(step.ok());
    if (!step.ok()) break;
    told.text += step.value().text;
    if (step.value().token != kNoToken) told.tokens.push_back(step.value().token);
    told.finish = step.value().finish;
  }
  return told;
}

Told tell(const LanguageModel& loaded, Session& session, std::string_view prompt,
          const GenerationOptions& options) {
  auto generation =
      Generation::start(session, *loaded.tokenizer, loaded.tokenizer->encode(prompt), options);
  EXPECT_TRUE(generation.ok());
  return run(generation.value());
}

GenerationOptions greedy(uint32_t max_tokens) {
  GenerationOptions options;
  options.max_tokens = max_tokens;
  options.sampler.temperature = 0.0f;
  return options;
}

// Greedy text of the scalar kernels is the same in every build: the arithmetic has a fixed order.
TEST(Generation, TellsTheKnownStory) {
  const LanguageModel loaded = load_stories("scalar");
  ThreadPool pool;
  const auto session = make_session(loaded, pool);
  const Told told = tell(loaded, *session, "Once upon a time", greedy(24));
  EXPECT_EQ(told.text,
            ", there was a little girl named Lily. She loved to play outside in the park. One day, "
            "she saw a");
  EXPECT_EQ(told.tokens.size(), 24u);
  EXPECT_EQ(told.finish, FinishReason::length);
}

TEST(Generation, SameSeedSameStory) {
  const LanguageModel loaded = load_stories("scalar");
  ThreadPool pool;
  const auto session = make_session(loaded, pool);
  GenerationOptions options;
  options.max_tokens = 24;
  options.sampler.seed = 11;
  const Told first = tell(loaded, *session, "Once upon a time", options);
  ASSERT_TRUE(session->truncate(0).ok());
  const Told second = tell(loaded, *session, "Once upon a time", options);
  EXPECT_EQ(first.text, second.text);
  // The text is the same natively and in wasm.
  EXPECT_EQ(first.text,
            ", there was a little girl named Lily. She loved to play outside in the sun. One day, "
            "she saw a");
  ASSERT_TRUE(session->truncate(0).ok());
  options.sampler.seed = 12;
  EXPECT_NE(tell(loaded, *session, "Once upon a time", options).text, first.text);
}

TEST(Generation, EndsWhereTheModelDoes) {
  const LanguageModel loaded = load_stories("scalar");  // others choose other tokens
  ThreadPool pool;
  const auto session = make_session(loaded, pool);
  GenerationOptions options;
  options.max_tokens = 500;
  options.sampler.seed = 3;
  const Told told = tell(loaded, *session, "Once upon a time", options);
  EXPECT_EQ(told.finish, FinishReason::stop);
  EXPECT_LT(told.tokens.size(), 500u);
  for (const TokenId token : told.tokens) {
    EXPECT_FALSE(loaded.tokenizer->is_end_of_generation(token));
  }
}

// Suppressed tokens are never drawn, whatever the sampler and other options are.
TEST(Generation, NeverDrawsWhatTheFileSuppresses) {
  const LanguageModel free = load_tiny();
  ThreadPool pool;
  const auto session = make_session(free, pool);
  const Told told = tell(free, *session, "", greedy(4));
  ASSERT_FALSE(told.tokens.empty());
  const TokenId first = told.tokens.front();

  TinyModel tiny;
  tiny.edit = [first](GgufBuilder& file) {
    file.set_array("tokenizer.ggml.suppress_tokens", std::vector<int32_t>{first});
  };
  const LanguageModel loaded = load_tiny(tiny);
  const auto other = make_session(loaded, pool);
  for (const float temperature : {0.0f, 5.0f}) {
    GenerationOptions options = greedy(20);
    options.sampler.temperature = temperature;
    options.sampler.top_k = 0;
    options.sampler.logit_bias = {{first, 100.0f}};
    ASSERT_TRUE(other->truncate(0).ok());
    const Told without = tell(loaded, *other, "", options);
    EXPECT_FALSE(without.tokens.empty());
    EXPECT_EQ(std::count(without.tokens.begin(), without.tokens.end(), first), 0);
  }
}

TEST(Generation, BatchesOfAnySizeTellTheSame) {
  const LanguageModel loaded = load_stories();
  ThreadPool pool;
  const std::string prompt = "Once upon a time, there was a little bird named Kim. One day";
  std::string expected;
  for (const uint32_t n_batch : {64u, 1u, 5u}) {
    const auto session = make_session(loaded, pool, {.n_ctx = 64, .n_batch = n_batch});
    const Told told = tell(loaded, *session, prompt, greedy(16));
    if (expected.empty()) expected = told.text;
    EXPECT_EQ(told.text, expected) << n_batch;
  }
}

TEST(Generation, ReportsThePromptBatchByBatch) {
  const LanguageModel loaded = load_tiny();
  ThreadPool pool;
  const auto session = make_session(loaded, pool, {.n_batch = 4});
  auto generation =
      Generation::start(*session, *loaded.tokenizer, std::vector<TokenId>(10, 3), greedy(1));
  ASSERT_TRUE(generation.ok());
  for (const uint32_t expected : {4u, 8u, 10u}) {
    const auto step = generation.value().step();
    ASSERT_TRUE(step.ok());
    EXPECT_EQ(step.value().n_prompt_done, expected);
    EXPECT_EQ(step.value().token, kNoToken);
  }
  EXPECT_NE(generation.value().step().value().token, kNoToken);
}

TEST(Generation, StopsWhenTheContextIsFull) {
  TinyModel tiny;
  tiny.context_length = 8;
  const LanguageModel loaded = load_tiny(tiny);
  ThreadPool pool;
  const auto session = make_session(loaded, pool);
  GenerationOptions options = greedy(100);
  auto generation =
      Generation::start(*session, *loaded.tokenizer, std::vector<TokenId>(8, 3), options);
  ASSERT_TRUE(generation.ok());
  const Told told = run(generation.value());
  // A full context still gives logits for one token.
  EXPECT_LE(told.tokens.size(), 1u);
  EXPECT_NE(told.finish, FinishReason::length);
  EXPECT_EQ(session->n_positions(), 8u);
}

// The session contains all tokens except the dropped ones, however often tokens were dropped.
TEST(Generation, GoesOnInAFullContextThatMayDropTokens) {
  const LanguageModel loaded = load_stories("scalar");
  ThreadPool pool;
  const auto session = make_session(loaded, pool, {.n_ctx = 32});
  GenerationOptions options = greedy(60);
  options.shifts_context = true;
  options.n_kept = 3;
  const std::vector<TokenId> prompt = loaded.tokenizer->encode("Once upon a time");
  auto generation = Generation::start(*session, *loaded.tokenizer, prompt, options);
  ASSERT_TRUE(generation.ok());
  uint32_t n_drawn = 0;
  uint32_t n_dropped = 0;
  for (FinishReason finish = FinishReason::none; finish == FinishReason::none;) {
    const auto step = generation.value().step();
    ASSERT_TRUE(step.ok());
    n_drawn += step.value().token == kNoToken ? 0 : 1;
    n_dropped = step.value().n_dropped;
    finish = step.value().finish;
  }
  EXPECT_EQ(n_drawn, 60u);
  EXPECT_GT(n_dropped, 0u);
  EXPECT_EQ(session->n_positions(), prompt.size() + 60 - n_dropped);
  EXPECT_TRUE(std::equal(prompt.begin(), prompt.begin() + 3, session->tokens().begin()));
}

// A full context also makes room for a prompt, but never drops the tokens that must be kept.
TEST(Generation, MakesRoomForAPromptInAFullContextThatMayDropTokens) {
  const LanguageModel loaded = load_stories("scalar");
  ThreadPool pool;
  const auto session = make_session(loaded, pool, {.n_ctx = 32});
  EXPECT_EQ(tell(loaded, *session, "Once upon a time", greedy(60)).finish, FinishReason::context);
  const std::vector<TokenId> more(20, loaded.tokenizer->encode(" and").back());
  GenerationOptions options = greedy(1);
  const auto start = [&] { return Generation::start(*session, *loaded.tokenizer, more, options); };
  EXPECT_EQ(start().error().code, ErrorCode::prompt_too_long);
  options.shifts_context = true;
  options.n_kept = 13;
  EXPECT_EQ(start().error().code, ErrorCode::prompt_too_long);
  EXPECT_EQ(session->n_positions(), 32u);
  options.n_kept = 5;
  auto generation = start();
  ASSERT_TRUE(generation.ok());
  EXPECT_EQ(run(generation.value()).tokens.size(), 1u);
  const auto tokens = session->tokens();
  EXPECT_TRUE(std::search(tokens.begin() + 5, tokens.end(), more.begin(), more.end()) !=
              tokens.end());
}

TEST(Generation, GivesTheTextItHeldBackWhereItIsCancelled) {
  const LanguageModel loaded = load_stories("scalar");
  ThreadPool pool;
  const auto session = make_session(loaded, pool);
  GenerationOptions options = greedy(24);
  options.stop = {" little girl named Anna"};
  auto generation = Generation::start(*session, *loaded.tokenizer,
                                      loaded.tokenizer->encode("Once upon a time"), options);
  ASSERT_TRUE(generation.ok());
  std::string text;
  uint32_t n_drawn = 0;
  while (n_drawn < 7) {  // ", there was a little girl named"
    const auto step = generation.value().step();
    ASSERT_TRUE(step.ok());
    text += step.value().text;
    n_drawn += step.value().token == kNoToken ? 0 : 1;
  }
  EXPECT_EQ(text, ", there was a");
  const auto last = generation.value().cancel();
  ASSERT_TRUE(last.ok());
  EXPECT_EQ(last.value().finish, FinishReason::cancelled);
  EXPECT_EQ(last.value().text, " little girl named");
}

TEST(Generation, ContinuesItsOwnAnswer) {
  const LanguageModel loaded = load_stories("scalar");
  ThreadPool pool;
  const auto whole = make_session(loaded, pool);
  const Told expected = tell(loaded, *whole, "Once upon a time", greedy(12));
  EXPECT_EQ(whole->n_positions(), loaded.tokenizer->encode("Once upon a time").size() + 12);

  const auto session = make_session(loaded, pool);
  std::string text = tell(loaded, *session, "Once upon a time", greedy(5)).text;
  for (const uint32_t n : {1u, 6u}) {
    auto generation = Generation::start(*session, *loaded.tokenizer, {}, greedy(n));
    ASSERT_TRUE(generation.ok());
    text += run(generation.value()).text;
  }
  EXPECT_EQ(text, expected.text);
  const auto tokens = session->tokens();
  EXPECT_EQ(std::vector(tokens.begin(), tokens.end()),
            std::vector(whole->tokens().begin(), whole->tokens().end()));
}

// The next prompt computes the last token together with its own tokens, in one step.
TEST(Generation, LeavesTheLastTokenToTheNextPrompt) {
  const LanguageModel loaded = load_tiny();
  ThreadPool pool;
  for (const bool replaces : {false, true}) {
    const auto session = make_session(loaded, pool, {.n_batch = 8});
    GenerationOptions options = greedy(2);
    options.replaces_context = replaces;
    auto first = Generation::start(*session, *loaded.tokenizer, {1, 3, 4}, options);
    ASSERT_TRUE(first.ok());
    ASSERT_EQ(run(first.value()).finish, FinishReason::length);
    EXPECT_EQ(session->n_positions(), 5u);
    EXPECT_EQ(session->n_left(), 1u);
    std::vector<TokenId> prompt(session->tokens().begin(), session->tokens().end());
    if (!replaces) prompt.clear();
    prompt.insert(prompt.end(), {5, 6});
    auto next = Generation::start(*session, *loaded.tokenizer, prompt, options);
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(next.value().n_prompt_done(), replaces ? 4u : 0u);
    const auto step = next.value().step();
    ASSERT_TRUE(step.ok());
    EXPECT_EQ(step.value().n_computed, 3u);
    EXPECT_EQ(step.value().n_prompt_done, prompt.size());
    EXPECT_EQ(session->n_positions(), 7u);
    EXPECT_EQ(session->n_left(), 0u);
  }
}

TEST(Generation, KeepsOnlyTheBeginningThatAPromptReplacingTheContextHas) {
  const LanguageModel loaded = load_stories("scalar");
  ThreadPool pool;
  const auto session = make_session(loaded, pool);
  GenerationOptions options = greedy(6);
  options.replaces_context = true;
  const Told first = tell(loaded, *session, "Once upon a time", options);
  const auto prompt = loaded.tokenizer->encode("Once upon a hill");
  auto generation = Generation::start(*session, *loaded.tokenizer, prompt, options);
  ASSERT_TRUE(generation.ok());
  EXPECT_GT(generation.value().n_prompt_done(), 2u);
  EXPECT_LT(generation.value().n_prompt_done(), prompt.size());
  (void)run(generation.value());
  EXPECT_EQ(tell(loaded, *session, "Once upon a time", options).text, first.text);
}

TEST(Generation, CancelledKeepsWhatWasToldAndTakesAnUnreadPromptBack) {
  const LanguageModel loaded = load_tiny();
  ThreadPool pool;
  const auto session = make_session(loaded, pool, {.n_batch = 4});
  ASSERT_TRUE(session->append(std::vector<TokenId>{1, 3}).ok());
  for (const bool replaces : {false, true}) {
    GenerationOptions options = greedy(1);
    options.replaces_context = replaces;
    auto unread =
        Generation::start(*session, *loaded.tokenizer, std::vector<TokenId>(10, 3), options);
    ASSERT_TRUE(unread.ok() && unread.value().step().ok() && session->abandon().ok());
    EXPECT_EQ(session->n_positions(), replaces ? 4u : 2u);
  }
  auto told = Generation::start(*session, *loaded.tokenizer, {5}, greedy(9));
  ASSERT_TRUE(told.ok());
  ASSERT_TRUE(told.value().step().ok());
  const auto step = told.value().step();
  ASSERT_TRUE(step.ok() && session->abandon().ok());
  EXPECT_EQ(session->n_positions(), 6u);
  EXPECT_EQ(session->tokens().back(), step.value().token);
}

TEST(Generation, ReportsThePromptThatFailedAndTakesItBack) {
  const LanguageModel loaded = load_tiny();
  ThreadPool pool;
  const auto session = make_session(loaded, pool, {.n_batch = 4});
  ASSERT_TRUE(session->append(std::vector<TokenId>{1, 3}).ok());
  auto generation = Generation::start(*session, *loaded.tokenizer, {3, 3, 3, 3, 9999}, greedy(1));
  ASSERT_TRUE(generation.ok() && generation.value().step().ok());
  EXPECT_EQ(generation.value().step().error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(session->n_positions(), 2u);
}

TEST(Generation, EndsBeforeAStopString) {
  const LanguageModel loaded = load_stories("scalar");
  ThreadPool pool;
  for (const bool replaces : {true, false}) {
    const auto session = make_session(loaded, pool);
    GenerationOptions options = greedy(40);
    options.replaces_context = replaces;
    options.stop = {"no such text", "named Lily. She", "to play"};
    const Told told = tell(loaded, *session, "Once upon a time", options);
    EXPECT_EQ(told.text, ", there was a little girl ");
    EXPECT_EQ(told.finish, FinishReason::stop);
    // The context contains all tokens that were drawn, so that it can be continued.
    const size_t n_prompt = loaded.tokenizer->encode("Once upon a time").size();
    EXPECT_EQ(session->n_positions(), n_prompt + told.tokens.size());
    EXPECT_EQ(session->n_left(), 1u);
  }
  const auto session = make_session(loaded, pool);
  GenerationOptions options = greedy(6);
  options.stop = {"a little girls"};
  // The text was held back for a stop string that never came.
  EXPECT_EQ(tell(loaded, *session, "Once upon a time", options).text, ", there was a little girl");
}

TEST(Generation, MeasuresLogprobsOfTheModelWhateverTheSampler) {
  const LanguageModel loaded = load_stories("scalar");
  ThreadPool pool;
  const auto session = make_session(loaded, pool);
  const auto prompt = loaded.tokenizer->encode("Once upon a time");
  const auto first_step = [&](GenerationOptions options) {
    EXPECT_TRUE(session->truncate(0).ok());
    options.n_logprobs = 3;
    auto generation = Generation::start(*session, *loaded.tokenizer, prompt, options);
    EXPECT_TRUE(generation.ok() && generation.value().step().ok());
    return generation.value().step().value();
  };
  const GenerationStep best = first_step(greedy(1));
  ASSERT_EQ(best.top.size(), 3u);
  EXPECT_EQ(best.top[0].token, best.token);
  EXPECT_EQ(best.top[0].weight, best.logprob);
  EXPECT_GT(best.logprob, std::log(0.5f));
  GenerationOptions biased = greedy(1);
  biased.sampler.logit_bias = {{best.top[2].token, 100.0f}};
  const GenerationStep third = first_step(biased);
  EXPECT_EQ(third.token, best.top[2].token);
  EXPECT_EQ(third.logprob, best.top[2].weight);
  EXPECT_EQ(third.top[0].token, best.token);
}

// The numbers are those after each token alone, whatever the batches, and whatever the session held
// before.
TEST(Generation, MeasuresItsPromptIfItIsAskedTo) {
  const LanguageModel loaded = load_stories("scalar");
  ThreadPool pool;
  const auto prompt = loaded.tokenizer->encode("Once upon a time, there was a little girl.");
  Logprobs logprobs(loaded.model.config().vocab_size, 2, loaded.model.kernels());
  std::vector<float> expected;
  const auto alone = make_session(loaded, pool);
  for (const TokenId token : prompt) {
    if (alone->n_positions() > 0) {
      logprobs.measure(alone->logits());
      expected.push_back(logprobs.of(token));
    }
    ASSERT_TRUE(alone->append({&token, 1}).ok());
  }
  GenerationOptions options = greedy(2);
  options.replaces_context = true;
  options.n_logprobs = 2;
  const auto session = make_session(loaded, pool);
  GenerationStep plain;
  for (const bool measures : {false, true}) {
    for (const uint32_t max_batch : {UINT32_MAX, 3u, 1u}) {
      options.measures_prompt = measures;
      options.max_tokens = 2;
      auto generation = Generation::start(*session, *loaded.tokenizer, prompt, options);
      ASSERT_TRUE(generation.ok()) << generation.error().message;
      std::vector<MeasuredToken> measured;
      GenerationStep step;
      while (step.token == kNoToken) {
        step = generation.value().step(max_batch).value();
        measured.insert(measured.end(), step.prompt.begin(), step.prompt.end());
      }
      if (!measures) {
        plain = step;
        EXPECT_TRUE(measured.empty());
        continue;
      }
      EXPECT_EQ(step.token, plain.token);
      EXPECT_EQ(step.logprob, plain.logprob);
      ASSERT_EQ(measured.size(), prompt.size());
      EXPECT_EQ(measured[0].logprob, std::nullopt);
      EXPECT_TRUE(measured[0].top.empty());
      for (size_t i = 0; i < prompt.size(); ++i) {
        EXPECT_EQ(measured[i].token, prompt[i]);
        if (i == 0) continue;
        EXPECT_EQ(measured[i].logprob, expected[i - 1]) << i;
        ASSERT_EQ(measured[i].top.size(), 2u);
        EXPECT_GE(measured[i].top[0].weight, *measured[i].logprob);
      }
    }
  }
  options.max_tokens = 0;
  auto generation = Generation::start(*session, *loaded.tokenizer, prompt, options);
  ASSERT_TRUE(generation.ok()) << generation.error().message;
  GenerationStep step;
  size_t n_measured = 0;
  while (!step.is_last()) {
    step = generation.value().step().value();
    n_measured += step.prompt.size();
    EXPECT_EQ(step.token, kNoToken);
  }
  EXPECT_EQ(step.finish, FinishReason::length);
  EXPECT_EQ(n_measured, prompt.size());
}

// The flag is set before the step; in real use, another thread sets it during the step.
TEST(Generation, StopsInTheMiddleOfAStepThatIsCancelled) {
  const LanguageModel loaded = load_tiny();
  ThreadPool pool;
  for (const bool replaces : {false, true}) {
    const auto session = make_session(loaded, pool, {.n_batch = 4});
    ASSERT_TRUE(session->append(std::vector<TokenId>{1, 3}).ok());
    std::atomic<uint32_t> word{0};
    GenerationOptions options = greedy(9);
    options.replaces_context = replaces;
    options.cancellation = {&word, 7};
    auto generation =
        Generation::start(*session, *loaded.tokenizer, std::vector<TokenId>(6, 3), options);
    ASSERT_TRUE(generation.ok() && generation.value().step().ok());
    word = 7;
    auto step = generation.value().step();
    ASSERT_TRUE(step.ok()) << step.error().message;
    EXPECT_EQ(step.value().finish, FinishReason::cancelled);
    EXPECT_EQ(session->n_positions(), replaces ? 4u : 2u);

    word = 8;  // the word of another call
    const uint32_t n_before = replaces ? 0 : 2;
    generation = Generation::start(*session, *loaded.tokenizer, {1, 5}, options);
    ASSERT_TRUE(generation.ok() && generation.value().step().ok());
    const auto drawn = generation.value().step();
    ASSERT_TRUE(drawn.ok());
    word = 7;
    step = generation.value().step();
    ASSERT_TRUE(step.ok());
    EXPECT_EQ(step.value().finish, FinishReason::cancelled);
    EXPECT_EQ(session->n_positions(), n_before + 3);
    EXPECT_EQ(session->tokens().back(), drawn.value().token);
    EXPECT_TRUE(session->append(std::vector<TokenId>{4}).ok());
  }
}

TEST(Generation, ReadsThePromptInBatchesOfTheSizeAskedFor) {
  const LanguageModel loaded = load_tiny();
  ThreadPool pool;
  const auto session = make_session(loaded, pool, {.n_batch = 4});
  auto generation =
      Generation::start(*session, *loaded.tokenizer, std::vector<TokenId>(10, 3), greedy(1));
  ASSERT_TRUE(generation.ok());
  uint32_t n_done = 0;
  for (const uint32_t n : {1u, 3u, 100u, 1u, 2u}) {
    n_done += std::min(n, 4u);
    if (n_done > 10) n_done = 10;
    EXPECT_EQ(generation.value().step(n).value().n_prompt_done, n_done);
  }
}

TEST(Generation, RefusesWhatCannotBeDone) {
  const LanguageModel loaded = load_tiny();
  ThreadPool pool;
  const auto session = make_session(loaded, pool, {.n_ctx = 16});
  const auto error = [&](std::vector<TokenId> prompt, const GenerationOptions& options) {
    auto generation = Generation::start(*session, *loaded.tokenizer, std::move(prompt), options);
    return generation.ok() ? Error{ErrorCode::io, "none"} : generation.error();
  };
  EXPECT_EQ(error({1}, greedy(0)).message, "0 tokens were requested, expected at least 1");
  EXPECT_EQ(error({}, greedy(1)).code, ErrorCode::invalid_argument);
  const Error too_long = error(std::vector<TokenId>(17, 3), greedy(1));
  EXPECT_EQ(too_long.code, ErrorCode::prompt_too_long);
  EXPECT_NE(too_long.message.find("17 tokens"), std::string::npos);
  GenerationOptions bad = greedy(1);
  bad.sampler.top_p = 2;
  EXPECT_EQ(error({1}, bad).code, ErrorCode::invalid_argument);
  bad = greedy(1);
  bad.stop = {""};
  EXPECT_EQ(error({1}, bad).message, "stop string 0 is empty");
  bad = greedy(1);
  bad.n_logprobs = kMaxLogprobs + 1;
  EXPECT_EQ(error({1}, bad).code, ErrorCode::invalid_argument);
  // The session still works.
  EXPECT_EQ(session->n_positions(), 0u);
  EXPECT_TRUE(session->append(std::vector<TokenId>{1, 3}).ok());
}

TEST(Session, ChecksItsOptions) {
  const LanguageModel loaded = load_tiny();
  ThreadPool pool;
  const auto too_wide = Session::create(loaded.model, pool, {.n_ctx = 33});
  ASSERT_FALSE(too_wide.ok());
  EXPECT_NE(too_wide.error().message.find("trained for 32"), std::string::npos);
  EXPECT_FALSE(Session::create(loaded.model, pool, {.n_batch = 0}).ok());
  EXPECT_EQ(make_session(loaded, pool)->n_ctx(), 32u);
}

TEST(Session, ContextIsAsItWasAfterAnError) {
  const LanguageModel loaded = load_tiny();
  ThreadPool pool;
  const auto session = make_session(loaded, pool, {.n_ctx = 16, .n_batch = 4});
  ASSERT_TRUE(session->append(std::vector<TokenId>{1, 3, 4}).ok());
  // The bad token is in the second batch.
  EXPECT_FALSE(session->append(std::vector<TokenId>{3, 3, 3, 3, 99}).ok());
  EXPECT_EQ(session->n_positions(), 3u);
  EXPECT_EQ(session->append(std::vector<TokenId>(14, 3)).error().code, ErrorCode::context_full);
  EXPECT_EQ(session->append(std::vector<TokenId>{}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(session->n_positions(), 3u);
}

// The error that refuses a model.
Error refusal_of(const TinyModel& tiny) {
  auto file = load_gguf(tiny.build());
  EXPECT_TRUE(file.ok());
  const auto loaded = load_language_model(std::move(file.value()));
  EXPECT_FALSE(loaded.ok());
  return loaded.ok() ? Error{ErrorCode::io, "it loaded"} : loaded.error();
}

TEST(LanguageModel, RefusesWeightsThatAreNotNumbers) {
  for (const float weight : {INFINITY, -INFINITY, NAN}) {
    TinyModel tiny;
    tiny.weight = weight;
    const Error error = refusal_of(tiny);
    EXPECT_EQ(error.code, ErrorCode::not_finite);
    EXPECT_NE(error.message.find("token_embd.weight"), std::string::npos);
  }
}

// Finite weights with scores that are not finite: every kernel set must report an error.
TEST(Session, ReportsNumbersThatOverflow) {
  TinyModel tiny;
  tiny.weight = 1e15f;
  for (const KernelSet* kernels : available_kernels()) {
    auto file = load_gguf(tiny.build());
    ASSERT_TRUE(file.ok());
    const auto loaded = load_language_model(std::move(file.value()), kernels->name);
    ASSERT_TRUE(loaded.ok());
    ThreadPool pool;
    const auto session = make_session(loaded.value(), pool);
    const Status status = session->append(std::vector<TokenId>{1, 3});
    ASSERT_FALSE(status.ok()) << kernels->name;
    EXPECT_EQ(status.error().code, ErrorCode::not_finite);
    EXPECT_EQ(session->n_positions(), 0u);
  }
}

// Numbers that overflow between matrices must be noticed, also if they are then rounded to 8 bits.
TEST(Session, ReportsNumbersThatOverflowInEveryType) {
  TinyModel tiny;
  tiny.hidden_dim = tiny.ffn_dim = 256;
  tiny.head_dim = 128;
  ThreadPool pool;
  for (const DType type :
       {DType::f32, DType::f16, DType::q4_0, DType::q8_0, DType::q5_1, DType::q4_k, DType::q6_k}) {
    tiny.matrix_type = type;
    for (const float norm : {1e20f, 1e30f, 1e38f}) {
      tiny.norm_weight = norm;
      for (const KernelSet* kernels : available_kernels()) {
        auto file = load_gguf(tiny.build());
        ASSERT_TRUE(file.ok()) << file.error().message;
        const auto loaded = load_language_model(std::move(file.value()), kernels->name);
        ASSERT_TRUE(loaded.ok()) << loaded.error().message;
        const auto session = make_session(loaded.value(), pool);
        const Status status = session->append(std::vector<TokenId>{1, 3});
        ASSERT_FALSE(status.ok()) << kernels->name << " " << dtype_info(type).name << " " << norm;
        EXPECT_EQ(status.error().code, ErrorCode::not_finite);
      }
    }
  }
}

// A file with factors for a rotation, in a model that rotates nothing.
TEST(LanguageModel, RefusesFactorsOfARotationThatIsNotThere) {
  TinyModel tiny;
  tiny.architecture = "granite";
  tiny.edit = [](GgufBuilder& file) {
    file.set_bool("granite.rope.scaling.finetuned", false);
    file.add_f32("rope_freqs.weight", {2}, {1.0f, 1.0f});
  };
  const Error error = refusal_of(tiny);
  EXPECT_EQ(error.code, ErrorCode::unsupported_feature);
  EXPECT_NE(error.message.find("rope_freqs.weight"), std::string::npos);
}

TEST(LanguageModel, RefusesMoreTokensThanEmbeddings) {
  TinyModel tiny;
  tiny.n_tokens = 9;
  const Error error = refusal_of(tiny);
  EXPECT_NE(error.message.find("9 tokens"), std::string::npos);
  EXPECT_NE(error.message.find("8 rows"), std::string::npos);
}

TEST(LanguageModel, OfAVocabularyOnlyTokenizes) {
  TinyModel vocabulary;
  vocabulary.has_weights = false;
  const LanguageModel loaded = load_tiny(vocabulary);
  EXPECT_FALSE(loaded.model.has_weights());
  EXPECT_EQ(loaded.tokenizer->encode("ab", {.add_bos = true}).size(), 3u);
  ThreadPool pool;
  const auto session = Session::create(loaded.model, pool, {});
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, ErrorCode::missing_tensor);
  EXPECT_NE(session.error().message.find("only a vocabulary"), std::string::npos);
}

TEST(LanguageModel, RunsTheKernelsThatWereForced) {
  for (const KernelSet* kernels : available_kernels()) {
    EXPECT_EQ(&load_stories(kernels->name).model.kernels(), kernels);
  }
  EXPECT_EQ(&load_stories().model.kernels(), available_kernels().front());
  auto file = load_gguf(TinyModel().build());
  const auto unknown = load_language_model(std::move(file.value()), "mmx");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("scalar"), std::string::npos);
}

}  // namespace
}  // namespace kinglet
