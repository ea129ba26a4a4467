// Models and sessions for the session tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf/file.h"
#include "model/cpu_sequence.h"
#include "model/tiny_model.h"
#include "session/language_model.h"
#include "session/session.h"
#include "support.h"

namespace kinglet {

using Tokens = std::vector<TokenId>;

inline Tokens joined(std::initializer_list<Tokens> parts) {
  Tokens all;
  for (const Tokens& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline std::string story_model_path() {
  return KINGLET_SOURCE_DIR "/demo/models/kinglet-stories-5m-Q4_0.gguf";
}

inline LanguageModel load_stories(std::string_view kernels = "") {
  auto file = read_gguf_file(story_model_path());
  EXPECT_TRUE(file.ok());
  auto loaded = load_language_model(std::move(file.value()), kernels);
  EXPECT_TRUE(loaded.ok());
  return std::move(loaded.value());
}

inline LanguageModel load_tiny(const TinyModel& tiny = {}) {
  auto file = load_gguf(tiny.build());
  EXPECT_TRUE(file.ok());
  auto loaded = load_language_model(std::move(file.value()));
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  return std::move(loaded.value());
}

inline std::unique_ptr<Session> make_session(const LanguageModel& loaded, ThreadPool& pool,
                                             const SequenceOptions& options = {}) {
  auto session = Session::create(loaded.model, pool, options);
  EXPECT_TRUE(session.ok());
  return std::move(session.value());
}

// Changes the number after the first key that ends with `key`; the file then contradicts its real
// sizes.
inline Bytes with_number(Bytes file, std::string_view key, uint32_t n) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const size_t at = text.find(key);
  EXPECT_NE(at, text.npos);
  std::memcpy(&file[at + key.size() + sizeof n], &n, sizeof n);  // after its type
  return file;
}

// A file that declares a long training context. The models run in it without errors.
constexpr uint32_t kLong = 4096;
inline Bytes with_long_context(Bytes file) {
  return with_number(std::move(file), ".context_length", kLong);
}

// Appends these tokens, and returns the logits after them.
inline std::vector<float> logits_after(Session& session, std::span<const TokenId> tokens) {
  const Status status = session.append(tokens);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return {session.logits().begin(), session.logits().end()};
}

// The largest difference, relative to the largest logit.
inline float difference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  float most = 1e-6f;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::fabs(a[i] - b[i]));
    most = std::max(most, std::fabs(b[i]));
  }
  return largest / most;
}

// If rows are computed again in other batches, sums are rounded in another order.
constexpr float kClose = 2e-4f;

}  // namespace kinglet
