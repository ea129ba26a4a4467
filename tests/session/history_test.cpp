// What a session computes depends on its tokens only, bit for bit: not on where its keys and values
// are stored, nor on what it did before.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/format.h"
#include "gguf/file.h"
#include "session/session.h"
#include "session/state.h"
#include "support.h"

namespace kinglet {
namespace {

constexpr uint32_t kTokens = 160;  // two and a half blocks of attention
constexpr uint32_t kCapacity = 192;

// Dense, with experts, with windows, and with recurrent layers.
constexpr const char* kModels[] = {"quant/llama-Q4_K_M", "hybrid/lfm2moe", "hybrid/lfm3",
                                   "arch/gemma4",        "hybrid/qwen35",  "arch/gemma3"};

class History : public testing::TestWithParam<std::tuple<const char*, const KernelSet*>> {
 protected:
  void SetUp() override {
    const auto& [name, kernels] = GetParam();
    auto file = read_gguf_file(fixture_path(cat(name, ".gguf")));
    ASSERT_TRUE(file.ok());
    auto model = Model::load(std::move(file.value()), *kernels);
    ASSERT_TRUE(model.ok());
    model_.emplace(std::move(model.value()));
    for (uint32_t i = 0; i < kTokens; ++i) {
      tokens_.push_back(static_cast<TokenId>((i * i * 37 + 5) % model_->config().vocab_size));
    }
  }

  std::unique_ptr<Session> new_session(KvKind kind, uint32_t page_positions) {
    auto session = Session::create(*model_, pool_,
                                   {.n_ctx = kCapacity,
                                    .n_batch = 32,
                                    .k_kind = kind,
                                    .v_kind = kind,
                                    .page_positions = page_positions,
                                    .pool_positions = page_positions > 0 ? 4 * kCapacity : 0});
    EXPECT_TRUE(session.ok()) << session.error().message;
    return std::move(session.value());
  }

  // The logits after each token, computed one by one by a new session with a cache of its own.
  std::vector<std::vector<float>> logits_of_fresh(KvKind kind) {
    const auto session = new_session(kind, 0);
    std::vector<std::vector<float>> logits;
    for (const TokenId& token : tokens_) {
      EXPECT_TRUE(session->append({&token, 1}).ok());
      logits.emplace_back(session->logits().begin(), session->logits().end());
    }
    return logits;
  }

  std::optional<Model> model_;
  ThreadPool pool_{2};
  std::vector<TokenId> tokens_;
};

TEST_P(History, DoesNotMatter) {
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return static_cast<uint32_t>(random() % n); };
  for (size_t i_kind = 0; i_kind < kNKvKinds; ++i_kind) {
    const KvKindInfo& info = kv_kind_info(static_cast<KvKind>(i_kind));
    const auto expected = logits_of_fresh(info.kind);
    for (const uint32_t page_positions : {0u, 32u, 7u}) {
      auto session = new_session(info.kind, page_positions);
      std::string story;  // for messages of failures
      for (int i = 0; i < 14; ++i) {
        switch (const uint32_t n = session->n_positions(); n == 0 ? 9 : below(4)) {
          case 0: {
            const uint32_t kept = below(n + 1);
            story += cat(" truncate ", kept);
            ASSERT_TRUE(session->truncate(kept).ok());
            break;
          }
          case 1: {
            story += " fork";
            auto fork = session->fork();
            ASSERT_TRUE(fork.ok()) << fork.error().message;
            // What the parent writes afterwards must not reach the fork.
            ASSERT_TRUE(session->append(std::span(tokens_).first(9)).ok());
            session = std::move(fork.value());
            break;
          }
          case 2: {
            story += " restore";
            const auto saved = save_state(*session);
            ASSERT_TRUE(saved.ok());
            auto restored = new_session(info.kind, below(2) == 0 ? 0 : page_positions);
            ASSERT_TRUE(restore_state(*restored, saved.value().bytes()).ok());
            session = std::move(restored);
            break;
          }
          default:
            break;
        }
        uint32_t begin = session->n_positions();
        if (begin == kTokens) {
          ASSERT_TRUE(session->truncate(begin = 1 + below(kTokens - 1)).ok());
        }
        const uint32_t end = begin + 1 + below(std::min(kTokens - begin, 60u));
        story += cat(" append ", begin, "-", end);
        ASSERT_TRUE(session->append(std::span(tokens_).subspan(begin, end - begin)).ok());
        const std::vector<float> found(session->logits().begin(), session->logits().end());
        ASSERT_EQ(found, expected[end - 1])
            << info.name << ", pages of " << page_positions << ":" << story;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, History,
    testing::Combine(testing::ValuesIn(kModels),
                     testing::ValuesIn(available_kernels().begin(), available_kernels().end())),
    [](const auto& test) {
      return test_name(cat(std::get<0>(test.param), "_", std::get<1>(test.param)->name));
    });

}  // namespace
}  // namespace kinglet
