// What is planned from a header is what the loaded model takes, byte for byte.
#include "session/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "model/encode.h"
#include "session/sessions.h"

namespace kinglet {
namespace {

// Each kind of block, of state, of rows and of weights.
constexpr const char* kModels[] = {
    "arch/cohere2.gguf",
    "arch/exaone4.gguf",
    "arch/gemma2.gguf",
    "arch/gemma3.gguf",
    "arch/gemma4.gguf",
    "arch/gemma4-kv.gguf",
    "arch/glm4.gguf",
    "arch/gpt2.gguf",
    "arch/granitemoe.gguf",
    "arch/k2-horizon.gguf",
    "arch/llama.gguf",
    "arch/minicpm-long.gguf",
    "arch/mixtral.gguf",
    "arch/nemotron.gguf",
    "arch/olmo2-window.gguf",
    "encoder/bert.gguf",
    "encoder/bert-rerank.gguf",
    "encoder/gemma-embedding-dense.gguf",
    "encoder/gemma-embedding2.gguf",
    "encoder/gemma-embedding2-list.gguf",
    "encoder/jina-bert-v2.gguf",
    "encoder/modern-bert.gguf",
    "encoder/neo-bert-rerank.gguf",
    "encoder/nomic-bert.gguf",
    "encoder/nomic-bert-moe.gguf",
    "encoder/qwen3-rerank.gguf",
    "hybrid/falcon-h1.gguf",
    "hybrid/granitehybrid-moe.gguf",
    "hybrid/lfm2-heads.gguf",
    "hybrid/lfm2-window.gguf",
    "hybrid/lfm2moe-Q4_0.gguf",
    "hybrid/lfm3.gguf",
    "hybrid/lfm3-Q4_0.gguf",
    "hybrid/mamba2.gguf",
    "hybrid/nemotron_h-Q4_0.gguf",
    "hybrid/qwen35.gguf",
    "hybrid/qwen35-mtp.gguf",
    "hybrid/qwen35moe.gguf",
    "quant/llama-Q4_K_M.gguf",
    "quant/llama-Q8_0.gguf",
    "quant/qwen3-NVFP4.gguf",
    "quant/qwen3-Q1_0.gguf",
    "quant/qwen3-TQ2_0.gguf",
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The outline of a file from its first n bytes.
Result<GgufFile> outline_of(std::string_view bytes, size_t n, StoredChoice choice = {},
                            uint64_t* needed = nullptr) {
  KINGLET_ASSIGN(AlignedBuffer beginning, AlignedBuffer::allocate(n, "a test"));
  const auto first = std::as_bytes(std::span(bytes.substr(0, n)));
  std::copy(first.begin(), first.end(), beginning.data());
  return GgufFile::outline(std::move(beginning), bytes.size(), choice, needed);
}

// The plan of a file, from no more than its header.
Result<MemoryPlan> plan_of(const std::string& path, size_t n_threads,
                           const SequenceOptions& options, StoredChoice choice = {}) {
  KINGLET_ASSIGN(const GgufFile whole, read_gguf_file(path));
  const auto n = static_cast<size_t>(whole.header().data_offset);
  KINGLET_ASSIGN(GgufFile outline, outline_of(bytes_of(path), n, choice));
  return plan_memory(std::move(outline), *available_kernels().front(), n_threads, options);
}

TEST(MemoryPlan, IsWhatModelsTake) {
  ThreadPool pool(2);  // one thread where a build has no others
  for (const std::string name : kModels) {
    for (const KvKind kind : {KvKind::f32, KvKind::q4}) {
      const SequenceOptions options{.k_kind = kind, .v_kind = kind};
      const auto plan = plan_of(fixture_path(name), pool.n_threads(), options);
      auto file = read_gguf_file(fixture_path(name));
      ASSERT_TRUE(file.ok());
      const auto model = Model::load(std::move(file.value()), *available_kernels().front());
      ASSERT_EQ(plan.ok(), model.ok()) << name;
      if (!plan.ok()) continue;
      const MemoryPlan& planned = plan.value();
      EXPECT_EQ(planned.weights, model.value().weight_bytes()) << name;
      EXPECT_EQ(planned.stored, 0u) << name;
      if (model.value().config().makes_text()) {
        const auto session = Session::create(model.value(), pool, options);
        ASSERT_TRUE(session.ok()) << name;
        EXPECT_EQ(planned.session.kv, session.value()->bytes().kv) << name;
        EXPECT_EQ(planned.session.recurrent, session.value()->bytes().recurrent) << name;
        EXPECT_EQ(planned.session.scratch, session.value()->bytes().scratch) << name;
      } else {
        const uint32_t n_tokens = std::min(model.value().config().context_length, kMostEncoded);
        const auto encoder = Encoder::create(model.value(), pool, n_tokens);
        ASSERT_TRUE(encoder.ok()) << name;
        EXPECT_EQ(planned.encoder, encoder.value().bytes()) << name;
      }
    }
  }
}

TEST(MemoryPlan, CountsPagesAndWindows) {
  ThreadPool pool(2);  // one thread where a build has no others
  const LanguageModel loaded = load_stories();
  for (const SequenceOptions& options :
       {SequenceOptions{.n_ctx = 100}, SequenceOptions{.n_ctx = 100, .page_positions = 32},
        SequenceOptions{.n_ctx = 64, .page_positions = 32, .pool_positions = 256},
        SequenceOptions{.n_ctx = 300, .n_batch = 7, .k_kind = KvKind::int8}}) {
    const auto plan = plan_of(story_model_path(), pool.n_threads(), options);
    ASSERT_TRUE(plan.ok());
    const auto session = make_session(loaded, pool, options);
    EXPECT_EQ(plan.value().session.kv, session->bytes().kv);
    EXPECT_EQ(plan.value().session.scratch, session->bytes().scratch);
  }
}

TEST(MemoryPlan, KnowsTablesThatStayInTheFile) {
  const std::string path = fixture_path("arch/gemma4.gguf");
  const StoredChoice choice{tables_read_by_rows, 0};
  const auto plan = plan_of(path, 1, {}, choice);
  ASSERT_TRUE(plan.ok());
  auto file = read_gguf_file(path, choice);
  ASSERT_TRUE(file.ok());
  const auto model = Model::load(std::move(file.value()), *available_kernels().front());
  ASSERT_TRUE(model.ok());
  EXPECT_GT(plan.value().stored, 0u);
  EXPECT_EQ(plan.value().stored, model.value().stored_bytes());
  EXPECT_EQ(plan.value().weights, model.value().weight_bytes());
}

TEST(MemoryPlan, RefusesWhatLoadingRefuses) {
  TinyModel tiny;
  tiny.without_tensor = "blk.1.ffn_up.weight";
  const Bytes bytes = tiny.build();
  auto outline =
      outline_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, bytes.size());
  ASSERT_TRUE(outline.ok());
  const auto plan = plan_memory(std::move(outline.value()), *available_kernels().front(), 1, {});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::missing_tensor);

  uint64_t needed = 0;
  const auto part = outline_of(bytes_of(story_model_path()), 1000, {}, &needed);
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().code, ErrorCode::truncated);
  EXPECT_GT(needed, 1000u);
}

}  // namespace
}  // namespace kinglet
