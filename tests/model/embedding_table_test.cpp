// Tables that stay in their file: they give the same numbers as in memory, with few reads; and
// files that fail.
#include "model/embedding_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocations.h"
#include "gguf/file.h"
#include "gguf/gguf_builder.h"
#include "model/arriving_file.h"
#include "model/codebook_model.h"
#include "model/encode.h"
#include "model/runner.h"
#include "model/tiny_model.h"
#include "model/weight_fill.h"
#include "session/language_model.h"

namespace kinglet {
namespace {

constexpr StoredChoice kAll{tables_read_by_rows, 0};

// A file that records which parts are read, and may fail.
class MemoryFile final : public RandomAccessFile {
 public:
  struct Range {
    uint64_t offset;
    size_t bytes;
    bool operator==(const Range&) const = default;
  };

  explicit MemoryFile(Bytes bytes) : bytes_(std::move(bytes)) { reads_.reserve(1000); }

  Status read(uint64_t offset, std::span<std::byte> bytes) const override {
    if (is_broken) return Error{ErrorCode::io, "the disk is gone"};
    reads_.push_back({offset, bytes.size()});
    std::memcpy(bytes.data(), &bytes_[static_cast<size_t>(offset)], bytes.size());
    return {};
  }

  const Bytes& bytes() const { return bytes_; }
  const std::vector<Range>& reads() const { return reads_; }

  bool is_broken = false;

 private:
  Bytes bytes_;
  mutable std::vector<Range> reads_;
};

// The handle of a MemoryFile that a loader owns.
class Shared final : public RandomAccessFile {
 public:
  explicit Shared(std::shared_ptr<MemoryFile> file) : file_(std::move(file)) {}
  Status read(uint64_t offset, std::span<std::byte> bytes) const override {
    return file_->read(offset, bytes);
  }

 private:
  std::shared_ptr<MemoryFile> file_;
};

// Loads a file from a stream of all its bytes, in pieces of `piece` bytes.
Result<GgufFile> load(const std::shared_ptr<MemoryFile>& file, StoredChoice choice = kAll,
                      size_t piece = 1 << 16) {
  const Bytes& bytes = file->bytes();
  GgufLoader loader(bytes.size(), std::make_unique<Shared>(file), choice);
  for (size_t at = 0; at < bytes.size();) {
    const size_t n_left = std::min(piece, bytes.size() - at);
    at += static_cast<size_t>(loader.skip(n_left));
    KINGLET_ASSIGN(const auto room, loader.reserve(n_left));
    if (room.empty() && at == loader.file_bytes()) break;  // only padding follows
    const size_t n = std::min(room.size(), bytes.size() - at);
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), n, room.begin());
    KINGLET_TRY(loader.commit(n));
    at += n;
  }
  return loader.finish();
}

std::unique_ptr<ModelRunner> runner_of(Result<GgufFile> file,
                                       const KernelSet& kernels = scalar_kernels(),
                                       size_t n_threads = 1) {
  EXPECT_TRUE(file.ok()) << file.error().message;
  auto runner = ModelRunner::create(std::move(file.value()), kernels, 4, n_threads);
  EXPECT_TRUE(runner.ok()) << runner.error().message;
  return std::move(runner.value());
}

std::shared_ptr<MemoryFile> fixture(const std::string& name) {
  return std::make_shared<MemoryFile>(read_fixture(name));
}

const TensorInfo& embedding_of(const GgufHeader& header) {
  return *header.find_tensor("token_embd.weight");
}

class Stored : public testing::TestWithParam<const char*> {};

TEST_P(Stored, GivesTheSameLogitsBitByBit) {
  const std::vector<int32_t> prompt = {5, 2, 3, 2, 5, 60, 61, 62, 9};
  for (const KernelSet* kernels : available_kernels()) {
    auto expected = runner_of(read_gguf_file(fixture_path(GetParam())), *kernels, 2);
    auto file = load(fixture(GetParam()));
    ASSERT_TRUE(file.ok()) << file.error().message;
    uint64_t bytes = 0;
    for (const TensorInfo* table : tables_read_by_rows(file.value().header())) {
      bytes += table->bytes / kAlignment * kAlignment;
    }
    ASSERT_GT(bytes, 0u);
    auto runner = runner_of(std::move(file), *kernels, 2);
    EXPECT_EQ(runner->model.stored_bytes(), bytes);
    EXPECT_EQ(runner->model.weight_bytes() + runner->model.stored_bytes(),
              expected->model.weight_bytes());
    EXPECT_EQ(runner->append(prompt), expected->append(prompt)) << kernels->name;
  }
}

