// A whole small file with one wrong byte, or cut short: it is refused with a message, or loaded and
// run.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/tiny_model.h"
#include "session/generation.h"
#include "session/language_model.h"

namespace kinglet {
namespace {

Bytes one_layer() {
  TinyModel tiny;
  tiny.n_layers = 1;
  return tiny.build();
}

Status generate(const LanguageModel& loaded) {
  ThreadPool pool(1);
  KINGLET_ASSIGN(auto session, Session::create(loaded.model, pool, {.n_ctx = 8, .n_batch = 4}));
  GenerationOptions options;
  options.max_tokens = 2;
  KINGLET_ASSIGN(
      Generation generation,
      Generation::start(*session, *loaded.tokenizer, loaded.tokenizer->encode("abc"), options));
  while (true) {
    KINGLET_ASSIGN(const GenerationStep step, generation.step());
    if (step.finish != FinishReason::none) return {};
  }
}

Status load_and_generate(const Bytes& bytes) {
  KINGLET_ASSIGN(GgufFile file, load_gguf(bytes));
  KINGLET_ASSIGN(const LanguageModel loaded, load_language_model(std::move(file)));
  return generate(loaded);
}

TEST(HostileModel, SurvivesEachFlippedByte) {
  Bytes bytes = one_layer();
  ASSERT_TRUE(load_and_generate(bytes).ok());
  size_t n_run = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const std::byte flips : {std::byte{0xff}, std::byte{0x01}, std::byte{0x80}}) {
      bytes[i] ^= flips;
      const Status status = load_and_generate(bytes);
      n_run += status.ok() ? 1 : 0;
      EXPECT_TRUE(status.ok() || !status.error().message.empty()) << i;
      bytes[i] ^= flips;
    }
  }
  EXPECT_GT(n_run, bytes.size()) << "most bytes are weights";
  EXPECT_LT(n_run, 3 * bytes.size());
}

TEST(HostileModel, KnowsEveryPrefixForOne) {
  const Bytes bytes = one_layer();
  const auto header = parse_gguf_header(bytes);
  ASSERT_TRUE(header.ok());
  const size_t n_whole =
      static_cast<size_t>(header.value().data_offset + header.value().data_bytes);
  for (size_t n = 0; n < n_whole; ++n) {
    const Bytes prefix(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n));
    const Status status = load_and_generate(prefix);
    ASSERT_FALSE(status.ok()) << n;
    EXPECT_EQ(status.error().code, n == 0 ? ErrorCode::not_gguf : ErrorCode::truncated) << n;
  }
}

}  // namespace
}  // namespace kinglet
