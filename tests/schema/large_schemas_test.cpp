// Schemas whose parts are long: each takes a time that is proportional to its size, or is refused
// in its own words. (A list of some thousand values once took minutes.)
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <string_view>

#include "base/format.h"
#include "errors.h"
#include "schema/calls.h"
#include "schema/schema_case.h"

namespace kinglet {
namespace {

// Returns make(0), make(1) … with commas.
template <class Make>
std::string listed(int n, Make&& make) {
  std::string list;
  for (int i = 0; i < n; ++i) list += cat(i == 0 ? "" : ",", make(i));
  return list;
}

std::string integers(int n) {
  return listed(n, [](int i) { return cat(i); });
}

std::string message_of(std::string_view schema) {
  const auto grammar = grammar_of_schema(json_of(schema));
  return grammar.ok() ? "" : grammar.error().message;
}

TEST(LargeSchemas, ListValues) {
  Texts texts(grammar_for(cat(R"({"minimum":5,"enum":[)", integers(20'000), "]}")));
  EXPECT_TRUE(texts.have("5"));
  EXPECT_TRUE(texts.have("19999"));
  EXPECT_FALSE(texts.have("4"));
  EXPECT_FALSE(texts.have("20000"));

  const std::string objects =
      listed(5000, [](int i) { return cat(R"({"id":)", i, R"(,"name":"n"})"); });
  Texts of_objects(grammar_for(cat(R"({"enum":[)", objects, "]}")));
  EXPECT_TRUE(of_objects.have(R"({"id":4999,"name":"n"})"));
  EXPECT_FALSE(of_objects.have(R"({"id":5000,"name":"n"})"));

  const SharedGrammar common = grammar_for(
      cat(R"({"allOf":[{"enum":[)", integers(20'000), R"(]},{"enum":[19999,)", objects, "]}]}"));
  Texts of_both(common);
  EXPECT_TRUE(of_both.have("19999"));
  EXPECT_FALSE(of_both.have("3"));
}

TEST(LargeSchemas, ListTextsWithCommonBeginnings) {
  const std::string texts =
      listed(300, [](int i) { return cat("\"", std::string(static_cast<size_t>(i), 'a'), "é\""); });
  Texts of_all(grammar_for(cat(R"({"enum":["è","ê",)", texts, "]}")));
  EXPECT_TRUE(of_all.have("\"é\""));
  EXPECT_TRUE(of_all.have("\"ê\""));
  EXPECT_TRUE(of_all.have(cat("\"", std::string(299, 'a'), "é\"")));
  EXPECT_FALSE(of_all.have("\"ë\""));
  EXPECT_FALSE(of_all.have(cat("\"", std::string(299, 'a'), "\"")));
}

TEST(LargeSchemas, HaveUniqueItems) {
  const std::string long_list =
      cat("[", listed(20'000, [](int i) { return cat("\"", i, "\""); }), "]");
  Texts texts(grammar_for(cat(R"({"uniqueItems":true,"enum":[[1,1.0],)", long_list, "]}")));
  EXPECT_TRUE(texts.have(long_list));
  EXPECT_FALSE(texts.have("[1,1]"));
  Texts of_many(
      grammar_for(cat(R"({"uniqueItems":true,"items":{"enum":[)", integers(20'000), "]}}")));
  EXPECT_TRUE(of_many.have("[19999,0]"));
}

TEST(LargeSchemas, HaveTuples) {
  const std::string prefix = listed(5000, [](int) { return R"({"type":"null"})"; });
  const std::string nulls = listed(5000, [](int) { return "null"; });
  Texts texts(grammar_for(cat(R"({"minItems":1,"items":false,"prefixItems":[)", prefix, "]}")));
  EXPECT_TRUE(texts.have("[null]"));
  EXPECT_TRUE(texts.have(cat("[", nulls, "]")));
  EXPECT_FALSE(texts.have(cat("[", nulls, ",null]")));
}

TEST(LargeSchemas, HaveThousandsOfProperties) {
  const std::string properties =
      listed(10'000, [](int i) { return cat("\"p", i, R"(":{"type":"null"})"); });
  const Json schema = json_of(cat(R"({"properties":{)", properties, "}}"));
  for (const bool is_open : {false, true}) {
    const SharedGrammar grammar =
        expect_shared(grammar_of_schema(schema, {.open_objects = is_open}));
    ASSERT_NE(grammar, nullptr);
    Texts texts(grammar);
    EXPECT_TRUE(texts.have(R"({"p0":null,"p9999":null})"));
    EXPECT_FALSE(texts.have(R"({"p0":null,"p9999":1})"));
    EXPECT_EQ(texts.have(R"({"p0":null,"q":1})"), is_open);
  }
}

TEST(LargeSchemas, HaveManyItems) {
  Texts texts(grammar_for(R"({"type":"array","items":{"type":"null"},"minItems":100000})"));
  const std::string nulls = listed(100'000, [](int) { return "null"; });
  EXPECT_TRUE(texts.have(cat("[", nulls, "]")));
  EXPECT_FALSE(texts.have("[null]"));
}

// These would take the square of the number of steps, or more.
TEST(LargeSchemas, AreRefusedAfterTooManySteps) {
  const std::string consts = listed(20'000, [](int i) { return cat(R"({"const":)", i, "}"); });
  const std::string named = listed(5000, [](int i) {
    return cat(R"({"properties":{"p)", i, R"(":{}},"required":["p)", i, "\"]}");
  });
  const std::string patterns = listed(5000, [](int i) { return cat("\"^", i, R"($":{})"); });
  const std::string nots = listed(5000, [](int i) { return cat(R"({"not":{"const":)", i, "}}"); });
  for (const std::string& schema :
       {cat(R"({"oneOf":[)", consts, "]}"), cat(R"({"allOf":[)", named, "]}"),
        cat(R"({"allOf":[)", nots, "]}"),
        cat(R"({"properties":{)", listed(5000, [](int i) { return cat("\"", i, "\":{}"); }),
            R"(},"patternProperties":{)", patterns, "}}")}) {
    EXPECT_NE(message_of(schema), "") << schema.substr(0, 40);
  }
}

TEST(LargeSchemas, HaveToolsWhoseReferencesMultiply) {
  const std::string many = listed(100, [](int) { return R"({"$ref":"#/$defs/a"})"; });
  const Json tools = json_of(cat(R"([{"function":{"name":"f","parameters":{"properties":{
      "a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[{"type":"string"},)",
                                 many, "]}}}}}]"));
  EXPECT_TRUE(known_tools(tools).ok());
}

TEST(LargeSchemas, SayWhatIsTooLarge) {
  const auto largest = [](std::string_view schema) {
    return largest_part_of_schema(json_of(schema));
  };
  EXPECT_EQ(largest(R"({"properties":{"a":{"enum":["xxxxxxxxxxxxxxxxxxxxxx",1]}}})"),
            "the JSON schema, at #/properties/a: it is too large, mostly because \"enum\" has 2 "
            "values, which take 28 bytes");
  EXPECT_EQ(largest(R"({"items":{"minItems":1000000000}})"),
            "the JSON schema, at #/items: it is too large, mostly because \"minItems\" is "
            "1000000000");
}

TEST(LargeSchemas, CutWhatMessagesShow) {
  const std::string message = message_of(cat(R"({"type":")", std::string(100'000, 'x'), "\"}"));
  EXPECT_LT(message.size(), 1000u);
  EXPECT_TRUE(message.starts_with("the JSON schema, at #: the type \"xxx")) << message;
  std::string name(100'000, 'x');
  EXPECT_LT(message_of(cat(R"({"properties":{")", name, R"(":{"type":1}}})")).size(), 1000u);
}

TEST(LargeSchemas, AreCancelled) {
  const std::atomic<uint32_t> word = 7;
  const Json schema = json_of(cat(R"({"enum":[)", integers(5000), "]}"));
  const auto cancelled = grammar_of_schema(schema, {.cancellation = {&word, 7}});
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(error_code_name(cancelled.error().code), "cancelled");
  EXPECT_TRUE(grammar_of_schema(schema, {.cancellation = {&word, 8}}).ok());
}

}  // namespace
}  // namespace kinglet