INSTANTIATE_TEST_SUITE_P(Untied, Stored,
                         testing::Values("arch/gemma4.gguf", "arch/gemma4-Q4_0.gguf",
                                         "quant/llama-Q4_K_M.gguf", "quant/llama-Q8_0.gguf",
                                         "quant/llama-IQ4_XS.gguf", "quant/llama-TQ2_0.gguf",
                                         "arch/granite.gguf", "arch/phi2.gguf",
                                         "arch/stablelm.gguf", "arch/olmoe.gguf"),
                         [](const auto& test) { return test_name(test.param); });

// In memory these rows are codes, and in the file they are blocks.
TEST(EmbeddingTable, OfACodebookTypeGivesTheSameLogitsBitByBit) {
  const std::vector<int32_t> prompt = {5, 2, 3, 2, 5, 60, 61, 62, 9};
  for (const DType type : codebook_types()) {
    const auto file = std::make_shared<MemoryFile>(codebook_model(dtype_info(type)));
    for (const KernelSet* kernels : available_kernels()) {
      auto expected = runner_of(load_gguf(file->bytes()), *kernels, 2);
      auto runner = runner_of(load(file), *kernels, 2);
      EXPECT_EQ(expected->model.stored_bytes(), 0u);
      EXPECT_GT(runner->model.stored_bytes(), 0u);
      EXPECT_EQ(runner->append(prompt), expected->append(prompt)) << kernels->name;
      EXPECT_EQ(runner->model.identity(0), expected->model.identity(0)) << kernels->name;
    }
  }
}

TEST(EmbeddingTable, EveryRowIsPartOfTheIdentity) {
  const Bytes original = read_fixture("encoder/bert.gguf");
  const auto identity_of = [](const Bytes& bytes, StoredChoice choice) {
    auto file = load(std::make_shared<MemoryFile>(bytes), choice);
    EXPECT_TRUE(file.ok());
    return Model::load(std::move(file.value()), scalar_kernels()).value().identity(0);
  };
  const GgufFile file = std::move(load_gguf(original).value());
  const TensorInfo& table = embedding_of(file.header());
  const size_t row_bytes = dtype_info(table.type).row_bytes(static_cast<size_t>(table.shape[0]));
  const uint64_t expected = identity_of(original, kAll);
  for (const size_t row : {size_t{1}, size_t{77}, static_cast<size_t>(table.shape[1]) - 1}) {
    Bytes changed = original;
    const uint64_t begin = file.header().data_offset + table.offset;
    changed[static_cast<size_t>(begin) + row * row_bytes] ^= std::byte{1};
    const uint64_t identity = identity_of(changed, kAll);
    EXPECT_NE(identity, expected) << row;
    EXPECT_EQ(identity_of(changed, {}), identity) << row;
  }
}

// Of a large table in its file, a sample of rows is read; of a smaller one all, in large pieces.
TEST(EmbeddingTable, IsReadWholeForTheIdentityUnlessItIsLarge) {
  class Zeros final : public RandomAccessFile {
   public:
    Status read(uint64_t, std::span<std::byte> bytes) const override {
      ++n_reads;
      n_bytes += bytes.size();
      std::fill(bytes.begin(), bytes.end(), std::byte{});
      return {};
    }
    mutable size_t n_reads = 0;
    mutable uint64_t n_bytes = 0;
  };
  constexpr size_t kRowBytes = 1024;
  const auto reading_of = [](size_t n_rows) {
    const Zeros file;
    WeightFill fill;
    fill.add_table({"table", {&file, 0}, n_rows, kRowBytes});
    EXPECT_TRUE(fill.finish().ok());
    return std::pair(file.n_reads, file.n_bytes);
  };
  constexpr size_t kLargeRows = kLargeTableBytes / kRowBytes;
  EXPECT_EQ(reading_of(kLargeRows), std::pair(size_t{64}, uint64_t{64} * kRowBytes));
  EXPECT_EQ(reading_of(kLargeRows - 1),
            std::pair(size_t{512}, uint64_t{kLargeRows - 1} * kRowBytes));
}

