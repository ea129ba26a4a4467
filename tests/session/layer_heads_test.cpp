// Models whose layers have different numbers of heads, compared with models that compute the same
// with equal numbers in every layer. Two changes have no effect: storing a head of keys and values
// once for each of the query heads that share it, and adding a query head whose output is
// multiplied by zeros.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "session/sessions.h"
#include "session/state.h"

namespace kinglet {
namespace {

constexpr uint32_t kHiddenDim = 16;
constexpr uint32_t kHeadDim = 4;
constexpr uint32_t kMostHeads = 6;
const std::vector<uint32_t> kHeads = {4, 2, 6, 1};
const std::vector<uint32_t> kKvHeads = {2, 1, 6, 1};

TinyModel mixed_model() {
  return {.n_layers = 4,
          .hidden_dim = kHiddenDim,
          .head_dim = kHeadDim,
          .n_heads_by_layer = kHeads,
          .n_kv_heads_by_layer = kKvHeads,
          .ffn_dim = 20,
          .edit = [](GgufBuilder& file) { file.set("llama.attention.key_length", kHeadDim); }};
}

// The values of each tensor.
using Tensors = std::map<std::string, std::vector<float>>;

// Copies the rows or columns of one head.
struct HeadCopy {
  const std::vector<float>& from;
  std::vector<float>& to;

  void rows(uint32_t source, uint32_t target) const {
    constexpr size_t kSize = size_t{kHeadDim} * kHiddenDim;
    std::copy_n(from.data() + source * kSize, kSize, to.data() + target * kSize);
  }
  void columns(uint32_t head, uint32_t n_heads) const {
    for (size_t row = 0; row < kHiddenDim; ++row) {
      for (size_t i = 0; i < kHeadDim; ++i) {
        to[(row * kMostHeads + head) * kHeadDim + i] = from[(row * n_heads + head) * kHeadDim + i];
      }
    }
  }
};

// Fills the tensor of a uniform model so that the model computes the same as the mixed one.
void widen(const Tensors& mixed, const std::string& name, std::vector<float>& values) {
  const std::vector<float>& from = mixed.at(name);
  const bool is_norm = from.size() == kHiddenDim;
  if (is_norm || name.find("attn_") == std::string::npos) {
    values = from;
    return;
  }
  const auto layer = static_cast<size_t>(name[4] - '0');  // blk.N.
  const uint32_t n_heads = kHeads[layer];
  const uint32_t n_shared = n_heads / kKvHeads[layer];
  const HeadCopy copy{from, values};
  const bool is_output = name.find("attn_output") != std::string::npos;
  const bool is_query = name.find("attn_q") != std::string::npos;
  if (is_output) std::fill(values.begin(), values.end(), 0.0f);
  for (uint32_t head = 0; head < n_heads; ++head) {
    if (is_output) {
      copy.columns(head, n_heads);
    } else {
      copy.rows(is_query ? head : head / n_shared, head);
    }
  }
}

LanguageModel load_mixed() { return load_tiny(mixed_model()); }

LanguageModel load_uniform() {
  Tensors tensors;
  TinyModel mixed = mixed_model();
  mixed.change = [&](const std::string& name, std::vector<float>& values) {
    tensors[name] = values;
  };
  (void)mixed.build();
  TinyModel uniform = mixed_model();
  uniform.n_heads = uniform.n_kv_heads = kMostHeads;
  uniform.n_heads_by_layer = uniform.n_kv_heads_by_layer = {};
  uniform.change = [&](const std::string& name, std::vector<float>& values) {
    widen(tensors, name, values);
  };
  return load_tiny(uniform);
}

struct Way {
  uint32_t n_batch;
  uint32_t page_positions;
};

// Collects the logits after each of the things that a session can do.
class Teller {
 public:
  Teller(const LanguageModel& loaded, KvKind k_kind, KvKind v_kind, Way way) : loaded_(loaded) {
    options_ = {.n_ctx = 32, .n_batch = way.n_batch, .k_kind = k_kind, .v_kind = v_kind};
    options_.page_positions = way.page_positions;
    options_.pool_positions = 96;
  }

  std::vector<std::vector<float>> tell() {
    const auto session = make_session(loaded_, pool_, options_);
    append(*session, {1, 3, 4, 5, 6, 7, 3, 5, 4, 6, 3});
    auto fork = session->fork();
    EXPECT_TRUE(fork.ok());
    append(*fork.value(), {7, 7, 5});
    append(*session, {6, 3});
    EXPECT_TRUE(session->truncate(6).ok());
    append(*session, {3, 4, 4, 7});
    EXPECT_TRUE(session->shift(2, 3).ok());
    append(*session, {5, 6});
    restore(save_state(*session), 5);
    restore(save_state(*fork.value()), 0);
    append(*fork.value(), {4});
    return std::move(told_);
  }

 private:
  void append(Session& session, const std::vector<TokenId>& tokens) {
    const Status status = session.append(tokens);
    EXPECT_TRUE(status.ok()) << status.error().message;
    told_.emplace_back(session.logits().begin(), session.logits().end());
  }

