#include "gguf/header.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "gguf/ggml_types.h"
#include "gguf/gguf_builder.h"
#include "gguf/unusable.h"
#include "support.h"

namespace kinglet {
namespace {

// The offsets of the fixed fields.
constexpr size_t kVersionAt = 4;
constexpr size_t kTensorCountAt = 8;
constexpr size_t kMetadataCountAt = 16;
constexpr size_t kFirstEntryAt = 24;

template <class T>
Bytes patched(Bytes file, size_t at, T value) {
  std::memcpy(file.data() + at, &value, sizeof value);
  return file;
}

Bytes bytes_of(std::string_view text) {
  Bytes bytes;
  append_bytes(bytes, std::as_bytes(std::span<const char>(text)));
  return bytes;
}

// A header with some of everything, so that its prefixes contain every way to cut a header.
GgufBuilder sample(uint32_t version = 3) {
  GgufBuilder builder(version);
  builder.set("general.architecture", "llama")
      .set_uint32("llama.block_count", 2)
      .set<uint8_t>("u8", 1)
      .set<double>("f64", 0.5)
      .set_bool("flag", true)
      .set_array<std::string>("words", {"a", "bc", ""})
      .set_array<bool>("flags", {true, false})
      .set_array<int16_t>("numbers", {1, -2, 3})
      .add_f32("a.weight", {2, 3}, {1, 2, 3, 4, 5, 6})
      .add_f32("b", {1}, {7})
      .add_tensor("c", DType::q8_0, {32, 2}, Bytes(2 * sizeof(BlockQ8_0), std::byte{9}));
  return builder;
}

// Parses the bytes as a whole file, and expects this error.
void expect_error(const Bytes& file, ErrorCode code, std::string_view message) {
  uint64_t needed = 1;
  const auto header = parse_gguf_header(file, file.size(), &needed);
  ASSERT_FALSE(header.ok()) << message;
  EXPECT_EQ(error_code_name(header.error().code), error_code_name(code)) << header.error().message;
  EXPECT_EQ(header.error().message, message);
  EXPECT_EQ(needed, 0u) << "nothing can follow a whole file";
}

void expect_error(const GgufBuilder& builder, ErrorCode code, std::string_view message) {
  expect_error(builder.build(), code, message);
}

TEST(GgufHeader, ReadsVersions2And3) {
  for (const uint32_t version : {2u, 3u}) {
    const Bytes file = sample(version).build();
    const auto result = parse_gguf_header(file, file.size());
    ASSERT_TRUE(result.ok()) << result.error().message;
    const GgufHeader& header = result.value();
    EXPECT_EQ(header.version, version);
    EXPECT_EQ(header.alignment, 32u);
    EXPECT_EQ(header.metadata.size(), 8u);
    EXPECT_EQ(header.metadata[1].key, "llama.block_count");
    EXPECT_EQ(header.require_string("general.architecture").value(), "llama");
    EXPECT_EQ(header.data_offset, round_up(sample().build_header().size(), 32));
    EXPECT_EQ(header.data_bytes, 64u + 2 * sizeof(BlockQ8_0));
  }
}

TEST(GgufHeader, ReadsTheTensorTable) {
  const Bytes file = sample().build();
  const auto header = parse_gguf_header(file).value();
  ASSERT_EQ(header.tensors.size(), 3u);
  const TensorInfo& a = header.tensors[0];
  EXPECT_EQ(a.name, "a.weight");
  EXPECT_EQ(a.type, DType::f32);
  EXPECT_EQ(a.shape, (Shape{2, 3, 1, 1}));
  EXPECT_EQ(a.offset, 0u);
  EXPECT_EQ(a.bytes, 24u);
  const TensorInfo* c = header.find_tensor("c");
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(c->type, DType::q8_0);
  EXPECT_EQ(c->offset, 64u);
  EXPECT_EQ(c->bytes, 2 * sizeof(BlockQ8_0));
}

TEST(GgufHeader, ReadsFourDimensions) {
  GgufBuilder builder;
  builder.add_f32("t", {2, 1, 3, 2}, std::vector<float>(12));
  const Bytes file = builder.build();
  const auto header = parse_gguf_header(file, file.size()).value();
  EXPECT_EQ(header.tensors[0].shape, (Shape{2, 1, 3, 2}));
  EXPECT_EQ(header.tensors[0].bytes, 48u);
}

TEST(GgufHeader, TakesTheDataOffsetFromTheAlignment) {
  for (const uint32_t alignment : {8u, 64u, 4096u, kMaxAlignment}) {
    GgufBuilder builder;
    builder.set_alignment(alignment).add_f32("a", {1}, {1}).add_f32("b", {1}, {2});
    const Bytes file = builder.build();
    const auto header = parse_gguf_header(file, file.size()).value();
    EXPECT_EQ(header.alignment, alignment);
    EXPECT_EQ(header.data_offset, round_up(builder.build_header().size(), alignment));
    EXPECT_EQ(header.tensors[1].offset, alignment);
    EXPECT_EQ(header.data_bytes, alignment + 4u);
  }
}

TEST(GgufHeader, AcceptsAVocabularyWithoutTensors) {
  const Bytes file = GgufBuilder().set("tokenizer.ggml.model", "llama").build();
  const auto header = parse_gguf_header(file, file.size()).value();
  EXPECT_EQ(header.data_bytes, 0u);
  EXPECT_EQ(header.data_offset, file.size());
}

TEST(GgufHeader, AcceptsTensorsInAnyOrderAndPaddingBehindThem) {
  GgufBuilder builder;
  builder.add_tensor_raw("second", 0, {8}, 32).add_tensor_raw("first", 0, {8}, 0);
  Bytes file = builder.build();
  file.resize(file.size() + 64 + 1000);
  const auto header = parse_gguf_header(file, file.size());
  ASSERT_TRUE(header.ok()) << header.error().message;
  EXPECT_EQ(header.value().data_bytes, 64u);
}

TEST(GgufHeader, RefusesWhatIsNoGgufFile) {
  for (const std::string text : {"", "Once upon a time there was", "GG\x01", "PK\x03\x04"}) {
    expect_error(bytes_of(text), ErrorCode::not_gguf, explain_other_format(text));
  }
}

TEST(GgufHeader, RefusesOtherVersionsAndByteOrders) {
  const Bytes file = sample().build();
  const ErrorCode code = ErrorCode::unsupported_version;
  for (const uint32_t old : {0u, 1u}) {
    expect_error(patched(file, kVersionAt, old), code,
                 "GGUF header: version " + std::to_string(old) +
                     " is not supported, expected 2 or 3: use a newer file of the model, or "
                     "convert it again (byte 4)");
  }
  expect_error(patched(file, kVersionAt, 4u), code,
               "GGUF header: version 4 is not supported, expected 2 or 3: use another file of the "
               "model, or a newer Kinglet (byte 4)");
  expect_error(patched(file, kVersionAt, 0x03000000u), code,
               "GGUF header: the file is big-endian (version 3), expected a little-endian one: "
               "convert it with gguf_convert_endian.py of llama.cpp (byte 4)");
}

TEST(GgufHeader, HoldsCountsAgainstTheirLimits) {
  const Bytes file = sample().build();
  expect_error(patched(file, kTensorCountAt, kMaxTensors + 1), ErrorCode::corrupt,
               "GGUF header: the number of tensors is 65537, expected at most 65536 (byte 8)");
  expect_error(patched(file, kMetadataCountAt, std::numeric_limits<uint64_t>::max()),
               ErrorCode::corrupt,
               "GGUF header: the number of metadata entries is 18446744073709551615, expected at "
               "most 65536 (byte 16)");
}

TEST(GgufHeader, HoldsCountsAgainstTheSizeOfTheFile) {
  const Bytes file(
      patched(GgufBuilder().set_uint32("k", 1).build(), kMetadataCountAt, kMaxMetadata));
  expect_error(file, ErrorCode::truncated,
               "GGUF header: a table of 65536 metadata entries and 0 tensors needs 851968 bytes, "
               "but only 17 are left of the file's 41: download it again (byte 24)");
}

TEST(GgufHeader, HoldsLengthsAgainstTheirLimits) {
  expect_error(patched(GgufBuilder().set_uint32("k", 1).build(), kFirstEntryAt, kMaxKeyBytes + 1),
               ErrorCode::corrupt,
               "metadata entry: the key is 65536 bytes long, expected at most 65535 (byte 24)");
  Bytes length;
  append_number(length, kMaxStringBytes + 1);
  expect_error(GgufBuilder().set_raw("k", 8, length), ErrorCode::corrupt,
               "metadata \"k\": the string is 67108865 bytes long, expected at most 67108864 (byte "
               "37)");
  Bytes array;
  append_number<uint32_t>(array, 0);
  append_number(array, kMaxArraySize + 1);
  expect_error(GgufBuilder().set_raw("k", 9, array), ErrorCode::corrupt,
               "metadata \"k\": the array's size is 16777217, expected at most 16777216 (byte 41)");
  expect_error(GgufBuilder().add_tensor_raw(std::string(65, 'x'), 0, {1}, 0), ErrorCode::corrupt,
               "tensor table: the name is 65 bytes long, expected at most 64 (byte 24)");
}

TEST(GgufHeader, HoldsLengthsAgainstTheSizeOfTheFile) {
  Bytes length;
  append_number<uint64_t>(length, 1000);
  expect_error(GgufBuilder().set_raw("k", 8, length), ErrorCode::truncated,
               "metadata \"k\": the string needs 1000 bytes, but only 0 are left of the file's 45: "
               "download it again (byte 45)");
  Bytes array;
  append_number<uint32_t>(array, 10);
  append_number(array, kMaxArraySize);
  expect_error(GgufBuilder().set_raw("k", 9, array), ErrorCode::truncated,
               "metadata \"k\": the array needs 134217728 bytes, but only 0 are left of the file's "
               "49: download it again (byte 49)");
}

TEST(GgufHeader, HoldsTheHeaderAgainstItsLimit) {
  // A first array of 128 MiB fits; a second one would end after the limit.
  Bytes array;
  append_number<uint32_t>(array, 10);
  append_number(array, kMaxArraySize);
  Bytes file = GgufBuilder().set_raw("k", 9, array).build();
  uint64_t needed = 0;
  auto header = parse_gguf_header(file, std::nullopt, &needed);
  ASSERT_FALSE(header.ok());
  EXPECT_EQ(header.error().code, ErrorCode::truncated);
  EXPECT_EQ(needed, file.size() + 8 * kMaxArraySize);

  file.resize(static_cast<size_t>(needed));
  append_string(file, "k2");
  append_number<uint32_t>(file, 9);
  append_bytes(file, array);
  file = patched<uint64_t>(std::move(file), kMetadataCountAt, 2);
  header = parse_gguf_header(file, std::nullopt, &needed);
  ASSERT_FALSE(header.ok());
  EXPECT_EQ(header.error().message,
            "metadata \"k2\": the array needs 134217728 bytes, but a header may have at most "
            "268435456 bytes (byte 134217803)");
  EXPECT_EQ(header.error().code, ErrorCode::corrupt);
  EXPECT_EQ(needed, 0u);
}

TEST(GgufHeader, RefusesUnknownValueTypes) {
  const Bytes value(16);
  expect_error(GgufBuilder().set_raw("k", 13, value), ErrorCode::unsupported_type,
               "metadata \"k\": the value's type is 13, which is not known; expected 0 to 12 (byte "
               "33)");
  Bytes array;
  append_number<uint32_t>(array, 99);
  append_number<uint64_t>(array, 1);
  expect_error(GgufBuilder().set_raw("k", 9, array), ErrorCode::unsupported_type,
               "metadata \"k\": the array's element type is 99, which is not known; expected 0 to "
               "12 (byte 37)");
}

TEST(GgufHeader, RefusesBoolsThatAreNeitherTrueNorFalse) {
  expect_error(GgufBuilder().set_raw("k", 7, Bytes{std::byte{2}}), ErrorCode::corrupt,
               "metadata \"k\": the bool is 2, expected 0 or 1 (byte 37)");
  Bytes array = GgufBuilder::array_bytes<bool>({true, false, true});
  array.back() = std::byte{255};
  expect_error(GgufBuilder().set_raw("k", 9, array), ErrorCode::corrupt,
               "metadata \"k\": the bool is 255, expected 0 or 1 (byte 51)");
}

TEST(GgufHeader, NestsArraysUpToTheLimit) {
  Bytes nested = GgufBuilder::array_bytes<uint8_t>({1});
  for (uint32_t depth = 1; depth <= kMaxArrayDepth; ++depth) {
    const Bytes file = GgufBuilder().set_raw("k", 9, nested).build();
    EXPECT_TRUE(parse_gguf_header(file, file.size()).ok()) << depth;
    Bytes outer;
    append_number<uint32_t>(outer, 9);
    append_number<uint64_t>(outer, 1);
    append_bytes(outer, nested);
    nested = outer;
  }
  expect_error(GgufBuilder().set_raw("k", 9, nested), ErrorCode::corrupt,
               "metadata \"k\": more than 4 arrays lie inside each other (byte 85)");
}

TEST(GgufHeader, RefusesDuplicateNames) {
  expect_error(GgufBuilder().set_uint32("k", 1).set_uint32("l", 1).set("k", "x"),
               ErrorCode::corrupt, "metadata \"k\" is there twice");
  expect_error(GgufBuilder().add_f32("t", {1}, {1}).add_f32("u", {1}, {1}).add_f32("t", {1}, {1}),
               ErrorCode::corrupt, "tensor \"t\" is there twice");
}

TEST(GgufHeader, RefusesBadAlignments) {
  for (const uint32_t alignment : {0u, 1u, 4u, 24u, 33u, kMaxAlignment * 2}) {
    expect_error(GgufBuilder().set_uint32("general.alignment", alignment), ErrorCode::corrupt,
                 "metadata \"general.alignment\" is " + std::to_string(alignment) +
                     ", expected a power of two from 8 to 1048576");
  }
  expect_error(GgufBuilder().set("general.alignment", "32"), ErrorCode::wrong_type,
               "metadata \"general.alignment\" is string, expected an integer from 0 to "
               "4294967295");
}

TEST(GgufHeader, RefusesBadShapes) {
  const auto with_shape = [](const std::vector<uint64_t>& dims, DType type = DType::f32) {
    GgufBuilder builder;
    builder.add_tensor_raw("t", static_cast<uint32_t>(type), dims, 0);
    Bytes file = builder.build();
    file.resize(file.size() + 64);
    return file;
  };
  const ErrorCode code = ErrorCode::corrupt;
  expect_error(with_shape({}), code,
               "tensor \"t\": the number of dimensions is 0, expected 1 to 4 (byte 33)");
  expect_error(with_shape({1, 1, 1, 1, 1}), code,
               "tensor \"t\": the number of dimensions is 5, expected 1 to 4 (byte 33)");
  expect_error(
      with_shape({4, 0}), code,
      "tensor \"t\": dimension 1 is 0, expected at least 1 and not more than 2^64 elements "
      "in all (byte 33)");
  expect_error(
      with_shape({uint64_t{1} << 32, uint64_t{1} << 32}), code,
      "tensor \"t\": dimension 1 is 4294967296, expected at least 1 and not more than 2^64 "
      "elements in all (byte 33)");
  expect_error(with_shape({uint64_t{1} << 63}), code,
               "tensor \"t\": the shape [9223372036854775808] of F32 needs more than 2^64 bytes "
               "(byte 33)");
  expect_error(with_shape({33, 2}, DType::q4_0), code,
               "tensor \"t\": the shape [33, 2] has rows of 33, expected a multiple of 32, the "
               "block size of Q4_0 (byte 33)");
}

// The error for a tensor of this type, without the list of expected types, which grows with the
// project.
std::string type_error(uint32_t type) {
  const Bytes file = GgufBuilder().add_tensor_raw("t", type, {256}, 0).build();
  const auto header = parse_gguf_header(file, file.size());
  if (header.ok() || header.error().code != ErrorCode::unsupported_type) return "another answer";
  return header.error().message.substr(0, header.error().message.find(';'));
}

TEST(GgufHeader, NamesTensorTypesThatItCannotRead) {
  EXPECT_EQ(type_error(4), "tensor \"t\": the type is 4, Q4_2 (removed from ggml)");
  EXPECT_EQ(type_error(31), "tensor \"t\": the type is 31, Q4_0_4_4 (removed from ggml)");
  EXPECT_EQ(type_error(24), "tensor \"t\": the type is 24, I8");
  EXPECT_EQ(type_error(4096), "tensor \"t\": the type is 4096, which is not known");
}

TEST(GgmlTypes, AreThoseThatAreNotRead) {
  for (uint32_t id = 0; id < 64; ++id) {
    EXPECT_TRUE(find_dtype(id) == nullptr || unread_type_name(id).empty()) << id;
  }
}

// A tensor of Q2_0 (id 42), and the distance from it to the next tensor.
struct Q2Tensor {
  std::vector<uint64_t> dims;
  uint64_t room;
};

Bytes with_q2_0(const std::vector<Q2Tensor>& tensors) {
  GgufBuilder builder;
  uint64_t offset = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    builder.add_tensor_raw(cat("q", i), 42, tensors[i].dims, offset);
    offset += tensors[i].room;
  }
  Bytes file = builder.build();
  file.resize(file.size() + static_cast<size_t>(offset));
  return file;
}

TEST(GgufHeader, TellsEarlyBlocksOfQ2_0ByTheRoomOfTheirTensors) {
  const auto types = [](const Bytes& file) {
    const auto header = parse_gguf_header(file, file.size());
    EXPECT_TRUE(header.ok()) << header.error().message;
    std::string text;
    for (const TensorInfo& tensor : header.value().tensors) {
      text += cat(dtype_info(tensor.type).name, " ", tensor.bytes, " ");
    }
    return text;
  };
  EXPECT_EQ(types(with_q2_0({{{256, 64}, 4608}, {{128, 32}, 1152}})), "Q2_0 4608 Q2_0 1152 ");
  EXPECT_EQ(types(with_q2_0({{{256, 64}, 4352}, {{128, 32}, 1088}})), "PQ2_0 4352 PQ2_0 1088 ");
  // The last tensor's room does not count if there is another: the file may have a tail.
  EXPECT_EQ(types(with_q2_0({{{256, 64}, 4352}, {{128, 32}, 9999}})), "PQ2_0 4352 PQ2_0 1088 ");
  EXPECT_EQ(types(with_q2_0({{{256, 64}, 4352}})), "PQ2_0 4352 ");
  EXPECT_EQ(types(with_q2_0({{{256, 64}, 4352 + 31}})), "PQ2_0 4352 ");  // padded
  EXPECT_EQ(types(with_q2_0({{{256, 64}, 4608}})), "Q2_0 4608 ");
  EXPECT_EQ(types(with_q2_0({{{256, 64}, 8192}, {{128, 32}, 1152}})), "Q2_0 4608 Q2_0 1152 ");
  EXPECT_EQ(types(with_q2_0({{{64, 3}, 64}, {{128, 32}, 1152}})), "Q2_0 54 Q2_0 1152 ");
}

TEST(GgufHeader, RefusesQ2_0OfNeitherBlocks) {
  expect_error(with_q2_0({{{256, 64}, 4416}, {{128, 32}, 1152}}), ErrorCode::corrupt,
               "tensor \"q0\" of Q2_0 [256, 64] has 4416 bytes before the next one, expected 4608, "
               "or what blocks of 128 weights take in all tensors of Q2_0");
  // One tensor of each kind.
  expect_error(with_q2_0({{{256, 64}, 4608}, {{256, 64}, 4352}, {{128, 32}, 1152}}),
               ErrorCode::corrupt,
               "tensor \"q1\" of Q2_0 [256, 64] has 4352 bytes before the next one, expected 4608, "
               "or what blocks of 128 weights take in all tensors of Q2_0");
  expect_error(with_q2_0({{{256, 64}, 4352}, {{64, 3}, 64}}), ErrorCode::corrupt,
               "tensor \"q1\" has rows of 64, but Q2_0 has blocks of 128 in this file");
  // A download that ended early.
  expect_error(with_q2_0({{{256, 64}, 4320}}), ErrorCode::truncated,
               explain_incomplete(4416, 4704));
  const Bytes file = with_q2_0({{{256, 64}, 4352}});
  const auto header = parse_gguf_header(file);  // of unknown size
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header.value().tensors[0].type, DType::q2_0);
}

