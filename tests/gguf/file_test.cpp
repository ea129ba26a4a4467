#include "gguf/file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>

#include "errors.h"
#include "gguf/gguf_builder.h"
#include "gguf/unusable.h"
#include "support.h"

// In builds with AddressSanitizer, lets an allocation that fails return null instead of stopping
// the program: the failure is what is tested here.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace kinglet {
namespace {

constexpr size_t kWhole = 1 << 30;

// A small file, with padding after the header and between the tensors.
Bytes small_file() {
  GgufBuilder builder;
  builder.set("general.architecture", "llama")
      .set_array<std::string>("words", {"once", "upon", "a", "time"})
      .add_f32("a", {2, 3}, {1, 2, 3, 4, 5, 6})
      .add_f32("b", {1}, {7})
      .add_tensor("c", DType::q8_0, {32}, Bytes(sizeof(BlockQ8_0), std::byte{9}));
  return builder.build();
}

// The offset of the end of small_file()'s last tensor.
size_t small_file_end() {
  const auto file = small_file();
  const auto header = parse_gguf_header(file).value();
  return static_cast<size_t>(header.data_offset + header.data_bytes);
}

// Gives the loader all the bytes that it takes, at most `next_piece()` of them at a time.
template <class NextPiece>
Status stream(GgufLoader& loader, std::span<const std::byte> bytes, NextPiece next_piece) {
  while (!bytes.empty()) {
    KINGLET_ASSIGN(const auto room, loader.reserve(next_piece()));
    if (room.empty()) return {};
    const size_t n = std::min(room.size(), bytes.size());
    std::copy_n(bytes.begin(), n, room.begin());
    KINGLET_TRY(loader.commit(n));
    bytes = bytes.subspan(n);
  }
  return {};
}

Result<GgufFile> load(std::span<const std::byte> bytes, std::optional<uint64_t> file_bytes,
                      size_t piece = kWhole) {
  GgufLoader loader(file_bytes);
  KINGLET_TRY(stream(loader, bytes, [piece] { return piece; }));
  return loader.finish();
}

// Expects the file to hold in its own memory what a parser finds in `bytes`.
void expect_same(GgufFile& file, std::span<const std::byte> bytes) {
  const auto expected = parse_gguf_header(bytes, bytes.size()).value();
  const GgufHeader& header = file.header();
  EXPECT_EQ(header.version, expected.version);
  EXPECT_EQ(header.data_offset, expected.data_offset);
  EXPECT_EQ(header.data_bytes, expected.data_bytes);
  EXPECT_EQ(file.file_bytes(), expected.data_offset + expected.data_bytes);
  ASSERT_EQ(header.metadata.size(), expected.metadata.size());
  for (size_t i = 0; i < header.metadata.size(); ++i) {
    EXPECT_EQ(header.metadata[i].key, expected.metadata[i].key);
    EXPECT_NE(header.metadata[i].key.data(), expected.metadata[i].key.data());
    EXPECT_EQ(header.metadata[i].value.as_string(), expected.metadata[i].value.as_string());
    EXPECT_EQ(header.metadata[i].value.as_int(), expected.metadata[i].value.as_int());
  }
  ASSERT_EQ(header.tensors.size(), expected.tensors.size());
  for (size_t i = 0; i < header.tensors.size(); ++i) {
    const TensorInfo& info = header.tensors[i];
    const TensorView view = file.tensor(info);
    EXPECT_EQ(view.name, expected.tensors[i].name);
    EXPECT_EQ(view.type, expected.tensors[i].type);
    EXPECT_EQ(view.shape, expected.tensors[i].shape);
    const auto stored =
        bytes.subspan(static_cast<size_t>(expected.data_offset + expected.tensors[i].offset),
                      static_cast<size_t>(expected.tensors[i].bytes));
    EXPECT_TRUE(std::equal(view.bytes.begin(), view.bytes.end(), stored.begin(), stored.end()));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(view.bytes.data()) % 32, 0u);
  }
}

TEST(GgufLoader, LoadsTheSameFileInPiecesOfEverySize) {
  const Bytes bytes = small_file();
  for (const auto& file_bytes :
       {std::optional<uint64_t>(), std::optional<uint64_t>(bytes.size())}) {
    for (size_t piece = 1; piece <= bytes.size(); ++piece) {
      auto file = load(bytes, file_bytes, piece);
      ASSERT_TRUE(file.ok()) << piece << ": " << file.error().message;
      expect_same(file.value(), bytes);
    }
  }
}

