// Memory after loading a model many times, and the behaviour when no memory is left.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#if defined(__linux__) && !defined(__EMSCRIPTEN__)
#include <unistd.h>
#endif

#include "allocations.h"
#include "model/tiny_model.h"
#include "session/generation.h"
#include "session/language_model.h"
#include "support.h"

namespace kinglet {
namespace {

Result<std::vector<TokenId>> load_and_tell(Result<GgufFile> file) {
  if (!file.ok()) return file.error();
  KINGLET_ASSIGN(const LanguageModel loaded, load_language_model(std::move(file.value())));
  ThreadPool pool(2);
  KINGLET_ASSIGN(auto session, Session::create(loaded.model, pool, {.n_ctx = 32}));
  GenerationOptions options;
  options.max_tokens = 4;
  KINGLET_ASSIGN(
      Generation generation,
      Generation::start(*session, *loaded.tokenizer, loaded.tokenizer->encode("abc"), options));
  std::vector<TokenId> tokens;
  while (true) {
    KINGLET_ASSIGN(const GenerationStep step, generation.step());
    if (step.finish != FinishReason::none) return tokens;
    if (step.token != kNoToken) tokens.push_back(step.token);
  }
}

// The memory that a sanitizer itself uses grows.
#if !defined(KINGLET_SANITIZED) && (defined(__wasm__) || defined(__linux__))

#if defined(__wasm__)
size_t memory_in_use() { return __builtin_wasm_memory_size(0) << 16; }
#else
size_t memory_in_use() {
  size_t size = 0;
  size_t resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%zu %zu", &size, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}
#endif

TEST(Memory, IsTheSameAfter500LivesOfAModel) {
  const std::string stories = KINGLET_SOURCE_DIR "/demo/models/kinglet-stories-5m-Q4_0.gguf";
  // The most of the first lives and the least of the last: memory is returned to the system now and
  // then, and the system may merge pages into a large one, which takes more.
  size_t early = 0;
  size_t late = SIZE_MAX;
  for (int life = 1; life <= 500; ++life) {
    ASSERT_TRUE(load_and_tell(read_gguf_file(stories)).ok());
    if (life <= 50) early = std::max(early, memory_in_use());
    if (life > 450) late = std::min(late, memory_in_use());
  }
  ASSERT_GT(early, 0u);
  EXPECT_LE(static_cast<double>(late), 1.02 * static_cast<double>(early));
}

#endif

TEST(Memory, RefusedAtAnyPlaceIsAnErrorAndNoHarm) {
  const Bytes bytes = TinyModel().build();
  const auto told = load_and_tell(load_gguf(bytes));
  ASSERT_TRUE(told.ok());
  int n_refused = 0;
  for (int n = 0;; ++n) {
    grant_aligned_allocations(n);
    const auto found = load_and_tell(load_gguf(bytes));
    grant_aligned_allocations(-1);
    if (found.ok()) {
      EXPECT_EQ(found.value(), told.value());
      break;
    }
    ++n_refused;
    EXPECT_EQ(found.error().code, ErrorCode::out_of_memory) << found.error().message;
    const auto again = load_and_tell(load_gguf(bytes));
    ASSERT_TRUE(again.ok()) << "after a refusal at allocation " << n;
    EXPECT_EQ(again.value(), told.value());
  }
  EXPECT_GE(n_refused, 4) << "header, weights, cache and scratch memory at least";
}

// A session stays as it is while memory for others is refused: forks, larger contexts.
TEST(Memory, RefusedToOneSessionLeavesTheOthersAsTheyAre) {
  auto file = load_gguf(TinyModel().build());
  ASSERT_TRUE(file.ok());
  const auto loaded = load_language_model(std::move(file.value()));
  ASSERT_TRUE(loaded.ok());
  ThreadPool pool;
  auto session = Session::create(loaded.value().model, pool, {.n_ctx = 16});
  ASSERT_TRUE(session.ok());
  const std::vector<TokenId> tokens = {1, 3, 4, 5};
  ASSERT_TRUE(session.value()->append(tokens).ok());
  const auto logits = session.value()->logits();
  const std::vector<float> before(logits.begin(), logits.end());
  for (int n = 0; n < 2; ++n) {
    grant_aligned_allocations(n);
    const auto forked = session.value()->fork();
    grant_aligned_allocations(-1);
    ASSERT_FALSE(forked.ok());
    EXPECT_EQ(forked.error().code, ErrorCode::out_of_memory);
  }
  ASSERT_TRUE(session.value()->truncate(3).ok());
  ASSERT_TRUE(session.value()->append({&tokens.back(), 1}).ok());
  EXPECT_TRUE(std::equal(before.begin(), before.end(), session.value()->logits().begin()));
}

}  // namespace
}  // namespace kinglet
