#include "json/json.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <string>

namespace kinglet {
namespace {

Json parsed(std::string_view text) {
  auto json = parse_json(text);
  EXPECT_TRUE(json.ok()) << text << ": " << json.error().message;
  return json.ok() ? std::move(json.value()) : Json();
}

TEST(Json, PrintsWhatItParses) {
  constexpr std::string_view kText =
      R"({"a":[1,-2.50,1e+2,true,false,null,"x\"\\\né😀"],"b":{},"c":[],"":""})";
  EXPECT_EQ(print(parsed(kText)), kText);
  EXPECT_EQ(print(parsed(" [ 1 ,\t{ \"a\" : \"\\u00e9\\ud83d\\ude00\\/\" }\r\n] ")),
            R"([1,{"a":"é😀/"}])");
  EXPECT_EQ(print(parsed(R"({"a":[1,{}],"b":[]})"), "  "),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
  EXPECT_EQ(print(Json("a\xff\x01")), "\"a\xef\xbf\xbd\\u0001\"");
}

TEST(Json, RefusesOtherTexts) {
  for (const char* wrong :
       {"",        "{",   "[1,]",      "[1 2]",       "{\"a\" 1}", "{\"a\":1,}", "{a: 1}", "nul",
        "nulll",   "1 2", "01",        "1.",          ".5",        "+1",         "1e",     "-",
        "\"\\x\"", "\"a", "\"\\ud8\"", "\"\\ud800\"", "\"a\nb\"",  "\"\xff\"",   "NaN",    "'a'"}) {
    const auto refused = parse_json(wrong);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_EQ(parse_json("[1,]").error().message, "this is not JSON: expected a value at byte 3");
}

TEST(Json, HasLimits) {
  const auto nested = [](size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_TRUE(parse_json(nested(128)).ok());
  EXPECT_FALSE(parse_json(nested(129)).ok());
  EXPECT_FALSE(parse_json(std::string(1'000'000, '[')).ok());
  EXPECT_TRUE(parse_json(R"({"a":1,"b":2,"a":3})", {.members = 2}).ok());
  EXPECT_TRUE(parse_json(R"({"a":1,"b":2,"a":3,"b":4,"a":5,"b":6,"a":7})", {.members = 2}).ok());
  // It is not read to its end.
  EXPECT_EQ(
      parse_json(R"({"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":)", {.members = 2}).error().message,
      "this JSON has an object of more than 2 members at byte 36");
  EXPECT_FALSE(parse_json(R"({"a":1,"b":2,"c":3})", {.members = 2}).ok());
}

// A text of any length asks whether it is still wanted.
TEST(Json, IsCancelledWithinAText) {
  const std::atomic<uint32_t> word = 0;
  static int n_looks;
  const Cancellation at_third_look{&word, 7, [](uint32_t value) {
                                     EXPECT_EQ(value, 7U);
                                     return ++n_looks >= 3;
                                   }};
  n_looks = 0;
  const auto cancelled = parse_json(R"("a\nb\nc\nd")", {.cancellation = at_third_look});
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, ErrorCode::cancelled);
  n_looks = 0;
  EXPECT_TRUE(parse_json(R"("a")", {.cancellation = at_third_look}).ok());
}

TEST(Json, TheLastOfEqualNamesCountsInThePlaceOfTheFirst) {
  EXPECT_EQ(print(parsed(R"({"a":1,"b":2,"a":3,"c":4,"a":5,"c":6})")), R"({"a":5,"b":2,"c":6})");
}

// Comparing each name with all before it would take minutes.
TEST(Json, TakesTimeThatGrowsWithTheText) {
  constexpr size_t kSize = 200'000;
  std::string members;
  std::string items;
  for (size_t i = 0; i < kSize; ++i) {
    members += cat(i > 0 ? "," : "", "\"", i, "\":[{}]");
    items += i > 0 ? ",{}" : "{}";
  }
  EXPECT_EQ(parsed(cat("{", members, "}")).size(), kSize);
  EXPECT_EQ(parsed(cat("[", items, "]")).size(), kSize);
}

TEST(Json, KeepsNumbersAsTheyAreSpelled) {
  for (const char* number : {"12345678901234567890", "1.0", "-0", "1E400", "0.1000"}) {
    EXPECT_EQ(print(parsed(number)), number);
  }
  EXPECT_EQ(parsed("1e400").as_double(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(print(Json(0.1)), "0.1");
  EXPECT_EQ(print(Json(2.0)), "2.0");
  EXPECT_EQ(print(Json(-7)), "-7");
  EXPECT_TRUE(Json(std::nan("")).is_null());
}

TEST(Json, TellsWholeNumbers) {
  EXPECT_EQ(parsed("9223372036854775807").as_integer(), INT64_MAX);
  EXPECT_EQ(parsed("-5.00").as_integer(), -5);
  EXPECT_EQ(parsed("12.5e1").as_integer(), 125);
  EXPECT_EQ(parsed("0e99999999999999999999").as_integer(), 0);
  for (const char* other :
       {"9223372036854775808", "1e19", "1e99999999999999999999", "0.5", "5e-1"}) {
    EXPECT_EQ(parsed(other).as_integer(), std::nullopt) << other;
  }
}

TEST(Json, ComparesValues) {
  EXPECT_EQ(parsed("[1,{\"a\":1,\"b\":0.5}]"), parsed("[1.0,{\"b\":5e-1,\"a\":10E-1}]"));
  EXPECT_EQ(parsed("-0"), parsed("0"));
  // Beyond the digits of a double.
  EXPECT_NE(parsed("12345678901234567890"), parsed("12345678901234567891"));
  // The first one's power, with the zero of its 10, is beyond 64 bits.
  EXPECT_NE(parsed("10e9223372036854775807"), parsed("1e-9223372036854775808"));
  EXPECT_NE(parsed("1"), parsed("-1"));
  EXPECT_NE(parsed("1"), parsed("true"));
  EXPECT_NE(parsed("{\"a\":null}"), parsed("{}"));
}

TEST(Json, IsBuilt) {
  Json made = {{"b", 1}, {"a", Json::array()}};
  made["a"].push_back("x");
  made["a"].push_back({{"c", nullptr}});
  made["d"] = true;
  made.erase("b");
  EXPECT_EQ(print(made), R"({"a":["x",{"c":null}],"d":true})");
  EXPECT_EQ(made.find("b"), nullptr);
  EXPECT_EQ(made.find("a")->find("x"), nullptr);
}

TEST(Json, SaysWhichLimitItExceeds) {
  EXPECT_EQ(parse_json(R"({"a":1,"b":2,"a":3,"c":4})", {.members = 2}).error().message,
            "this JSON has an object of more than 2 members at byte 25");
  EXPECT_TRUE(parse_json(R"({"a":1,"b":2,"a":3})", {.members = 2}).ok());
  EXPECT_EQ(parse_json("[[[]]]", {.depth = 2}).error().message,
            "this JSON has more than 2 levels of arrays and objects at byte 2");
}

TEST(Json, HasOneCanonicalTextForEqualValues) {
  const auto text = [](std::string_view json) { return canonical_text(parse_json(json).value()); };
  EXPECT_EQ(text(R"({"a":[1.0,-0],"b":"x"})"), text(R"({"b":"x","a":[10e-1,0]})"));
  for (const char* other : {R"(["a","b"])", R"(["ab",""])", R"(["a,b"])", R"([["a"],"b"])", "[1,2]",
                            "[12]", "[null]", "[\"null\"]", "[{}]", "[[]]", "[true]", "[false]"}) {
    EXPECT_NE(text(R"(["a",["b"]])"), text(other)) << other;
    EXPECT_NE(text(R"([1,"2"])"), text(other)) << other;
  }
  const Json a = parse_json(R"({"x":1,"y":{"a":1,"b":2}})").value();
  EXPECT_TRUE(a == parse_json(R"({"y":{"b":2.0,"a":1},"x":1e0})").value());
  EXPECT_FALSE(a == parse_json(R"({"y":{"b":2,"a":3},"x":1})").value());
}

}  // namespace
}  // namespace kinglet