TEST(GgufLoader, LoadsTheSameFileInRandomPieces) {
  const Bytes bytes = read_fixture("quant/llama-Q4_0.gguf");
  ASSERT_FALSE(bytes.empty());
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    const uint32_t largest = 1u << (round + 1);
    GgufLoader loader;
    const auto status = stream(loader, bytes, [&] { return size_t{1} + random() % largest; });
    ASSERT_TRUE(status.ok()) << status.error().message;
    auto file = loader.finish();
    ASSERT_TRUE(file.ok()) << file.error().message;
    expect_same(file.value(), bytes);
  }
}

TEST(GgufLoader, RefusesAStreamThatIsCutAtAnyByte) {
  const Bytes bytes = small_file();
  for (size_t n = 1; n < small_file_end(); ++n) {
    const auto front = std::span(bytes).first(n);
    for (const size_t piece : {size_t{1}, kWhole}) {
      const auto unannounced = load(front, std::nullopt, piece);
      ASSERT_FALSE(unannounced.ok()) << n;
      EXPECT_EQ(unannounced.error().code, ErrorCode::truncated) << unannounced.error().message;

      const auto announced_in_full = load(front, bytes.size(), piece);
      ASSERT_FALSE(announced_in_full.ok()) << n;
      EXPECT_EQ(announced_in_full.error().code, ErrorCode::truncated);

      const auto announced_too_short = load(bytes, n, piece);
      ASSERT_FALSE(announced_too_short.ok()) << n;
      EXPECT_EQ(announced_too_short.error().code, ErrorCode::truncated);
    }
  }
}

TEST(GgufLoader, SaysHowFarATruncatedFileGot) {
  const Bytes bytes = small_file();
  expect_error(load(std::span(bytes).first(small_file_end() - 1), std::nullopt),
               ErrorCode::truncated, explain_incomplete(small_file_end() - 1, small_file_end()));
  expect_error(load(std::span(bytes).first(30), std::nullopt), ErrorCode::truncated,
               "GGUF header: a table of 2 metadata entries and 3 tensors needs 122 bytes, but only "
               "6 are left of the file's 30: download it again (byte 24)");
}

TEST(GgufLoader, WantsNothingBehindTheLastTensor) {
  Bytes bytes = small_file();
  bytes.resize(bytes.size() + 1000);
  for (const size_t piece : {size_t{1}, size_t{100}, kWhole}) {
    GgufLoader loader(bytes.size());
    ASSERT_TRUE(stream(loader, bytes, [piece] { return piece; }).ok());
    EXPECT_TRUE(loader.reserve(1).value().empty());
    EXPECT_EQ(loader.file_bytes(), small_file_end());
    EXPECT_GE(loader.received(), small_file_end());
    auto file = loader.finish();
    ASSERT_TRUE(file.ok());
    expect_same(file.value(), bytes);
  }
}

TEST(GgufLoader, ReservesNoMoreThanAskedForOrAnnounced) {
  GgufLoader loader(100);
  EXPECT_EQ(loader.reserve(7).value().size(), 7u);
  EXPECT_EQ(loader.reserve(kWhole).value().size(), 100u);
}

TEST(GgufLoader, ShowsTheHeaderBeforeTheWeightsArrive) {
  const Bytes bytes = small_file();
  GgufLoader loader(bytes.size());
  const auto one = [] { return size_t{1}; };
  ASSERT_TRUE(stream(loader, std::span(bytes).first(30), one).ok());
  EXPECT_EQ(loader.header(), nullptr);
  EXPECT_FALSE(loader.file_bytes());
  EXPECT_EQ(loader.received(), 30u);
  ASSERT_TRUE(stream(loader, std::span(bytes).subspan(30, small_file_end() - 31), one).ok());
  ASSERT_NE(loader.header(), nullptr);
  EXPECT_EQ(loader.header()->require_string("general.architecture").value(), "llama");
  EXPECT_EQ(loader.file_bytes(), small_file_end());
  EXPECT_EQ(loader.received(), small_file_end() - 1);
}

