// States of prompts that are stored once and restored for later prompts, also by another process.
#include "answers/prompt_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "answers/answer.h"
#include "model/runner.h"
#include "session/sessions.h"

namespace kinglet {
namespace {

constexpr uint32_t kOpening = PromptCache::kLeastStored;

// States in memory.
class Storage final : public PromptStorage {
 public:
  bool is_writable() const override { return true; }

  Result<AlignedBuffer> read(const std::string& name) override {
    ++n_reads;
    const auto& bytes = states.at(name);
    KINGLET_ASSIGN(AlignedBuffer copy, AlignedBuffer::allocate(bytes.size(), "a state"));
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    return copy;
  }

  void write(const std::string& name, std::span<const std::byte> state) override {
    states[name] = {state.begin(), state.end()};
  }

  void reject(const std::string& name, std::string_view reason) override {
    states.erase(name);
    rejected = reason;
  }

  std::map<std::string, std::vector<std::byte>> states;
  std::string rejected;
  int n_reads = 0;
};

// An opening that all prompts have, and a question of their own.
Tokens prompt_of(TokenId question, uint32_t n_opening = kOpening) {
  Tokens tokens = {1};
  while (tokens.size() < n_opening) {
    tokens.push_back(static_cast<TokenId>(300 + tokens.size() * 37 % 1500));
  }
  for (int i = 0; i < 8; ++i) tokens.push_back(question + i);
  return tokens;
}

struct Answered {
  Tokens tokens;
  AnswerCounts counts;
};

Answered answer_in(Session& session, const LanguageModel& loaded, const Tokens& prompt,
                   uint32_t n_opening, PromptCache* cache) {
  GenerationOptions options;
  options.max_tokens = 6;
  options.sampler.temperature = 0;
  options.replaces_context = true;
  options.n_opening = n_opening;
  auto answer = Answer::start(session, *loaded.tokenizer, prompt, options, {}, cache);
  EXPECT_TRUE(answer.ok());
  Answered answered;
  for (AnswerEvent event; !event.is_last();) {
    event = std::move(answer.value().step().value());
    if (event.has_token()) answered.tokens.push_back(event.token.token);
    answered.counts = event.counts;
  }
  return answered;
}

class PromptCacheTest : public testing::Test {
 protected:
  std::unique_ptr<Session> session(SequenceOptions options = {.n_ctx = 512}) {
    return make_session(loaded, pool, options);
  }

  Answered answer(Session& session, const Tokens& prompt, uint32_t n_opening, PromptCache* cache) {
    return answer_in(session, loaded, prompt, n_opening, cache);
  }

  Tokens answer_alone(const Tokens& prompt, SequenceOptions options = {.n_ctx = 512}) {
    return answer(*session(options), prompt, 0, nullptr).tokens;
  }

  // What another process finds in the storage.
  PromptCache reopened() {
    PromptCache cache(loaded.model, storage);
    for (const auto& [name, bytes] : storage.states) {
      EXPECT_TRUE(cache.add(name, bytes).ok());
    }
    return cache;
  }