  // Restores the state into a session with other pages and another context.
  void restore(const Result<AlignedBuffer>& state, uint32_t page_positions) {
    ASSERT_TRUE(state.ok());
    SequenceOptions options = options_;
    options.page_positions = page_positions;
    const auto session = make_session(loaded_, pool_, options);
    append(*session, {1, 1, 1});
    const Status status = restore_state(*session, state.value().bytes());
    ASSERT_TRUE(status.ok()) << status.error().message;
    append(*session, {3, 5, 7});
  }

  const LanguageModel& loaded_;
  ThreadPool pool_;
  SequenceOptions options_;
  std::vector<std::vector<float>> told_;
};

void expect_near(const std::vector<std::vector<float>>& found,
                 const std::vector<std::vector<float>>& expected, float tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].size(), expected[i].size());
    for (size_t token = 0; token < found[i].size(); ++token) {
      EXPECT_NEAR(found[i][token], expected[i][token], tolerance) << "answer " << i;
    }
  }
}

// Sums of different lengths are rounded in another order.
constexpr float kRounding = 1e-4f;

TEST(LayerHeads, EveryAnswerIsThatOfAModelOfEqualLayers) {
  const LanguageModel mixed = load_mixed();
  const LanguageModel uniform = load_uniform();
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    const auto k_kind = static_cast<KvKind>(kind);
    const auto v_kind = static_cast<KvKind>((kind + 1) % kNKvKinds);
    const auto expected = Teller(uniform, k_kind, v_kind, {4, 0}).tell();
    for (const Way way : {Way{4, 0}, Way{1, 0}, Way{32, 0}, Way{4, 3}, Way{7, 16}}) {
      SCOPED_TRACE(cat(kv_kind_info(k_kind).name, ", batches of ", way.n_batch, ", pages of ",
                       way.page_positions));
      expect_near(Teller(mixed, k_kind, v_kind, way).tell(), expected, kRounding);
    }
  }
}

// The logits above depend on what the layers keep: with other tokens they are different.
TEST(LayerHeads, TheModelTellsTokensApart) {
  const LanguageModel mixed = load_mixed();
  ThreadPool pool;
  const auto logits_behind = [&](const std::vector<TokenId>& tokens) {
    const auto session = make_session(mixed, pool);
    EXPECT_TRUE(session->append(tokens).ok());
    return std::vector<float>(session->logits().begin(), session->logits().end());
  };
  const auto a = logits_behind({1, 3, 4, 5});
  const auto b = logits_behind({1, 6, 4, 5});
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
  EXPECT_GT(largest, 100 * kRounding);
}

TEST(LayerHeads, APositionCostsWhatItsLayersKeep) {
  const LanguageModel mixed = load_mixed();
  ThreadPool pool;
  const auto session = make_session(mixed, pool, {.n_ctx = 16});
  const auto bytes = session->sequence().state_here()->rows().store().config().bytes_per_position();
  EXPECT_EQ(bytes, (2u + 1 + 6 + 1) * 2 * kHeadDim * sizeof(float));
  EXPECT_EQ(session->bytes().kv, 16 * bytes);
}

TEST(LayerHeads, AreAsManyOfKeysAsOfQueriesWhereNothingElseIsSaid) {
  TinyModel tiny = mixed_model();
  tiny.n_kv_heads_by_layer = kHeads;
  tiny.without_key = "llama.attention.head_count_kv";
  const LanguageModel loaded = load_tiny(tiny);
  for (size_t i = 0; i < kHeads.size(); ++i) {
    EXPECT_EQ(loaded.model.config().layers[i].n_kv_heads, kHeads[i]);
  }
}

TEST(LayerHeads, ThatContradictEachOtherAreRefusedByLayer) {
  const auto error_of = [](std::vector<uint32_t> n_heads, std::vector<uint32_t> n_kv_heads) {
    TinyModel tiny = {.n_layers = 3, .without_key = "llama.attention.head_count_kv"};
    tiny.edit = [&](GgufBuilder& file) {
      file.set_array("llama.attention.head_count_kv", n_kv_heads);
    };
    tiny.n_heads_by_layer = n_heads;
    auto file = load_gguf(tiny.build());
    EXPECT_TRUE(file.ok());
    return load_language_model(std::move(file.value())).error().message;
  };
  EXPECT_EQ(error_of({4, 2, 6}, {2, 1, 4}),
            "llama.attention.head_count is 6 in layer 2, expected a multiple of its 4 KV heads");
  EXPECT_EQ(error_of({4, 2, 6}, {2, 0, 6}),
            "llama.attention.head_count_kv is 0 in layer 1, expected 1 or more");
  EXPECT_EQ(error_of({4, 2, 6}, {2, 1}),
            "llama.attention.head_count_kv is not an array of one number up to 1048576 for each of "
            "3 layers, but of 2 values");
}

}  // namespace
}  // namespace kinglet