TEST(GgufLoader, WritesTheWeightsWhereTheyStay) {
  const Bytes bytes = small_file();
  GgufLoader loader;
  const auto one = [] { return size_t{1}; };
  ASSERT_TRUE(stream(loader, std::span(bytes).first(small_file_end() - 1), one).ok());
  const auto last = loader.reserve(1).value();
  last[0] = bytes[small_file_end() - 1];
  ASSERT_TRUE(loader.commit(1).ok());
  auto result = loader.finish();
  GgufFile& file = result.value();
  EXPECT_EQ(&file.tensor(*file.header().find_tensor("c")).bytes.back(), last.data());
}

TEST(GgufLoader, KeepsTheFileValidWhenItMoves) {
  const Bytes bytes = small_file();
  auto first = load(bytes, std::nullopt);
  GgufFile second = std::move(first.value());
  GgufFile third;
  third = std::move(second);
  expect_same(third, bytes);
}

TEST(GgufLoader, LoadsAVocabularyWithoutTensors) {
  const Bytes bytes = GgufBuilder().set("tokenizer.ggml.model", "llama").build();
  for (const size_t piece : {size_t{1}, kWhole}) {
    auto file = load(bytes, std::nullopt, piece);
    ASSERT_TRUE(file.ok()) << file.error().message;
    expect_same(file.value(), bytes);
    EXPECT_EQ(file.value().file_bytes(), bytes.size());
  }
}

// When enough of it has arrived to tell what it is; in pieces of any size, in the same words.
TEST(GgufLoader, RefusesAFileOfAnotherFormatAtItsBeginning) {
  std::string page = "<!DOCTYPE html><html><title>Not found</title>";
  page.resize(kRecognizableBytes, ' ');
  for (const size_t piece : {size_t{1}, size_t{1000}, kWhole}) {
    GgufLoader loader(1 << 20);
    const auto status = stream(loader, std::as_bytes(std::span(page)), [piece] { return piece; });
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::not_gguf);
    EXPECT_EQ(status.error().message, explain_other_format(page));
  }
  const std::string text = "{\"error\": \"no such file is here\"}";
  const auto of_text = std::as_bytes(std::span(text));
  const Bytes bytes(of_text.begin(), of_text.end());
  for (const size_t piece : {size_t{1}, size_t{24}, kWhole}) {
    expect_error(load(bytes, std::nullopt, piece), ErrorCode::not_gguf, explain_other_format(text));
    expect_error(load(bytes, text.size(), piece), ErrorCode::not_gguf, explain_other_format(text));
  }
}

TEST(GgufLoader, RefusesAnEmptyFile) {
  const std::string message = explain_other_format("");
  expect_error(load({}, std::nullopt), ErrorCode::not_gguf, message);
  expect_error(load({}, 0), ErrorCode::not_gguf, message);
  GgufLoader loader(0);
  EXPECT_EQ(loader.reserve(1).error().message, message);
}

TEST(GgufLoader, AllocatesNothingForTensorsThatTheFileCannotHold) {
  const Bytes bytes = GgufBuilder().add_tensor_raw("t", 0, {uint64_t{1} << 50}, 0).build();
  const auto announced = load(bytes, bytes.size());
  ASSERT_FALSE(announced.ok());
  EXPECT_EQ(announced.error().code, ErrorCode::truncated);

  expect_error(load(bytes, std::nullopt), ErrorCode::out_of_memory,
               "out of memory: the tensor data needs 4503599627370496 bytes");
}

TEST(GgufLoader, RepeatsItsFirstError) {
  GgufLoader loader;
  const auto first =
      stream(loader, Bytes(kRecognizableBytes, std::byte{'x'}), [] { return kWhole; });
  ASSERT_FALSE(first.ok());
  EXPECT_EQ(loader.reserve(1).error().message, first.error().message);
  EXPECT_EQ(loader.commit(0).error().message, first.error().message);
  EXPECT_EQ(loader.finish().error().message, first.error().message);
  EXPECT_EQ(loader.header(), nullptr);
}