TEST(EmbeddingTable, EncodersReadTheirsFromTheFileToo) {
  const std::vector<std::vector<int32_t>> texts = {{5, 9, 5, 60}, {7}, {2, 3, 4, 5, 6, 7, 8}};
  const std::vector<std::span<const int32_t>> spans(texts.begin(), texts.end());
  for (const std::string name :
       {"encoder/bert.gguf", "encoder/gemma-embedding.gguf", "encoder/gemma-embedding2.gguf",
        "encoder/modern-bert.gguf", "encoder/qwen3-rerank.gguf"}) {
    std::vector<float> states[2];
    uint64_t identities[2];
    for (const bool is_stored : {false, true}) {
      auto file = load(fixture(name), is_stored ? kAll : StoredChoice());
      ASSERT_TRUE(file.ok()) << file.error().message;
      const Model model = std::move(Model::load(std::move(file.value()), scalar_kernels()).value());
      EXPECT_EQ(model.stored_bytes() > 0, is_stored);
      identities[is_stored ? 1 : 0] = model.identity(0);
      ThreadPool pool;
      auto encoder = Encoder::create(model, pool, 16, 3);
      ASSERT_TRUE(encoder.value().run(spans).ok());
      const auto last = encoder.value().states(2);
      states[is_stored ? 1 : 0].assign(last.begin(), last.end());
    }
    EXPECT_EQ(states[1], states[0]) << name;
    EXPECT_EQ(identities[1], identities[0]) << name;
  }
}

TEST(EmbeddingTable, ReadsEachRowOnceAndNeighboursTogether) {
  const auto file = fixture("arch/granite.gguf");
  auto loaded = load(file);
  ASSERT_TRUE(loaded.ok());
  const GgufHeader& header = loaded.value().header();
  const TensorInfo info = embedding_of(header);
  const uint64_t start = header.data_offset + info.offset;
  const EmbeddingTable table(info, loaded.value().stored(info));
  const size_t row = table.row_bytes();
  const std::vector<int32_t> ids = {5, 2, 3, 9, 2, 5, 4};
  std::vector<std::byte> room(ids.size() * row);
  std::vector<float> rows(ids.size() * static_cast<size_t>(info.shape[0]));
  ASSERT_TRUE(table.read(ids, room.data(), rows.data()).ok());
  EXPECT_EQ(file->reads(),
            (std::vector<MemoryFile::Range>{{start + 2 * row, 4 * row}, {start + 9 * row, row}}));
}

TEST(EmbeddingTable, ReadsAnotherRowForNegativeIds) {
  const std::vector<int32_t> ids = {-7, 3, -2};
  const std::vector<int32_t> same = {4, 3, 4};
  for (const StoredChoice& choice : {StoredChoice(), StoredChoice(kAll)}) {
    auto loaded = load(fixture("arch/granite.gguf"), choice);
    ASSERT_TRUE(loaded.ok());
    auto model = Model::load(std::move(loaded.value()), scalar_kernels());
    ASSERT_TRUE(model.ok());
    const EmbeddingTable& table = model.value().weights().token_embedding;
    const size_t width = model.value().config().hidden_dim;
    std::vector<std::byte> room(ids.size() * table.row_bytes());
    std::vector<float> expected(ids.size() * width);
    ASSERT_TRUE(table.read(same, room.data(), expected.data()).ok());
    std::vector<float> found(ids.size() * width);
    ASSERT_TRUE(table.read(ids, room.data(), found.data(), 4).ok());
    EXPECT_EQ(found, expected);
    std::fill(found.begin(), found.end(), 0.5f);
    ASSERT_TRUE(table.read(ids, room.data(), found.data()).ok());
    EXPECT_EQ(found[0], 0.5f);
    EXPECT_EQ(found[width], expected[width]);
  }
}

TEST(EmbeddingTable, IsLoadedInPiecesOfAnySize) {
  const auto file = fixture("arch/granite.gguf");
  const std::vector<int32_t> prompt = {5, 2, 60};
  auto expected = runner_of(read_gguf_file(fixture_path("arch/granite.gguf")));
  const std::vector<float> logits = expected->append(prompt);
  for (const size_t piece : {size_t{7}, size_t{64}, size_t{1000}, file->bytes().size()}) {
    auto loaded = load(file, kAll, piece);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    auto runner = runner_of(std::move(loaded));
    EXPECT_EQ(runner->append(prompt), logits) << piece;
  }
}

