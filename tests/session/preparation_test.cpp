// A model that is prepared while its file arrives is the same as one loaded from the whole file.
#include "model/preparation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "model/arriving_file.h"
#include "session/language_model.h"
#include "session/sessions.h"

namespace kinglet {
namespace {

const KernelSet& fastest() { return *available_kernels().front(); }

// Loads a file as a page does: pieces are committed while the pool works.
Result<LanguageModel> load_in_pieces(std::span<const std::byte> bytes, size_t piece,
                                     ThreadPool& pool, bool tells_size = true) {
  GgufLoader loader(tells_size ? std::optional<uint64_t>(bytes.size()) : std::nullopt);
  PreparedModel prepared(fastest());
  KINGLET_ASSIGN(GgufFile file, receive(loader, bytes, piece, prepared, pool));
  return load_language_model(std::move(file), std::move(prepared));
}

std::vector<float> first_logits(const LanguageModel& loaded) {
  ThreadPool pool(1);
  const auto session = make_session(loaded, pool);
  const std::vector<TokenId> tokens = {1, 2, 3};
  EXPECT_TRUE(session->append(tokens, Output::logits).ok());
  return {session->logits().begin(), session->logits().end()};
}

std::vector<std::byte> story_bytes() {
  std::ifstream file(story_model_path(), std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(Preparation, GivesTheSameModel) {
  const auto bytes = story_bytes();
  const auto expected = first_logits(load_stories());
  for (const size_t n_threads : {1u, 3u}) {
    for (const size_t piece : {size_t{999}, size_t{1} << 16, bytes.size()}) {
      for (const bool tells_size : {true, false}) {
        ThreadPool pool(n_threads);
        const auto loaded = load_in_pieces(bytes, piece, pool, tells_size);
        ASSERT_TRUE(loaded.ok()) << loaded.error().message;
        EXPECT_EQ(first_logits(loaded.value()), expected) << n_threads << " threads, " << piece;
      }
    }
  }
}

TEST(Preparation, PacksEveryMatrix) {
  const auto bytes = story_bytes();
  ThreadPool pool(1);
  GgufLoader loader(bytes.size());
  PreparedModel prepared(fastest());
  ASSERT_TRUE(receive(loader, bytes, bytes.size(), prepared, pool).ok());
  ASSERT_TRUE(prepared.tokenizer && prepared.tokenizer->ok());
  ASSERT_TRUE(prepared.weights && prepared.weights->ok());
  EXPECT_TRUE(prepared.weights->value().fill.is_done());
}

TEST(Preparation, TellsOfDamageAsLoadingDoes) {
  for (const auto& damage : std::vector<std::function<void(TinyModel&)>>{
           [](TinyModel& tiny) { tiny.without_tensor = "blk.1.ffn_up.weight"; },
           [](TinyModel& tiny) { tiny.misshapen_tensor = "blk.0.attn_q.weight"; },
           [](TinyModel& tiny) { tiny.without_key = "llama.block_count"; },
           [](TinyModel& tiny) {
             tiny.change = [](const std::string& name, std::vector<float>& values) {
               if (name != "blk.1.ffn_down.weight") return;
               values[7] = values[50] = std::numeric_limits<float>::quiet_NaN();
             };
           }}) {
    TinyModel tiny;
    damage(tiny);
    const Bytes bytes = tiny.build();
    auto file = load_gguf(bytes);
    ASSERT_TRUE(file.ok());
    const auto expected = load_language_model(std::move(file.value()));
    ASSERT_FALSE(expected.ok());
    ThreadPool pool(2);
    const auto loaded = load_in_pieces(bytes, 100, pool);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code, expected.error().code);
    EXPECT_EQ(loaded.error().message, expected.error().message);
  }
}

TEST(Preparation, AFileThatEndsEarlyIsTruncated) {
  const auto bytes = story_bytes();
  ThreadPool pool(2);
  for (const size_t size : {bytes.size() / 10, bytes.size() / 2, bytes.size() - 1000}) {
    const auto loaded =
        load_in_pieces(std::span(bytes).first(size), 1 << 16, pool, /*tells_size=*/false);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code, ErrorCode::truncated);
  }
}

TEST(Preparation, CanBeGivenUpAtAnyTime) {
  const auto bytes = story_bytes();
  ThreadPool pool(3);
  for (const size_t size : {bytes.size() / 5, bytes.size() / 2}) {
    GgufLoader loader(bytes.size());
    PreparedModel prepared(fastest());
    Preparation preparation(prepared, pool);
    for (size_t done = 0; done < size;) {
      const auto room = loader.reserve(size - done);
      ASSERT_TRUE(room.ok());
      std::memcpy(room.value().data(), bytes.data() + done, room.value().size());
      ASSERT_TRUE(loader.commit(room.value().size()).ok());
      preparation.advance(loader);
      done += room.value().size();
    }
  }
}

}  // namespace
}  // namespace kinglet