TEST(GgufHeader, RefusesBadTensorOffsets) {
  const auto with_offsets = [](uint64_t a, uint64_t b) {
    GgufBuilder builder;
    builder.add_tensor_raw("a", 0, {16}, a).add_tensor_raw("b", 0, {16}, b);
    Bytes file = builder.build();
    file.resize(file.size() + 128);
    return file;
  };
  EXPECT_TRUE(parse_gguf_header(with_offsets(64, 0)).ok());
  expect_error(
      with_offsets(0, 65), ErrorCode::corrupt,
      "tensor \"b\": the offset is 65, expected a multiple of 32, the alignment (byte 82)");
  expect_error(
      with_offsets(32, 0), ErrorCode::corrupt,
      "tensor \"a\" of 64 bytes at byte 32 of the data section overlaps tensor \"b\" of 64 "
      "bytes at byte 0 of the data section");
  expect_error(with_offsets(0, 96), ErrorCode::truncated, explain_incomplete(224, 256));
  expect_error(with_offsets(0, std::numeric_limits<uint64_t>::max() - 31), ErrorCode::corrupt,
               "tensor \"b\" of 64 bytes at byte 18446744073709551584 of the data section ends "
               "after byte 2^64 of the file");
}

TEST(GgufHeader, ShowsNoControlCharactersInMessages) {
  const std::string key = "\x1b[31m\n\"" + std::string(200, 'x');
  const auto header = parse_gguf_header(GgufBuilder().set_raw(key, 77, {}).build());
  ASSERT_FALSE(header.ok());
  EXPECT_EQ(header.error().message.find('\x1b'), std::string::npos);
  EXPECT_EQ(header.error().message.find('\n'), std::string::npos);
  EXPECT_LT(header.error().message.size(), 200u);
}