TEST(EmbeddingTable, StaysWhereLogitsAreMadeOfItOrItIsSmall) {
  const auto stored_bytes = [](const char* name, StoredChoice choice) {
    auto file = load(fixture(name), choice);
    EXPECT_TRUE(file.ok()) << file.error().message;
    return file.value().header().data_bytes - file.value().bytes_in_memory();
  };
  EXPECT_EQ(stored_bytes("arch/llama.gguf", kAll), 0u);  // tied
  EXPECT_GT(stored_bytes("arch/granite.gguf", kAll), 0u);
  EXPECT_EQ(stored_bytes("arch/granite.gguf", {tables_read_by_rows, kLargeTableBytes}), 0u);
  EXPECT_EQ(stored_bytes("arch/granite.gguf", {}), 0u);
}

TEST(EmbeddingTable, IsInMemoryWhereTheSizeIsNotKnown) {
  const auto file = fixture("arch/granite.gguf");
  GgufLoader loader(std::nullopt, std::make_unique<Shared>(file), kAll);
  const Bytes& bytes = file->bytes();
  for (size_t at = 0; at < bytes.size();) {
    ASSERT_EQ(loader.skip(bytes.size()), 0u);
    const auto room = loader.reserve(bytes.size() - at).value();
    if (room.empty()) break;
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), room.size(), room.begin());
    ASSERT_TRUE(loader.commit(room.size()).ok());
    at += room.size();
  }
  EXPECT_TRUE(loader.finish().ok());
}

TEST(EmbeddingTable, AFileThatFailsLeavesTheSequenceAsItWas) {
  const std::vector<int32_t> begin = {5, 2, 60};
  const std::vector<int32_t> end = {9, 8};
  auto expected = runner_of(read_gguf_file(fixture_path("arch/granite.gguf")));
  expected->append(begin);
  const std::vector<float> logits = expected->append(end);

  const auto file = fixture("arch/granite.gguf");
  auto runner = runner_of(load(file));
  runner->append(begin);
  file->is_broken = true;
  const Status status =
      forward(runner->model, runner->pool, runner->scratch, runner->state, end, Output::logits);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::io);
  EXPECT_EQ(status.error().message, "the disk is gone");
  EXPECT_EQ(runner->state.size(), begin.size());
  file->is_broken = false;
  EXPECT_EQ(runner->append(end), logits);
}

TEST(EmbeddingTable, AnEncoderWhoseFileFailsHasNoTexts) {
  const auto file = fixture("encoder/bert.gguf");
  const Model model =
      std::move(Model::load(std::move(load(file).value()), scalar_kernels()).value());
  ThreadPool pool;
  auto encoder = Encoder::create(model, pool, 8, 2);
  const std::vector<int32_t> text = {5, 6, 7};
  const std::vector<std::span<const int32_t>> texts = {text};
  file->is_broken = true;
  const Status status = encoder.value().run(texts);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::io);
  EXPECT_EQ(encoder.value().n_texts(), 0u);
  file->is_broken = false;
  EXPECT_TRUE(encoder.value().run(texts).ok());
  EXPECT_EQ(encoder.value().n_texts(), 1u);
}

// A llama whose embeddings contain infinity in row 3; its output is a separate matrix.
Bytes damaged_model() {
  TinyModel model;
  model.edit = [](GgufBuilder& file) {
    file.add_f32("output.weight", {8, 8}, std::vector<float>(64, 0.5f));
  };
  model.change = [](const std::string& name, std::vector<float>& values) {
    if (name == "token_embd.weight") values[3 * 8 + 2] = std::numeric_limits<float>::infinity();
  };
  return model.build();
}

TEST(EmbeddingTable, ADamagedRowIsFoundWhenItIsRead) {
  const auto file = std::make_shared<MemoryFile>(damaged_model());
  auto runner = runner_of(load(file));
  runner->append(std::vector<int32_t>{4, 5});
  const Status status = forward(runner->model, runner->pool, runner->scratch, runner->state,
                                std::vector<int32_t>{2, 3}, Output::logits);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::not_finite);
  EXPECT_EQ(status.error().message,
            "row 3 of tensor token_embd.weight contains NaN or infinity: the file is damaged");
  EXPECT_EQ(runner->state.size(), 2u);
}