  LanguageModel loaded = load_stories();
  ThreadPool pool;
  Storage storage;
};

TEST_F(PromptCacheTest, StoresAnOpeningOnceAndStartsFromIt) {
  PromptCache cache(loaded.model, storage);
  const Tokens first = prompt_of(400);
  EXPECT_EQ(answer(*session(), first, kOpening, &cache).tokens, answer_alone(first));
  ASSERT_EQ(storage.states.size(), 1u);
  for (const bool is_other_process : {false, true}) {
    PromptCache other = reopened();
    PromptCache& used = is_other_process ? other : cache;
    const Tokens second = prompt_of(500 + is_other_process);
    const Answered answered = answer(*session(), second, kOpening, &used);
    EXPECT_EQ(answered.counts.n_cached, kOpening);
    EXPECT_EQ(answered.tokens, answer_alone(second));
  }
  EXPECT_EQ(storage.states.size(), 1u);
}

TEST_F(PromptCacheTest, StoresWhatTwoPromptsHaveInCommon) {
  PromptCache cache(loaded.model, storage);
  answer(*session(), prompt_of(400), 0, &cache);
  EXPECT_TRUE(storage.states.empty());
  answer(*session(), prompt_of(500), 0, &cache);
  ASSERT_EQ(storage.states.size(), 1u);
  EXPECT_EQ(answer(*session(), prompt_of(600), 0, &cache).counts.n_cached, kOpening);
}

TEST_F(PromptCacheTest, StoresNoShortBeginnings) {
  PromptCache cache(loaded.model, storage);
  answer(*session(), prompt_of(400, kOpening - 1), kOpening - 1, &cache);
  answer(*session(), prompt_of(500, kOpening - 1), kOpening - 1, &cache);
  EXPECT_TRUE(storage.states.empty());
}

TEST_F(PromptCacheTest, DoesNotRestoreWhatTheContextHas) {
  PromptCache cache(loaded.model, storage);
  const auto kept = session();
  answer(*kept, prompt_of(400), kOpening, &cache);
  const Answered answered = answer(*kept, prompt_of(500), kOpening, &cache);
  EXPECT_EQ(answered.counts.n_cached, kOpening);
  EXPECT_EQ(storage.n_reads, 0);
}

TEST_F(PromptCacheTest, ComputesAnewWhatIsDamaged) {
  PromptCache cache(loaded.model, storage);
  answer(*session(), prompt_of(400), kOpening, &cache);
  const auto whole = storage.states.begin()->second;
  const Tokens prompt = prompt_of(500);
  const Tokens expected = answer_alone(prompt);
  std::vector<std::vector<std::byte>> damaged(3, whole);
  damaged[0][whole.size() - 5] ^= std::byte{1};
  damaged[1].resize(whole.size() / 2);
  damaged[2][offsetof(StateHeader, version)] ^= std::byte{1};
  for (const auto& bytes : damaged) {
    Storage damaged_storage;
    PromptCache other(loaded.model, damaged_storage);
    ASSERT_TRUE(other.add("a", whole).ok());
    damaged_storage.states["a"] = bytes;
    const Answered answered = answer(*session(), prompt, kOpening, &other);
    EXPECT_EQ(answered.tokens, expected);
    EXPECT_EQ(answered.counts.n_cached, 0u);
    EXPECT_NE(damaged_storage.rejected, "");
    EXPECT_EQ(damaged_storage.states, storage.states) << "it is not stored anew";
  }
}

TEST_F(PromptCacheTest, RefusesBeginningsThatAreCut) {
  PromptCache cache(loaded.model, storage);
  answer(*session(), prompt_of(400), kOpening, &cache);
  const std::span<const std::byte> state = storage.states.begin()->second;
  const auto n = static_cast<size_t>(beginning_bytes(kOpening));
  EXPECT_TRUE(cache.add("a", state.first(n)).ok());
  for (const size_t n_bytes : {size_t{0}, size_t{40}, sizeof(StateHeader), n - 1}) {
    EXPECT_EQ(cache.add("b", state.first(n_bytes)).error().code, ErrorCode::corrupt) << n_bytes;
  }
}

TEST_F(PromptCacheTest, KeepsTheKindsApart) {
  PromptCache cache(loaded.model, storage);
  answer(*session(), prompt_of(400), kOpening, &cache);
  const SequenceOptions small{.n_ctx = 512, .k_kind = KvKind::q8, .v_kind = KvKind::q8};
  const Tokens prompt = prompt_of(500);
  EXPECT_EQ(answer(*session(small), prompt, kOpening, &cache).tokens, answer_alone(prompt, small));
  EXPECT_EQ(storage.states.size(), 2u);
  EXPECT_EQ(answer(*session(small), prompt_of(600), 0, &cache).counts.n_cached, kOpening);
  EXPECT_EQ(answer(*session(), prompt_of(700), 0, &cache).counts.n_cached, kOpening);
}

// Windows keep only some rows, and recurrent layers a state that cannot go back.
class PromptCacheOf : public testing::TestWithParam<const char*> {};

TEST_P(PromptCacheOf, StartsWhereTheStateWasStored) {
  auto file = load_gguf(with_long_context(read_fixture(GetParam())));
  ASSERT_TRUE(file.ok());
  const auto loaded = std::move(load_language_model(std::move(file.value())).value());
  const auto n_tokens = static_cast<TokenId>(loaded.model.config().vocab_size);
  const auto prompt = [&](TokenId question) {
    Tokens tokens;
    for (TokenId i = 0; i < 300; ++i) tokens.push_back((i * 37 + i / 7) % n_tokens);
    for (TokenId i = 0; i < 9; ++i) tokens.push_back((question + i) % n_tokens);
    return tokens;
  };
  ThreadPool pool;
  const SequenceOptions options{.n_ctx = 400};
  Storage storage;
  PromptCache cache(loaded.model, storage);
  answer_in(*make_session(loaded, pool, options), loaded, prompt(1), 300, &cache);
  ASSERT_EQ(storage.states.size(), 1u);
  for (const TokenId question : {20, 40}) {
    const auto session = make_session(loaded, pool, options);
    const Answered answered = answer_in(*session, loaded, prompt(question), 300, &cache);
    EXPECT_EQ(answered.counts.n_cached, 300u);
    const auto other = make_session(loaded, pool, options);
    EXPECT_EQ(answered.tokens, answer_in(*other, loaded, prompt(question), 0, nullptr).tokens);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, PromptCacheOf,
                         testing::Values("arch/gemma3.gguf", "arch/gemma4.gguf", "hybrid/lfm2.gguf",
                                         "hybrid/qwen35.gguf", "hybrid/falcon-h1.gguf",
                                         "hybrid/nemotron_h-Q4_0.gguf"),
                         [](const auto& test) { return test_name(test.param); });

// A state that was computed by other kernels, as on another machine, differs by their rounding
// only.
TEST(PromptCache, StartsFromStatesOfOtherKernels) {
  const std::string story = "Once upon a time there was a little girl who had a big red ball. She ";
  const LanguageModel first = load_stories("scalar");
  ThreadPool pool;
  const auto prompt = first.tokenizer->encode(story + story + story + story);
  const std::span<const TokenId> opening = std::span(prompt).first(prompt.size() - 9);
  const std::span<const TokenId> question = std::span(prompt).last(9);
  for (const KvKind kind : {KvKind::f16, KvKind::q8, KvKind::q4}) {
    const SequenceOptions options{.n_ctx = 128, .k_kind = kind, .v_kind = kind};
    for (const KernelSet* kernels : available_kernels()) {
      if (kernels->name == "scalar") continue;
      const LanguageModel second = load_stories(kernels->name);
      for (const bool is_swapped : {false, true}) {
        const LanguageModel& maker = is_swapped ? second : first;
        const LanguageModel& user = is_swapped ? first : second;
        const auto stored = make_session(maker, pool, options);
        ASSERT_TRUE(stored->append(opening).ok());
        const auto restored = make_session(user, pool, options);
        ASSERT_TRUE(restore_state(*restored, save_state(*stored).value().bytes()).ok());
        const auto computed = make_session(user, pool, options);
        ASSERT_TRUE(computed->append(opening).ok());
        const auto found = log_softmax(logits_after(*restored, question));
        const auto expected = log_softmax(logits_after(*computed, question));
        EXPECT_LT(compare(found, expected).kl_divergence, kind == KvKind::q4 ? 0.02 : 0.003)
            << kv_kind_info(kind).name << " " << kernels->name << " " << is_swapped;
      }
    }
  }
}

// Keys of a long context can be rotated by other factors: such states are not those of a short one.
TEST(PromptCache, KeepsContextsOfOtherRotationsApart) {
  TinyModel tiny;
  tiny.context_length = 256;
  tiny.edit = [](GgufBuilder& file) {
    file.set_uint32("llama.rope.scaling.original_context_length", 64);
    file.add_f32("rope_factors_short.weight", {2}, {1.0f, 2.0f});
    file.add_f32("rope_factors_long.weight", {2}, {4.0f, 8.0f});
  };
  const LanguageModel loaded = load_tiny(tiny);
  ThreadPool pool;
  const auto in_context = [&](uint32_t n_ctx) {
    return make_session(loaded, pool, {.n_ctx = n_ctx});
  };
  const auto stored = in_context(64);
  const Tokens prompt(48, 5);
  ASSERT_TRUE(stored->append(prompt).ok());
  const AlignedBuffer state = std::move(save_state(*stored).value());
  Storage storage;
  PromptCache cache(loaded.model, storage);
  ASSERT_TRUE(cache.add("short", state.bytes()).ok());
  const Tokens longer(50, 5);
  EXPECT_NE(cache.find(longer, *in_context(60)), nullptr);
  EXPECT_EQ(cache.find(longer, *in_context(65)), nullptr);
  EXPECT_TRUE(restore_state(*in_context(60), state.bytes()).ok());
  const auto longer_context = in_context(65);
  const Status refused = restore_state(*longer_context, state.bytes());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::wrong_shape);
  EXPECT_NE(refused.error().message.find("of 65 positions"), std::string::npos);
}

// A state is of one file, down to a single weight. Where tables are and how weights are packed does
// not matter.
TEST(ModelIdentity, IsThatOfAllWeights) {
  const Bytes file = TinyModel().build();
  const uint64_t identity = load_tiny().model.identity(0);
  for (const KernelSet* kernels : available_kernels()) {
    auto loaded = load_language_model(std::move(load_gguf(file).value()), kernels->name);
    ASSERT_TRUE(loaded.ok());
    EXPECT_EQ(loaded.value().model.identity(0), identity) << kernels->name;
  }
  const GgufFile parsed = std::move(load_gguf(file).value());
  for (const TensorInfo& tensor : parsed.header().tensors) {
    Bytes changed = file;
    changed[static_cast<size_t>(parsed.header().data_offset + tensor.offset)] ^= std::byte{1};
    auto loaded = load_language_model(std::move(load_gguf(changed).value()));
    ASSERT_TRUE(loaded.ok()) << tensor.name;
    EXPECT_NE(loaded.value().model.identity(0), identity) << tensor.name;
  }
}

}  // namespace
}  // namespace kinglet
