#include "gguf/metadata.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "errors.h"
#include "gguf/gguf_builder.h"
#include "gguf/header.h"

namespace kinglet {
namespace {

// A header, and the bytes that it refers to.
struct Parsed {
  explicit Parsed(const GgufBuilder& builder) : bytes(builder.build()) {
    auto result = parse_gguf_header(bytes, bytes.size());
    EXPECT_TRUE(result.ok()) << result.error().message;
    if (result.ok()) header = std::move(result.value());
  }
  const MetadataValue& operator[](std::string_view key) const { return *header.find(key); }

  Bytes bytes;
  GgufHeader header;
};

template <class T>
void expect_integer(T value) {
  const Parsed parsed(GgufBuilder().set<T>("k", value));
  EXPECT_EQ(parsed["k"].type(), value_type_of<T>());
  const auto as_int = parsed["k"].as_int();
  const auto as_uint = parsed["k"].as_uint();
  EXPECT_EQ(as_int.has_value(), std::in_range<int64_t>(value));
  EXPECT_EQ(as_uint.has_value(), std::in_range<uint64_t>(value));
  EXPECT_TRUE(!as_int || std::cmp_equal(*as_int, value));
  EXPECT_TRUE(!as_uint || std::cmp_equal(*as_uint, value));
  EXPECT_FALSE(parsed["k"].as_float());
  EXPECT_FALSE(parsed["k"].as_bool());
  EXPECT_FALSE(parsed["k"].as_string());
  EXPECT_FALSE(parsed["k"].as_array());
}

template <class T>
void expect_integer_extremes() {
  expect_integer<T>(std::numeric_limits<T>::min());
  expect_integer<T>(std::numeric_limits<T>::max());
  expect_integer<T>(7);
}

TEST(MetadataValue, AnswersEveryIntegerTypeWithoutLoss) {
  expect_integer_extremes<uint8_t>();
  expect_integer_extremes<int8_t>();
  expect_integer_extremes<uint16_t>();
  expect_integer_extremes<int16_t>();
  expect_integer_extremes<uint32_t>();
  expect_integer_extremes<int32_t>();
  expect_integer_extremes<uint64_t>();
  expect_integer_extremes<int64_t>();
}

TEST(MetadataValue, AnswersFloatsBoolsAndStringsAsWhatTheyAre) {
  const Parsed parsed(GgufBuilder()
                          .set<float>("f32", 0.1f)
                          .set<double>("f64", 0.1)
                          .set("yes", true)
                          .set("no", false)
                          .set("text", "caf\xc3\xa9")
                          .set("empty", ""));
  EXPECT_EQ(parsed["f32"].as_float(), static_cast<double>(0.1f));
  EXPECT_EQ(parsed["f64"].as_float(), 0.1);
  EXPECT_EQ(parsed["yes"].as_bool(), true);
  EXPECT_EQ(parsed["no"].as_bool(), false);
  EXPECT_EQ(parsed["text"].as_string(), "caf\xc3\xa9");
  EXPECT_EQ(parsed["empty"].as_string(), "");
  EXPECT_FALSE(parsed["f32"].as_uint());
  EXPECT_FALSE(parsed["yes"].as_int());
  EXPECT_FALSE(parsed["text"].as_float());
}

template <class T>
void expect_array(const std::vector<T>& values) {
  const Parsed parsed(GgufBuilder().set_array("k", values).set("behind", "it"));
  const auto array = parsed["k"].as_array();
  ASSERT_TRUE(array);
  EXPECT_EQ(array->element_type(), value_type_of<T>());
  EXPECT_EQ(array->size(), values.size());
  uint64_t n = 0;
  array->for_each([&](uint64_t i, MetadataValue value) {
    EXPECT_EQ(i, n++);
    EXPECT_EQ(value.type(), value_type_of<T>());
    const T expected = values[static_cast<size_t>(i)];
    if constexpr (std::is_same_v<T, bool>) {
      EXPECT_EQ(value.as_bool(), expected);
    } else if constexpr (std::is_floating_point_v<T>) {
      EXPECT_EQ(value.as_float(), static_cast<double>(expected));
    } else if constexpr (std::is_integral_v<T>) {
      EXPECT_TRUE(std::cmp_equal(value.as_int().value(), expected));
    } else {
      EXPECT_EQ(value.as_string(), expected);
    }
  });
  EXPECT_EQ(n, values.size());
  EXPECT_EQ(parsed["behind"].as_string(), "it");
}

TEST(MetadataArray, GivesTheElementsOfEveryTypeInOrder) {
  expect_array<uint8_t>({1, 2, 255});
  expect_array<int8_t>({-128, 0, 127});
  expect_array<uint16_t>({1, 65535});
  expect_array<int16_t>({-32768, 5});
  expect_array<uint32_t>({0, 4294967295});
  expect_array<int32_t>({-1, 9});
  expect_array<uint64_t>({1, 2, 3});
  expect_array<int64_t>({-1, -2, -3});
  expect_array<float>({0.5f, -3.0f});
  expect_array<double>({0.25, 1e300});
  expect_array<bool>({true, false, true});
  expect_array<std::string>({"a", "", "longer", "\xe2\x96\x81"});
  expect_array<uint32_t>({});
  expect_array<std::string>({});
}

Bytes array_of(ValueType type, const std::vector<Bytes>& elements) {
  Bytes bytes;
  append_number(bytes, static_cast<uint32_t>(type));
  append_number<uint64_t>(bytes, elements.size());
  for (const Bytes& element : elements) append_bytes(bytes, element);
  return bytes;
}

TEST(MetadataArray, GivesArraysInsideArrays) {
  const Bytes numbers = GgufBuilder::array_bytes<int32_t>({1, 2});
  const Bytes words = GgufBuilder::array_bytes<std::string>({"one", "two", "three"});
  const Bytes inner = array_of(ValueType::array, {words, numbers});
  const Bytes outer = array_of(ValueType::array, {inner, numbers, words});
  const Parsed parsed(GgufBuilder().set_raw("k", 9, outer).set("behind", "it"));

  std::vector<uint64_t> sizes;
  std::string text;
  parsed["k"].as_array()->for_each([&](uint64_t, MetadataValue middle) {
    sizes.push_back(middle.as_array()->size());
    middle.as_array()->for_each([&](uint64_t, MetadataValue value) {
      if (value.as_string()) text += *value.as_string();
      if (value.as_int()) text += std::to_string(*value.as_int());
      if (value.as_array()) sizes.push_back(value.as_array()->size());
    });
  });
  EXPECT_EQ(sizes, (std::vector<uint64_t>{2, 3, 2, 2, 3}));
  EXPECT_EQ(text, "12onetwothree");
  EXPECT_EQ(parsed["behind"].as_string(), "it");
}

TEST(MetadataLookup, GivesValuesAndFallbacks) {
  const Parsed parsed(GgufBuilder()
                          .set_uint32("uint", 5)
                          .set<int64_t>("signed", 6)
                          .set_float32("float", 0.5f)
                          .set<double>("double", 0.25)
                          .set_bool("bool", true)
                          .set("string", "text")
                          .set_array<float>("array", {1.0f})
                          .set_array<int16_t>("integers", {1, -1}));
  const GgufHeader& header = parsed.header;
  EXPECT_EQ(header.require_uint("uint").value(), 5u);
  EXPECT_EQ(header.require_uint("signed").value(), 6u);
  EXPECT_EQ(header.get_uint("uint", 9).value(), 5u);
  EXPECT_EQ(header.get_uint("absent", 9).value(), 9u);
  EXPECT_EQ(header.require_float("float").value(), 0.5f);
  EXPECT_EQ(header.get_float("double", 9.0f).value(), 0.25f);
  EXPECT_EQ(header.get_float("absent", 9.0f).value(), 9.0f);
  EXPECT_EQ(header.get_bool("bool", false).value(), true);
  EXPECT_EQ(header.get_bool("absent", true).value(), true);
  EXPECT_EQ(header.require_string("string").value(), "text");
  EXPECT_EQ(header.get_string("string", "other").value(), "text");
  EXPECT_EQ(header.get_string("absent", "other").value(), "other");
  EXPECT_EQ(header.require_array("array", ValueType::float32).value().size(), 1u);
  EXPECT_EQ(header.require_integers("integers").value().size(), 2u);
  EXPECT_EQ(header.find("absent"), nullptr);
  EXPECT_EQ(header.find_tensor("absent"), nullptr);
}

TEST(MetadataLookup, NamesTheKeyThatIsMissing) {
  const GgufHeader header;
  const ErrorCode code = ErrorCode::missing_metadata;
  expect_error(header.require_uint("k"), code,
               "metadata \"k\" is missing, expected an integer from 0 to 4294967295");
  expect_error(header.require_float("k"), code,
               "metadata \"k\" is missing, expected float32 or float64");
  expect_error(header.require_string("k"), code, "metadata \"k\" is missing, expected string");
  expect_error(header.require_array("k", ValueType::string), code,
               "metadata \"k\" is missing, expected array of string");
}

TEST(MetadataLookup, NamesWhatItFoundInsteadOfTheExpectedType) {
  const Parsed parsed(GgufBuilder()
                          .set<int32_t>("negative", -1)
                          .set<uint64_t>("large", uint64_t{1} << 32)
                          .set_float32("float", 1.0f)
                          .set("string", "text")
                          .set_array<int32_t>("array", {1}));
  const GgufHeader& header = parsed.header;
  const ErrorCode code = ErrorCode::wrong_type;
  expect_error(header.require_uint("negative"), code,
               "metadata \"negative\" is int32 -1, expected an integer from 0 to 4294967295");
  expect_error(header.get_uint("large", 0), code,
               "metadata \"large\" is uint64 4294967296, expected an integer from 0 to 4294967295");
  expect_error(header.require_uint("float"), code,
               "metadata \"float\" is float32, expected an integer from 0 to 4294967295");
  expect_error(header.get_float("string", 0.0f), code,
               "metadata \"string\" is string, expected float32 or float64");
  expect_error(header.require_float("negative"), code,
               "metadata \"negative\" is int32 -1, expected float32 or float64");
  expect_error(header.get_bool("float", true), code,
               "metadata \"float\" is float32, expected bool");
  expect_error(header.get_string("array", ""), code,
               "metadata \"array\" is array of int32, expected string");
  expect_error(header.require_array("array", ValueType::float32), code,
               "metadata \"array\" is array of int32, expected array of float32");
  expect_error(header.require_array("string", ValueType::string), code,
               "metadata \"string\" is string, expected array of string");
  expect_error(header.require_integers("float"), code,
               "metadata \"float\" is float32, expected array of integers");
  expect_error(header.require_integers("none"), ErrorCode::missing_metadata,
               "metadata \"none\" is missing, expected array of integers");
}

TEST(MetadataLookup, RefusesFloatsThatAreNotFinite) {
  const Parsed parsed(GgufBuilder()
                          .set<float>("nan", std::nanf(""))
                          .set<float>("infinite", -std::numeric_limits<float>::infinity())
                          .set<double>("large", 1e39));
  for (const std::string_view key : {"nan", "infinite", "large"}) {
    const auto result = parsed.header.require_float(key);
    ASSERT_FALSE(result.ok()) << key;
    EXPECT_EQ(result.error().code, ErrorCode::not_finite);
    EXPECT_NE(result.error().message.find(key), std::string::npos);
  }
}

}  // namespace
}  // namespace kinglet
