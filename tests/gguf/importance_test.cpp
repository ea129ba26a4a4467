#include "gguf/importance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "gguf_builder.h"
#include "model/tiny_model.h"

namespace kinglet {
namespace {

// A file as llama.cpp writes it, with the counts of two experts, which tests change.
struct ImportanceFile {
  std::string type = "imatrix";
  std::vector<float> sums = {1, 2, 3, 4, 5, 6};
  std::vector<float> counts = {10, 0};
  std::string counts_name = "blk.0.ffn_up_exps.weight.counts";
  std::vector<uint64_t> counts_shape = {1, 2};

  Result<ImportanceMatrix> read() const {
    GgufBuilder file;
    if (!type.empty()) file.set("general.type", std::string_view(type));
    file.set_array("imatrix.datasets", std::vector<std::string>{"a.txt", "b.txt"});
    file.set("imatrix.chunk_count", uint32_t{7});
    file.set("imatrix.chunk_size", uint32_t{512});
    const auto add = [&](const std::string& name, const std::vector<uint64_t>& shape,
                         const std::vector<float>& numbers) {
      const auto bytes = std::as_bytes(std::span(numbers));
      file.add_tensor(name, DType::f32, shape, Bytes(bytes.begin(), bytes.end()));
    };
    add("blk.0.ffn_up_exps.weight.in_sum2", {3, 2}, sums);
    add(counts_name, counts_shape, counts);
    KINGLET_ASSIGN(GgufFile loaded, load_gguf(file.build()));
    return ImportanceMatrix::read(loaded);
  }
};

void expect_error(const ImportanceFile& file, ErrorCode code, const std::string& message) {
  const auto read = file.read();
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, code);
  EXPECT_NE(read.error().message.find(message), std::string::npos) << read.error().message;
}

TEST(Importance, IsReadFromTheFormatOfLlamaCpp) {
  const auto read = ImportanceFile{}.read();
  ASSERT_TRUE(read.ok()) << read.error().message;
  const ImportanceMatrix& matrix = read.value();
  EXPECT_EQ(matrix.n_chunks, 7u);
  EXPECT_EQ(matrix.chunk_size, 512u);
  EXPECT_EQ(matrix.datasets, (std::vector<std::string>{"a.txt", "b.txt"}));
  ASSERT_EQ(matrix.entries.size(), 1u);
  const auto& [name, entry] = *matrix.entries.begin();
  EXPECT_EQ(name, "blk.0.ffn_up_exps.weight");
  EXPECT_EQ(entry.sums, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(entry.counts, (std::vector<float>{10, 0}));
}

TEST(Importance, IsTheSameAfterItWasWritten) {
  ImportanceMatrix matrix;
  matrix.entries["blk.0.attn_q.weight"] = {{1.5f, 0.0f, 3.0f, 1e-20f}, {4}};
  matrix.entries["blk.0.ffn_down_exps.weight"] = {{1, 2, 3, 4, 5, 6}, {1, 0, 3}};
  matrix.datasets = {"tales.txt"};
  matrix.n_chunks = 3;
  matrix.chunk_size = 128;
  const std::string path = testing::TempDir() + "importance_test.gguf";
  ASSERT_TRUE(matrix.write(path).ok());
  auto file = read_gguf_file(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file.value().header().find("general.type")->as_string(), "imatrix");
  EXPECT_EQ(file.value().header().find_tensor("blk.0.ffn_down_exps.weight.in_sum2")->shape,
            (Shape{2, 3, 1, 1}));
  EXPECT_EQ(file.value().header().find_tensor("blk.0.ffn_down_exps.weight.counts")->shape,
            (Shape{1, 3, 1, 1}));
  const auto read = ImportanceMatrix::read(file.value());
  std::remove(path.c_str());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().datasets, matrix.datasets);
  EXPECT_EQ(read.value().n_chunks, 3u);
  EXPECT_EQ(read.value().chunk_size, 128u);
  ASSERT_EQ(read.value().entries.size(), 2u);
  for (const auto& [name, entry] : matrix.entries) {
    EXPECT_EQ(read.value().entries.at(name).sums, entry.sums) << name;
    EXPECT_EQ(read.value().entries.at(name).counts, entry.counts) << name;
  }
}

TEST(Importance, OfAFileThatIsSomethingElseIsAnError) {
  expect_error({.type = "model"}, ErrorCode::wrong_type, "general.type is \"model\"");
  expect_error({.type = ""}, ErrorCode::wrong_type, "general.type is missing");
  expect_error({.counts_name = "other"}, ErrorCode::missing_tensor, "weight.counts");
  expect_error({.counts = {1}, .counts_shape = {1, 1}}, ErrorCode::wrong_shape, "[1, 2]");
  expect_error({.sums = {1, 2, NAN, 4, 5, 6}}, ErrorCode::not_finite, "number 2");
  expect_error({.counts = {1, -2}}, ErrorCode::not_finite, "number 1 is -2");
}

TEST(Importance, OfColumnsIsPositiveWithAMeanOfOne) {
  const ImportanceMatrix::Entry entry{{4, 0, 8, 0, 0, 0}, {10, 0}};
  const std::vector<float> first = entry.of_matrix(0);
  EXPECT_EQ(entry.n_columns(), 3u);
  EXPECT_FLOAT_EQ(first[0], 1.0f);
  EXPECT_FLOAT_EQ(first[2], 2.0f);
  EXPECT_GT(first[1], 0.0f);
  EXPECT_LT(first[1], 1e-3f);
  EXPECT_EQ(entry.of_matrix(1), std::vector<float>(3, 1.0f));  // no text has reached it
}

TEST(Importance, OfAnotherModelIsAnError) {
  auto model = load_gguf(TinyModel{}.build());
  ASSERT_TRUE(model.ok());
  const GgufHeader& header = model.value().header();
  ImportanceMatrix matrix;
  matrix.entries["blk.1.attn_q.weight"] = {std::vector<float>(8), {1}};
  EXPECT_TRUE(matrix.check_model(header).ok());
  const auto expect_failure = [&](ErrorCode code, const std::string& message) {
    const Status status = matrix.check_model(header);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, code);
    EXPECT_NE(status.error().message.find(message), std::string::npos) << status.error().message;
    EXPECT_NE(status.error().message.find("of another model"), std::string::npos);
  };
  matrix.entries["blk.1.attn_q.weight"] = {std::vector<float>(9), {1}};
  expect_failure(ErrorCode::wrong_shape,
                 "1 x 9 columns for \"blk.1.attn_q.weight\", expected 1 x 8");
  matrix.entries["blk.1.attn_q.weight"] = {std::vector<float>(16), {1, 1}};
  expect_failure(ErrorCode::wrong_shape, "2 x 8 columns");
  matrix.entries = {{"blk.2.attn_q.weight", {std::vector<float>(8), {1}}}};
  expect_failure(ErrorCode::missing_tensor, "\"blk.2.attn_q.weight\", which the model lacks");
}

}  // namespace
}  // namespace kinglet