TEST(GgufHeader, TellsAtEveryByteHowManyAreNeeded) {
  const Bytes header = sample().build_header();
  for (size_t n = 0; n < header.size(); ++n) {
    const Bytes front(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(n));
    uint64_t needed = 0;
    const auto result = parse_gguf_header(front, std::nullopt, &needed);
    ASSERT_FALSE(result.ok()) << n;
    EXPECT_EQ(result.error().code, ErrorCode::truncated) << n << ": " << result.error().message;
    EXPECT_GT(needed, n);
    EXPECT_LE(needed, header.size());
  }
  uint64_t needed = 1;
  EXPECT_TRUE(parse_gguf_header(header, std::nullopt, &needed).ok());
  EXPECT_EQ(needed, 0u);
}

TEST(GgufHeader, RefusesAFileThatIsCutAtAnyByte) {
  const Bytes file = sample().build();
  const uint64_t end = parse_gguf_header(file).value().data_offset + 64 + 2 * sizeof(BlockQ8_0);
  for (size_t n = 1; n < end; ++n) {
    const Bytes front(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n));
    uint64_t needed = 1;
    const auto result = parse_gguf_header(front, n, &needed);
    ASSERT_FALSE(result.ok()) << n;
    EXPECT_EQ(result.error().code, ErrorCode::truncated) << n << ": " << result.error().message;
    EXPECT_EQ(needed, 0u);
  }
  EXPECT_TRUE(parse_gguf_header(std::span(file).first(static_cast<size_t>(end)), end).ok());
}

