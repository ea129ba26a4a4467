#include "gguf/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "base/format.h"
#include "gguf/file.h"
#include "gguf/gguf_builder.h"

namespace kinglet {
namespace {

struct Part {
  uint16_t index = 0;
  uint16_t n_parts = 3;
  std::vector<std::string> tensors = {};  // of 40 floats, all of them the first letter's code
  int32_t n_tensors = 5;                  // in all parts together
};

const Part kFirst = {0, 3, {"a", "b"}};
const Part kSecond = {1, 3, {"c"}};
const Part kThird = {2, 3, {"d", "e"}};

GgufFile load_part(const Part& part) {
  GgufBuilder builder;
  builder.set("general.name", cat("part ", part.index))
      .set("split.no", part.index)
      .set("split.count", part.n_parts)
      .set("split.tensors.count", part.n_tensors);
  for (const std::string& name : part.tensors) {
    builder.add_f32(name, {40}, std::vector<float>(40, static_cast<float>(name[0])));
  }
  const Bytes bytes = builder.build();
  GgufLoader loader(bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    const auto room = loader.reserve(bytes.size() - at).value();
    if (room.empty()) break;
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), room.size(), room.begin());
    EXPECT_TRUE(loader.commit(room.size()).ok());
    at += room.size();
  }
  return std::move(loader.finish().value());
}

Result<GgufFile> join(const std::vector<Part>& parts) {
  std::vector<GgufFile> files;
  for (const Part& part : parts) files.push_back(load_part(part));
  return GgufFile::join(std::move(files));
}

void expect_refused(const std::vector<Part>& parts, ErrorCode code, std::string_view message) {
  const auto file = join(parts);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, code) << file.error().message;
  EXPECT_NE(file.error().message.find(message), std::string::npos) << file.error().message;
}

TEST(Split, AWholeFileMayHaveTheNameOfAPart) {
  const Bytes bytes =
      GgufBuilder().set("general.name", "x").add_f32("t", {4}, {1, 2, 3, 4}).build();
  for (const char* name : {"whole-00001-of-00002.gguf", "whole-00002-of-00002.gguf"}) {
    const std::string path = testing::TempDir() + name;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    file.close();
    const auto read = read_gguf_file(path);
    EXPECT_TRUE(read.ok()) << read.error().message;
    std::remove(path.c_str());
  }
}

TEST(Split, KnowsTheFirstPart) {
  EXPECT_EQ(first_part("a/x-00002-of-00003.gguf"), "a/x-00001-of-00003.gguf");
  for (const char* path : {"x-00004-of-00003.gguf", "x-00000-of-00003.gguf", "x.gguf", ""}) {
    EXPECT_EQ(first_part(path), path);
  }
}

TEST(Split, JoinsPartsInAnyOrder) {
  std::vector<Part> parts = {kFirst, kSecond, kThird};
  const auto by_index = [](const Part& a, const Part& b) { return a.index < b.index; };
  do {
    auto joined = join(parts);
    ASSERT_TRUE(joined.ok()) << joined.error().message;
    GgufFile& file = joined.value();
    EXPECT_EQ(file.header().get_string("general.name", "").value(), "part 0");
    EXPECT_EQ(file.header().find("split.count"), nullptr);
    ASSERT_EQ(file.header().tensors.size(), 5u);
    for (const TensorInfo& tensor : file.header().tensors) {
      const std::span<const std::byte> bytes = file.tensor(tensor).bytes;
      std::vector<float> floats(40);
      ASSERT_EQ(bytes.size(), 40 * sizeof(float));
      std::memcpy(floats.data(), bytes.data(), bytes.size());
      EXPECT_EQ(floats, std::vector<float>(40, static_cast<float>(tensor.name[0])));
    }
  } while (std::next_permutation(parts.begin(), parts.end(), by_index));
}

TEST(Split, AFirstPartMayHoldNoTensors) {
  auto joined = join({{0, 2, {}, 1}, {1, 2, {"z"}, 1}});
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  const TensorView tensor = joined.value().tensor(joined.value().header().tensors[0]);
  EXPECT_EQ(tensor.name, "z");
  float first = 0;
  std::memcpy(&first, tensor.bytes.data(), sizeof first);
  EXPECT_EQ(first, static_cast<float>('z'));
}

TEST(Split, AFileThatIsWholeStaysAsItIs) {
  const auto file = join({{0, 1, {"a"}, 1}});
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file.value().header().tensors.size(), 1u);
}

TEST(Split, NamesMissingParts) {
  expect_refused({kFirst}, ErrorCode::truncated,
                 "the model is split into 3 files; these are missing: 2 3");
  expect_refused({kThird, kFirst}, ErrorCode::truncated, "these are missing: 2");
  expect_refused({kSecond, kThird}, ErrorCode::truncated, "these are missing: 1");
}

TEST(Split, RefusesPartsThatDoNotBelongTogether) {
  expect_refused({kFirst, kSecond, kThird, kSecond}, ErrorCode::corrupt,
                 "part 2 of 3 was given twice");
  expect_refused({kFirst, {1, 4, {"c"}}}, ErrorCode::corrupt,
                 "the files are not parts of one: one is part 1 of 3, another 2 of 4");
  expect_refused({{0, 1, {"a"}}, {0, 1, {"b"}}}, ErrorCode::corrupt, "are not parts of one");
  expect_refused({kFirst, {1, 3, {"b"}}, kThird}, ErrorCode::corrupt,
                 "tensor \"b\" is in two parts");
  expect_refused({kFirst, {1, 3, {}}, kThird}, ErrorCode::corrupt,
                 "split.tensors.count is 5, but the parts hold 4");
  expect_refused({{3, 3, {"a"}}}, ErrorCode::corrupt, "split.no is 3 of 3 parts");
  expect_refused({{0, 60000, {"a"}}}, ErrorCode::corrupt, "expected at most 999");
  EXPECT_FALSE(GgufFile::join({}).ok());
}

TEST(Split, FindsTheOtherPathsByName) {
  const std::vector<std::string> all = {"m/x-00001-of-00003.gguf", "m/x-00002-of-00003.gguf",
                                        "m/x-00003-of-00003.gguf"};
  for (const std::string& path : all) EXPECT_EQ(split_paths(path), all);
  for (const char* path :
       {"x.gguf", "", "-of-.gguf", "x-00004-of-00003.gguf", "x-00000-of-00003.gguf",
        "x-00001-of-99999.gguf", "x-0001a-of-00003.gguf", "x00001-of-00003.gguf",
        "x-00001-of-00003.bin", "x-00001_of_00003.gguf", "x- 0001-of-00003.gguf"}) {
    EXPECT_EQ(split_paths(path), std::vector<std::string>{path});
  }
}

}  // namespace
}  // namespace kinglet
