#include "grammar/grammar.h"

#include <gtest/gtest.h>

#include <string>

#include "base/format.h"
#include "grammar/grammar_support.h"

namespace kinglet {
namespace {

using namespace std::string_literals;

std::string error_of(std::string_view gbnf) {
  const auto grammar = Grammar::parse(gbnf);
  if (grammar.ok()) return "";
  EXPECT_EQ(grammar.error().code, ErrorCode::invalid_grammar);
  return grammar.error().message;
}

void expect_accepts(std::string_view gbnf, const std::vector<std::string>& good,
                    const std::vector<std::string>& bad) {
  const auto grammar = grammar_of(gbnf);
  ASSERT_NE(grammar, nullptr);
  GrammarMatcher matcher(grammar);
  for (const std::string& text : good) {
    EXPECT_TRUE(accepts(matcher, text)) << gbnf << " should accept " << text;
  }
  for (const std::string& text : bad) {
    EXPECT_FALSE(accepts(matcher, text)) << gbnf << " should refuse " << text;
  }
}

TEST(Grammar, MatchesLiteralsWithEscapes) {
  expect_accepts(R"(root ::= "a\n\r\t\\\"\[\]\-\^\x41\u00e9\U0001F600")",
                 {"a\n\r\t\\\"[]-^Aé\U0001F600"}, {"a", "a\n\r\t\\\"[]-^A\xe9\U0001F600"});
  expect_accepts(R"(root ::= "größer")", {"größer"}, {"grosser"});
  expect_accepts("root ::= \"\"", {""}, {"a"});
  expect_accepts(R"(root ::= "\x80")", {"\u0080"}, {"\x80"});  // a character, not a byte
}

TEST(Grammar, MatchesNulLikeAnyCharacter) {
  expect_accepts(R"(root ::= "a\x00b" [\x00-\x01])", {"a\0b\0"s, "a\0b\1"s}, {"a", "a\0b"s, "ab"});
  expect_accepts("root ::= \"a\0b\""s, {"a\0b"s}, {"ab"});
}

TEST(Grammar, MatchesSets) {
  expect_accepts("root ::= [a-cx]", {"a", "b", "c", "x"}, {"", "d", "w", "-", "aa"});
  expect_accepts("root ::= [^a-cx]", {"d", "\n", "é", "\U0010ffff", "\0"s}, {"a", "b", "x", ""});
  expect_accepts("root ::= [-a]", {"-", "a"}, {"b"});
  expect_accepts("root ::= [a-]", {"-", "a"}, {"b"});
  expect_accepts("root ::= [^]", {}, {});
}

TEST(Grammar, MatchesAnyCharacter) {
  expect_accepts("root ::= .", {"a", "\n", "\0"s, "é", "€", "\U0001F600"},
                 {"", "ab", "\x80", "\xed\xa0\x80", "\xc0\x80", "\xf5"});
}

TEST(Grammar, MatchesGroupsAndAlternatives) {
  expect_accepts(R"(root ::= ("a" | "b" ("c" | "d")) "e" | "f" |)", {"ae", "bce", "bde", "f", ""},
                 {"a", "be", "fe", "abce"});
}

TEST(Grammar, MatchesRepetitions) {
  expect_accepts(R"(root ::= "ab"*)", {"", "ab", "abab"}, {"a", "aba"});
  expect_accepts(R"(root ::= "ab"+)", {"ab", "abab"}, {"", "a"});
  expect_accepts(R"(root ::= "ab"?)", {"", "ab"}, {"abab"});
  expect_accepts(R"(root ::= "ab"{2})", {"abab"}, {"", "ab", "ababab"});
  expect_accepts(R"(root ::= "ab"{1,3})", {"ab", "abab", "ababab"}, {"", "abababab"});
  expect_accepts(R"(root ::= "ab"{ 2 , })", {"abab", "ababab"}, {"", "ab"});
  expect_accepts(R"(root ::= "ab"{0,})", {"", "ab", "abab"}, {"a"});
  expect_accepts(R"(root ::= "ab"{0})", {""}, {"ab"});
  expect_accepts(R"(root ::= "ab"{0,0} "c")", {"c"}, {"ab", "abc"});
  expect_accepts(R"(root ::= [ab]{2}{2})", {"abab", "aaaa"}, {"ab", "aba"});
  expect_accepts(R"(root ::= ("a"? "b"*)* "c")", {"c", "ac", "bbabac"}, {"", "cc"});
  expect_accepts(R"(root ::= ""* "a" ("" | "")+)", {"a"}, {"", "aa"});
}

TEST(Grammar, CountsLongRepetitions) {
  const auto grammar = grammar_of("root ::= [^x]{500,20000}");
  ASSERT_NE(grammar, nullptr);
  GrammarMatcher matcher(grammar);
  EXPECT_FALSE(accepts(matcher, std::string(499, 'a')));
  EXPECT_TRUE(accepts(matcher, std::string(500, 'a')));
  EXPECT_TRUE(accepts(matcher, std::string(20000, 'a')));
  EXPECT_FALSE(may_begin(matcher, std::string(20001, 'a')));
}

TEST(Grammar, FollowsReferences) {
  expect_accepts(
      "root ::= item (\", \" item)*\nitem ::= name-1 | a_B2\nname-1 ::= \"x\"\n"
      "a_B2 ::= \"(\" root \")\"",
      {"x", "x, x", "(x, (x))"}, {"", "(x", "x,x"});
}

TEST(Grammar, ReadsCommentsAndLines) {
  expect_accepts(
      "# a comment\r\n\r\nroot ::= # another\r\n  \"a\" # after\r\n\r\nb ::= (\n\"c\" # in"
      "\n|\n\"d\")\n# last",
      {"a"}, {"b"});
  expect_accepts("root ::= \"a\" |\n  \"b\" \"#\"", {"a", "b#"}, {"b"});
}

TEST(Grammar, MatchesJson) {
  expect_accepts(
      kJsonGrammar,
      {"{}", "[]", "1", "-0.5e+10", R"({"a": [1, {"b": null}], "c": "\u00e9\n ü"})", " true ",
       "[[[[]]]]"},
      {"", "{", "{]", "01", "1.", "{\"a\" 1}", "[1,]", "\"\n\"", R"("\x")", "truefalse"});
}

// Right recursion does not grow the stack, other recursion does.
TEST(Grammar, MatchesDeepRecursion) {
  GrammarMatcher list(grammar_of("root ::= \"a\" root | \"\""));
  EXPECT_TRUE(accepts(list, std::string(100000, 'a')));
  GrammarMatcher nest(grammar_of("root ::= \"[\" root \"]\" | \"\""));
  std::string text = std::string(30000, '[') + std::string(30000, ']');
  EXPECT_TRUE(accepts(nest, text));
  EXPECT_FALSE(accepts(nest, text + "]"));
}

TEST(Grammar, SaysWhereTheTextIsWrong) {
  EXPECT_EQ(error_of("root = \"a\""),
            "line 1, column 6 of the grammar: found \"=\", expected \"::=\"");
  EXPECT_EQ(error_of("root ::= \"a\"\n\n  ::= \"b\""),
            "line 3, column 3 of the grammar: found \":\", expected the name of a rule");
  EXPECT_EQ(error_of("root ::= \"é\" ]"),
            "line 1, column 14 of the grammar: found \"]\", expected a symbol, \"|\" or the end of "
            "the rule");
  EXPECT_EQ(error_of("root ::= (\"a\"\n\"b\""),
            "line 1, column 10 of the grammar: this group has no closing parenthesis");
  EXPECT_EQ(error_of("root ::= \"a\")"),
            "line 1, column 13 of the grammar: found \")\", expected a symbol, \"|\" or the end of "
            "the line");
  EXPECT_EQ(error_of("root ::= \"abc"),
            "line 1, column 10 of the grammar: this literal has no closing quotation mark");
  EXPECT_EQ(error_of("root ::= [abc"),
            "line 1, column 10 of the grammar: this set of characters has no closing bracket");
  EXPECT_EQ(error_of("root ::= [a-"),
            "line 1, column 10 of the grammar: this set of characters has no closing bracket");
  EXPECT_EQ(error_of("root ::= [z-a]"),
            "line 1, column 11 of the grammar: this range ends before it begins");
  EXPECT_EQ(error_of("root ::= []"),
            "line 1, column 10 of the grammar: this set of characters is empty");
  EXPECT_EQ(error_of("root ::= [^\\x00-\\U0010ffff]"),
            "line 1, column 10 of the grammar: this set of characters is empty");
  EXPECT_EQ(error_of("root ::= *"),
            "line 1, column 10 of the grammar: found \"*\", expected a symbol to repeat");
  EXPECT_EQ(error_of("root ::= \"a\"{3,2}"),
            "line 1, column 13 of the grammar: the least number of repetitions, 3, is larger "
            "than the most, 2");
  EXPECT_EQ(error_of("root ::= \"a\"{x}"),
            "line 1, column 14 of the grammar: found \"x\", expected a number");
  EXPECT_EQ(error_of("root ::= \"a\"{1;"),
            "line 1, column 15 of the grammar: found \";\", expected \"}\"");
  EXPECT_EQ(error_of("root ::= <think>"),
            "line 1, column 10 of the grammar: a token must be given by its id (\"<[7]>\") or "
            "as text");
  EXPECT_EQ(error_of("root ::= <[x]>"),
            "line 1, column 12 of the grammar: found \"x\", expected the id of a token");
  EXPECT_EQ(error_of("root ::= <[7>"),
            "line 1, column 13 of the grammar: found \">\", expected \"]>\"");
  EXPECT_EQ(error_of("root ::= <[2147483648]>"),
            "line 1, column 10 of the grammar: token id 2147483648 is out of range (vocabulary: "
            "2147483647)");
}

TEST(Grammar, SaysWhichEscapeIsWrong) {
  EXPECT_EQ(error_of("root ::= \"\\q\""),
            "line 1, column 12 of the grammar: found \"q\", expected one of the escapes n r t \\ "
            "\" [ ] - ^ x u U");
  EXPECT_EQ(error_of("root ::= \"\\x4\""),
            "line 1, column 11 of the grammar: \\x needs 2 hexadecimal digits");
  EXPECT_EQ(error_of("root ::= \"\\u00e"),
            "line 1, column 11 of the grammar: \\u needs 4 hexadecimal digits");
  for (const char* escape : {"\\ud800", "\\udfff", "\\U00110000", "\\Uffffffff"}) {
    EXPECT_EQ(error_of(cat("root ::= \"", escape, "\"")),
              "line 1, column 11 of the grammar: this is not a Unicode code point");
  }
  EXPECT_EQ(error_of("root ::= \"\xff\""),
            "line 1, column 11 of the grammar: the text is not UTF-8 here");
}

TEST(Grammar, SaysWhichRuleIsMissingOrThereTwice) {
  EXPECT_EQ(error_of("start ::= \"a\""),
            "line 1, column 14 of the grammar: rule \"root\" is not defined");
  EXPECT_EQ(error_of(""), "line 1, column 1 of the grammar: rule \"root\" is not defined");
  EXPECT_EQ(error_of("root ::= \"a\" b"),
            "line 1, column 14 of the grammar: rule \"b\" is not defined");
  EXPECT_EQ(error_of("root ::= \"a\"\nroot ::= \"b\""),
            "line 2, column 1 of the grammar: rule \"root\" is defined twice");
}

TEST(Grammar, RefusesLeftRecursion) {
  const std::string why = " begins with itself: left recursion is not supported";
  EXPECT_EQ(error_of("root ::= root \"a\" | \"b\""),
            "line 1, column 1 of the grammar: rule \"root\"" + why);
  EXPECT_EQ(error_of("root ::= a\na ::= b \"x\" | \"y\"\nb ::= \"\" ws a\nws ::= \" \"*"),
            "line 2, column 1 of the grammar: rule \"a\"" + why);
  EXPECT_EQ(error_of("root ::= (\"x\"? root){3} | \"y\""),
            "line 1, column 1 of the grammar: rule \"root\"" + why);
  EXPECT_EQ(error_of("root ::= \"a\"\nunused ::= unused | \"b\""),
            "line 2, column 1 of the grammar: rule \"unused\"" + why);
}

TEST(Grammar, RefusesRulesThatNeverEnd) {
  EXPECT_EQ(error_of("root ::= \"a\" b\nb ::= \"c\" b | \"d\" root"),
            "line 1, column 1 of the grammar: rule \"root\" never ends: each of its alternatives "
            "contains the rule itself");
}

TEST(Grammar, BoundsItsSize) {
  EXPECT_EQ(error_of("root ::= \"a\"{2000000}"),
            "line 1, column 14 of the grammar: more than 1048576 repetitions are not supported");
  EXPECT_EQ(error_of("root ::= \"a\"{99999999999999999999}"),
            "line 1, column 14 of the grammar: more than 1048576 repetitions are not supported");
  EXPECT_EQ(error_of("root ::= (\"a\"{1000} \"b\"){400000} [ab]{700000}"),
            "line 1, column 46 of the grammar: the grammar is too large: up to here it has more "
            "than 1048576 steps");
  EXPECT_EQ(error_of("root ::= \"" + std::string(2'000'000, 'a')),
            "line 1, column 1048586 of the grammar: the grammar is too large: up to here it has "
            "more than 1048576 steps");
  EXPECT_EQ(error_of("root ::= " + std::string(101, '(')),
            "line 1, column 110 of the grammar: groups are nested more than 100 deep");
  EXPECT_EQ(error_of("root ::= " + std::string(100, '(') + "\"a\"" + std::string(100, ')')), "");
}

// A text that is cut anywhere, or has a changed byte, is refused with a message or has another
// meaning.
TEST(Grammar, SurvivesDamagedTexts) {
  for (size_t i = 0; i < kJsonGrammar.size(); ++i) {
    (void)Grammar::parse(kJsonGrammar.substr(0, i));
    for (const char byte : {'\0', '"', '(', ']', '*', '{', '\\', '\xff', '\n', 'r'}) {
      std::string damaged(kJsonGrammar);
      damaged[i] = byte;
      if (const auto grammar = Grammar::parse(damaged); !grammar.ok()) {
        EXPECT_EQ(grammar.error().code, ErrorCode::invalid_grammar);
      }
    }
  }
}

}  // namespace
}  // namespace kinglet