uint64_t sum_of(std::string_view text) {
  uint64_t sum = 0;
  for (const char c : text) sum += static_cast<unsigned char>(c);
  return sum;
}

// Reads everything that a parsed header promises to be readable.
uint64_t walk(const GgufHeader& header) {
  uint64_t sum = 0;
  for (const MetadataEntry& entry : header.metadata) {
    sum += entry.key.size() + entry.value.as_uint().value_or(0);
    sum += sum_of(entry.value.as_string().value_or(""));
    if (const auto array = entry.value.as_array()) {
      array->for_each([&](uint64_t, MetadataValue value) {
        sum += sum_of(value.as_string().value_or(""));
        sum += value.as_uint().value_or(0) + (value.as_bool().value_or(false) ? 1 : 0);
      });
    }
  }
  for (const TensorInfo& tensor : header.tensors) sum += tensor.name.size() + tensor.bytes;
  return sum;
}

TEST(GgufHeader, SurvivesEveryChangedByte) {
  const Bytes file = sample().build();
  const size_t header_bytes = sample().build_header().size();
  size_t n_read = 0;
  size_t n_refused = 0;
  for (size_t at = 0; at < header_bytes; ++at) {
    for (uint32_t value = 0; value < 256; ++value) {
      const Bytes changed = patched(file, at, static_cast<uint8_t>(value));
      const auto header = parse_gguf_header(changed, changed.size());
      header.ok() ? ++n_read : ++n_refused;
      if (!header.ok()) continue;
      walk(header.value());
      for (const TensorInfo& tensor : header.value().tensors) {
        EXPECT_LE(header.value().data_offset + tensor.offset + tensor.bytes, changed.size());
      }
    }
  }
  EXPECT_GT(n_read, header_bytes);  // at least the unchanged byte at each offset
  EXPECT_GT(n_refused, header_bytes);
}

TEST(GgufHeader, ReadsRealFiles) {
  for (const std::string_view name : {"arch/llama.gguf", "arch/llama3.gguf", "quant/llama-f32.gguf",
                                      "quant/llama-Q8_0.gguf", "quant/llama-Q4_0.gguf"}) {
    const Bytes file = read_fixture(name);
    ASSERT_FALSE(file.empty()) << name;
    const auto result = parse_gguf_header(file, file.size());
    ASSERT_TRUE(result.ok()) << name << ": " << result.error().message;
    const GgufHeader& header = result.value();
    EXPECT_EQ(header.require_string("general.architecture").value(), "llama");
    EXPECT_EQ(header.require_array("tokenizer.ggml.tokens", ValueType::string).value().size(),
              512u);
    ASSERT_NE(header.find_tensor("token_embd.weight"), nullptr);
    EXPECT_EQ(header.find_tensor("token_embd.weight")->shape[1], 512u);
    EXPECT_LE(header.data_offset + header.data_bytes, file.size());
    EXPECT_LT(file.size() - header.data_offset - header.data_bytes, header.alignment);
  }
}

}  // namespace
}  // namespace kinglet
