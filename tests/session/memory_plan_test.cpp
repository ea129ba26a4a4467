// What is planned from a header is what the loaded model takes, byte for byte.
#include "session/memory_plan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "model/encode.h"
#include "session/sessions.h"

namespace kinglet {
namespace {

constexpr size_t kThreads = 2;

std::vector<std::string> all_fixtures() {
  std::vector<std::string> names;
  for (const char* folder : {"arch", "encoder", "hybrid", "quant"}) {
    for (const auto& entry : std::filesystem::directory_iterator(fixture_path(folder))) {
      if (entry.path().extension() == ".gguf") {
        names.push_back(std::string(folder) + "/" + entry.path().filename().string());
      }
    }
  }
  return names;
}

std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// The plan of a file, from no more than its header.
Result<MemoryPlan> plan_of(const std::string& path, const SessionOptions& options,
                           StoredChoice choice = {}) {
  KINGLET_ASSIGN(const GgufFile whole, read_gguf_file(path));
  const auto bytes = bytes_of(path);
  const auto header = std::span(bytes).first(static_cast<size_t>(whole.header().data_offset));
  KINGLET_ASSIGN(GgufFile outline, GgufFile::outline(header, bytes.size(), choice));
  return plan_memory(std::move(outline), *available_kernels().front(), kThreads, options);
}

TEST(MemoryPlan, IsWhatEveryModelTakes) {
  ThreadPool pool(kThreads);
  const auto names = all_fixtures();
  ASSERT_GT(names.size(), 60u);
  for (const std::string& name : names) {
    for (const KvKind kind : {KvKind::f32, KvKind::q4}) {
      const SessionOptions options{.k_kind = kind, .v_kind = kind};
      const auto plan = plan_of(fixture_path(name), options);
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
        EXPECT_EQ(planned.session.kv, session.value()->kv_bytes()) << name;
        EXPECT_EQ(planned.session.recurrent, session.value()->recurrent_bytes()) << name;
        EXPECT_EQ(planned.session.scratch, session.value()->scratch_bytes()) << name;
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
  ThreadPool pool(kThreads);
  const LanguageModel loaded = load_stories();
  for (const SessionOptions& options :
       {SessionOptions{.n_ctx = 100}, SessionOptions{.n_ctx = 100, .page_positions = 32},
        SessionOptions{.n_ctx = 64, .page_positions = 32, .pool_positions = 256},
        SessionOptions{.n_ctx = 300, .n_batch = 7, .k_kind = KvKind::int8}}) {
    const auto plan = plan_of(story_model_path(), options);
    ASSERT_TRUE(plan.ok());
    const auto session = make_session(loaded, pool, options);
    EXPECT_EQ(plan.value().session.kv, session->kv_bytes());
    EXPECT_EQ(plan.value().session.scratch, session->scratch_bytes());
  }
}

TEST(MemoryPlan, KnowsTablesThatStayInTheFile) {
  const std::string path = fixture_path("arch/gemma4.gguf");
  const StoredChoice choice{tables_read_by_rows, 0};
  const auto plan = plan_of(path, {}, choice);
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
  auto outline = GgufFile::outline(std::as_bytes(std::span(bytes)), bytes.size());
  ASSERT_TRUE(outline.ok());
  const auto plan =
      plan_memory(std::move(outline.value()), *available_kernels().front(), kThreads, {});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::missing_tensor);

  const auto tiny_bytes = bytes_of(story_model_path());
  uint64_t needed = 0;
  const auto part =
      GgufFile::outline(std::span(tiny_bytes).first(1000), tiny_bytes.size(), {}, &needed);
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().code, ErrorCode::truncated);
  EXPECT_GT(needed, 1000u);
}

}  // namespace
}  // namespace kinglet
