#include "schema/pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/format.h"
#include "schema/schema_case.h"
#include "schema/unicode_property.h"

namespace kinglet {
namespace {

using schema::characters_with;
using schema::parse_pattern;

std::string pattern_refusal(std::string_view pattern) {
  const auto parsed = parse_pattern(pattern);
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(SchemaPattern, TakesRegularExpressions) {
  for (const char* pattern : {"",
                              "a|",
                              "(?:)",
                              "(a)(?<n>b)(?<_m1>c)",
                              "a{2}b{2,}c{2,3}?d*?e+?f??",
                              "[]",
                              "[^]",
                              "[a-]",
                              "[-a]",
                              "[a-z-9]",
                              "[\\b\\-\\]\\^]",
                              "[[(*]",
                              "\\0",
                              "[\\0]",
                              "\\cA",
                              "\\x41\\u0041",
                              "\\u{1F600}",
                              "\\u{0000041}",
                              "\\ud83d\\ude00",
                              "\\ud83d",
                              "\\^\\$\\\\\\.\\*\\+\\?\\/",
                              "\\p{L}\\P{Lu}[\\p{Nd}]",
                              "\\@\\\"\\-\\ \\_",
                              "\\€",
                              "é\\t\\n\\v\\f\\r",
                              "(?=a)(?!b)",
                              "[\\w-]",
                              "-"}) {
    EXPECT_EQ(pattern_refusal(pattern), "") << pattern;
  }
}

TEST(SchemaPattern, RefusesWhatIsNoRegularExpression) {
  for (const char* pattern :
       {"(",       ")",     "(?",          "(?a)",    "*",       "a**",
        "a{2",     "a{,3}", "a{3,2}",      "{1}",     "}",       "]",
        "[",       "[a",    "[z-a]",       "[\\d-z]", "[a-\\d]", "\\",
        "\\Z",     "\\é",   "\\01",        "\\c",     "\\c1",    "\\x4",
        "\\u004",  "\\u{}", "\\u{110000}", "\\u{4",   "[\\B]",   "[\\k]",
        "[\\1]",   "\\1",   "(a)\\2",      "\\k",     "\\k<n>",  "(?<n>a)(?<n>b)",
        "(?<1>a)", "(?<n",  "^*",          "(?=a)*",  "\\b+",    "(?<=a)*",
        "\\p",     "\\p{",  "\\p{0,6}",    "(?ii:a)", "(?-:a)"}) {
    EXPECT_EQ(pattern_refusal(pattern), "it is not a valid regular expression") << pattern;
  }
}

TEST(SchemaPattern, RefusesByNameWhatIsNotSupported) {
  struct Case {
    const char* pattern;
    const char* reason;
  };
  for (const auto& [pattern, reason] : {
           Case{"(?<!a)", "it uses lookbehind"},
           Case{"a(?<=b)\\b", "it uses lookbehind"},
           Case{"\\bword", "it uses a word boundary (\\b or \\B)"},
           Case{"\\B", "it uses a word boundary (\\b or \\B)"},
           Case{"(a)\\1", "it refers back to a group (backreference)"},
           Case{"\\k<n>(?<n>a)", "it refers back to a group (backreference)"},
           Case{"(?i:a)", "it sets flags, as (?i:…) does"},
           Case{"(?i-ms:a)", "it sets flags, as (?i:…) does"},
           Case{"\\p{Script=Latin}", "the Unicode property \"Script=Latin\" is not known"},
       }) {
    EXPECT_EQ(pattern_refusal(pattern), reason) << pattern;
  }
  EXPECT_EQ(pattern_refusal("\\b("), "it is not a valid regular expression");
  const std::string deep(20'000, '(');
  EXPECT_EQ(pattern_refusal(deep), "its groups are nested more than 100 deep");
}

TEST(SchemaPattern, SaysWhichPatternsAreTooMuch) {
  struct Case {
    const char* schema;
    const char* reason;
  };
  for (const auto& [schema, reason] : {
           Case{R"({"pattern":"(?:(?=a).)*"})",
                "the pattern \"(?:(?=a).)*\" is not supported: it uses lookahead in a part that is "
                "repeated more than 50 times"},
           Case{R"({"pattern":"a?^b"})",
                "the pattern \"a?^b\" is not supported: \"^\" is in a place that may or may not be "
                "the beginning"},
           Case{R"({"pattern":"[]"})",
                "the pattern \"[]\" is not supported: a part of it matches no character"},
           Case{R"({"pattern":"^(?:\\S+\\s+){0,29}\\S+$","maxLength":300})",
                "this combination of limits on a string is not supported: its automaton would be "
                "too large"},
       }) {
    const auto grammar = grammar_of_schema(json_of(schema), kOpen);
    ASSERT_FALSE(grammar.ok());
    EXPECT_EQ(grammar.error().message, cat("the JSON schema, at #: ", reason));
  }
}

// Each of these would take long, or much stack, without a limit.
TEST(SchemaPattern, LimitsTheWork) {
  const auto repeated = [](std::string_view text, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += text;
    return all;
  };
  const std::string copies = cat(repeated("(?:", 8), "$", repeated("){50}", 8));
  for (const std::string& pattern :
       {copies, cat("^", repeated("a?", 30'000), "$"), cat("^", repeated("(?=a)b?", 3000), "$"),
        repeated("(a?){30}a{30}", 30)}) {
    const Json schema{{"pattern", pattern}, {"maxLength", 2000}};
    const auto grammar = grammar_of_schema(schema, kOpen);
    const bool is_refused =
        !grammar.ok() && grammar.error().message.ends_with("its automaton would be too large");
    EXPECT_TRUE(grammar.ok() || is_refused);
  }
}

TEST(SchemaPattern, KnowsPropertiesOfCharacters) {
  struct Case {
    const char* property;
    char32_t inside;
    char32_t outside;
  };
  for (const auto& [property, inside, outside] : {
           Case{"L", U'é', U'1'},
           Case{"Letter", U'中', U'_'},
           Case{"gc=Lu", U'Ω', U'ω'},
           Case{"General_Category=Lowercase_Letter", U'ß', U'S'},
           Case{"Lt", U'ǅ', U'Ǆ'},
           Case{"Mn", U'\u0301', U'\u0903'},
           Case{"Nd", U'٣', U'²'},
           Case{"punct", U'!', U'+'},
           Case{"Zs", U' ', U'\t'},
           Case{"Cc", U'\t', U'\u00ad'},
           Case{"Cn", U'\u0378', char32_t{0xd800}},
           Case{"Cs", char32_t{0xdfff}, U'\ue000'},
           Case{"Any", U'\0', char32_t{0x110000}},
           Case{"Assigned", char32_t{0xd800}, U'\u0378'},
           Case{"ASCII", U'\x7f', U'\x80'},
           Case{"AHex", U'f', U'g'},
           Case{"Alphabetic", U'Ⅷ', U'\u0301'},
           Case{"Upper", U'Ⓐ', U'a'},
           Case{"Lowercase", U'ª', U'A'},
           Case{"White_Space", U'\x85', U'\u200b'},
           Case{"Emoji", U'5', U'a'},
           Case{"Emoji_Presentation", U'🐝', U'5'},
           Case{"Emoji_Modifier", U'🏽', U'👍'},
           Case{"Emoji_Modifier_Base", U'👍', U'🐝'},
           Case{"Emoji_Component", U'\u200d', U'🐝'},
           Case{"Extended_Pictographic", U'🐝', U'5'},
           Case{"RI", U'🇩', U'D'},
       }) {
    const auto set = characters_with(property);
    ASSERT_TRUE(set) << property;
    EXPECT_TRUE(contains(*set, inside)) << property;
    EXPECT_FALSE(contains(*set, outside)) << property;
  }
  EXPECT_FALSE(characters_with("letter"));
  EXPECT_FALSE(characters_with(""));
}

}  // namespace
}  // namespace kinglet