TEST(GgufLoader, RefusesMisuse) {
  GgufLoader empty_reserve;
  EXPECT_EQ(empty_reserve.reserve(0).error().code, ErrorCode::invalid_argument);

  GgufLoader too_much;
  ASSERT_EQ(too_much.reserve(4).value().size(), 4u);
  EXPECT_EQ(too_much.commit(5).error().message, "commit(5): only 4 bytes were reserved");

  GgufLoader twice;
  ASSERT_TRUE(twice.reserve(4).ok());
  ASSERT_TRUE(twice.commit(0).ok());
  EXPECT_EQ(twice.commit(1).error().code, ErrorCode::invalid_argument);

  GgufLoader finished;
  ASSERT_TRUE(stream(finished, small_file(), [] { return kWhole; }).ok());
  ASSERT_TRUE(finished.finish().ok());
  EXPECT_EQ(finished.header(), nullptr);
  EXPECT_EQ(finished.finish().error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(finished.reserve(1).error().code, ErrorCode::invalid_argument);
}

// A header of more than 1 MiB, in many small parts.
Bytes large_header() {
  GgufBuilder builder;
  builder.set_array("tokenizer.ggml.tokens", std::vector<std::string>(100'000, "word"))
      .add_f32("t", {1}, {1});
  return builder.build();
}

// The loader's room always ends where the header is parsed again, so the number of pieces is the
// number of parses.
TEST(GgufLoader, ParsesALargeHeaderOnlyWhenMuchOfItIsNew) {
  int n_pieces = 0;
  GgufLoader loader;
  const auto count = [&] { return ++n_pieces, kWhole; };
  ASSERT_TRUE(stream(loader, large_header(), count).ok());
  ASSERT_TRUE(loader.finish().ok());
  EXPECT_LT(n_pieces, 20);
}

// If every byte parsed the header from the start, this would take many minutes.
TEST(GgufLoader, StreamsALargeHeaderByteByByte) {
  const Bytes bytes = large_header();
  ASSERT_GT(bytes.size(), size_t{1} << 20);
  auto file = load(bytes, std::nullopt, 1);
  ASSERT_TRUE(file.ok()) << file.error().message;
  expect_same(file.value(), bytes);
}

TEST(GgufLoader, SurvivesEveryChangedBitOfAStream) {
  const Bytes bytes = small_file();
  size_t n_loaded = 0;
  size_t n_refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (uint32_t bit = 0; bit < 8; ++bit) {
      Bytes changed = bytes;
      changed[at] ^= std::byte{1} << bit;
      auto file = load(changed, changed.size(), 7);
      file.ok() ? ++n_loaded : ++n_refused;
      if (file.ok()) expect_same(file.value(), changed);
    }
  }
  EXPECT_GT(n_loaded, 8 * 64u);  // at least the changes of weights and names
  EXPECT_GT(n_refused, 8 * 24u);
}

TEST(GgufLoader, GivesHostileLengthsNoMemoryAheadOfTheirBytes) {
  Bytes array;
  append_number<uint32_t>(array, 10);
  append_number(array, kMaxArraySize);  // 128 MiB
  Bytes bytes = GgufBuilder().set_raw("k", 9, array).build();
  GgufLoader loader;
  ASSERT_TRUE(stream(loader, bytes, [] { return kWhole; }).ok());
  EXPECT_LE(loader.reserve(kWhole).value().size(), size_t{1} << 16);
}

TEST(ReadGgufFile, ReadsRealFiles) {
  for (const std::string_view name : {"arch/llama.gguf", "arch/llama3.gguf", "quant/llama-f32.gguf",
                                      "quant/llama-Q8_0.gguf", "quant/llama-Q4_0.gguf"}) {
    auto file = read_gguf_file(fixture_path(name));
    ASSERT_TRUE(file.ok()) << name << ": " << file.error().message;
    expect_same(file.value(), read_fixture(name));
  }
}

TEST(ReadGgufFile, ReadsTheEmbeddedModel) {
  const std::string name = "../../demo/models/kinglet-stories-5m-Q4_0.gguf";
  auto file = read_gguf_file(fixture_path(name));
  ASSERT_TRUE(file.ok()) << file.error().message;
  expect_same(file.value(), read_fixture(name));
}

TEST(ReadGgufFile, NamesThePathThatItCannotRead) {
  const auto missing = read_gguf_file(fixture_path("absent.gguf"));
  expect_error(missing, ErrorCode::io,
               "cannot open " + fixture_path("absent.gguf") + ": No such file or directory");
  const auto folder = read_gguf_file(fixture_path("arch"));
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, ErrorCode::io) << folder.error().message;
}

TEST(ReadGgufFile, RefusesAFileThatIsNoGguf) {
  const auto text = read_gguf_file(fixture_path("README.md"));
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, ErrorCode::not_gguf);
  EXPECT_TRUE(text.error().message.starts_with(fixture_path("README.md") + ": the file begins"))
      << text.error().message;
}

}  // namespace
}  // namespace kinglet