TEST(EmbeddingTable, IsLeftOutOfWhatIsPreparedWhileTheFileArrives) {
  const auto file = fixture("arch/granite.gguf");
  const Bytes& bytes = file->bytes();
  for (const size_t n_threads : {size_t{1}, size_t{2}}) {
    ThreadPool pool(n_threads);
    const KernelSet& kernels = *available_kernels().front();
    PreparedModel prepared(kernels);
    GgufLoader loader(bytes.size(), std::make_unique<Shared>(file), kAll);
    auto received = receive(loader, std::as_bytes(std::span(bytes)), 5000, prepared, pool);
    ASSERT_TRUE(received.ok() && prepared.weights);
    auto model = Model::load(std::move(received.value()), kernels, std::move(*prepared.weights));
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_GT(model.value().stored_bytes(), 0u);
  }
}

TEST(EmbeddingTable, AStepAllocatesNothing) {
  auto runner = runner_of(load(fixture("arch/granite.gguf")));
  const std::vector<int32_t> tokens = {5, 2, 60};
  runner->append(tokens);
  const size_t before = n_allocations();
  ASSERT_TRUE(
      forward(runner->model, runner->pool, runner->scratch, runner->state, tokens, Output::logits)
          .ok());
  EXPECT_EQ(n_allocations(), before);
}

// A copy of a fixture on the disk that the destructor removes.
class Copy {
 public:
  explicit Copy(const Bytes& bytes) : path_(testing::TempDir() + "kinglet-stored.gguf") {
    write(bytes);
  }
  ~Copy() { std::remove(path_.c_str()); }

  void write(const Bytes& bytes) const {
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    std::fclose(file);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(EmbeddingTable, IsReadFromTheDiskUntilTheFileIsCut) {
  const std::vector<int32_t> prompt = {5, 2, 60};
  const Bytes bytes = read_fixture("arch/granite.gguf");
  const Copy copy(bytes);
  auto file = read_gguf_file(copy.path(), kAll);
  ASSERT_TRUE(file.ok()) << file.error().message;
  auto runner = runner_of(std::move(file));
  EXPECT_GT(runner->model.stored_bytes(), 0u);
  auto expected = runner_of(read_gguf_file(fixture_path("arch/granite.gguf")));
  EXPECT_EQ(runner->append(prompt), expected->append(prompt));

  copy.write({bytes.begin(), bytes.begin() + 1000});
  const Status status =
      forward(runner->model, runner->pool, runner->scratch, runner->state, prompt, Output::logits);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::io);
  EXPECT_NE(status.error().message.find("became shorter"), std::string::npos)
      << status.error().message;
  EXPECT_EQ(runner->state.size(), prompt.size());
  copy.write(bytes);
  EXPECT_EQ(runner->append(prompt), expected->append(prompt));
}

TEST(EmbeddingTable, StaysInOneOfSeveralFiles) {
  TinyModel tiny;
  tiny.edit = [](GgufBuilder& file) {
    file.add_f32("output.weight", {8, 8}, std::vector<float>(64, 0.25f));
    file.set("split.no", uint16_t{0}).set("split.count", uint16_t{2});
  };
  tiny.without_tensor = "output_norm.weight";
  const auto storage = std::make_shared<MemoryFile>(tiny.build());
  GgufBuilder second;
  second.set("split.no", uint16_t{1}).set("split.count", uint16_t{2});
  second.add_f32("output_norm.weight", {8}, std::vector<float>(8, 1.0f));
  std::vector<GgufFile> parts;
  parts.push_back(std::move(load(storage).value()));
  parts.push_back(std::move(load_gguf(second.build()).value()));
  auto joined = GgufFile::join(std::move(parts));
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  auto runner = runner_of(std::move(joined));
  EXPECT_EQ(runner->model.stored_bytes(), 256u);
  EXPECT_TRUE(std::isfinite(runner->append(std::vector<int32_t>{1, 4, 5}).front()));
}

}  // namespace
}  // namespace kinglet
