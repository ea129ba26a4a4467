#include "text/pretokenizer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

#include "base/format.h"
#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

const char* const kNames[] = {
    "default", "gpt-2",        "starcoder",      "falcon",      "llama-bpe", "qwen2",
    "qwen35",  "gpt-4o",       "tekken",         "deepseek-v3", "minicpm5",  "tiny_aya",
    "youtu",   "deepseek-llm", "deepseek-coder", "spark2_5",    "kimi-k2",   "seed-coder",
    "laguna",  "ufakzeka",     "k2-horizon"};

// The words of `text`, with bars between them.
std::string words(std::string_view name, std::string_view text) {
  const Pretokenizer* pretokenizer = find_pretokenizer(name);
  if (pretokenizer == nullptr) return "no such pre-tokenizer";
  std::string out;
  for (const uint32_t n_bytes : split_words(*pretokenizer, text)) {
    out += cat(out.empty() ? "" : "|", text.substr(0, n_bytes));
    text.remove_prefix(n_bytes);
  }
  EXPECT_EQ(text, "") << "words must make up the text";
  return out;
}

TEST(Pretokenizer, Gpt2KeepsASpaceWithTheWordBehindIt) {
  EXPECT_EQ(words("gpt-2", "Hello world, it's 2024!!  ok"), "Hello| world|,| it|'s| 2024|!!| | ok");
  EXPECT_EQ(words("gpt-2", "I'LL we'll they've'x"), "I|'|LL| we|'ll| they|'ve|'|x");
  EXPECT_EQ(words("gpt-2", "a\n\n b\t c  "), "a|\n\n| b|\t| c|  ");
  EXPECT_EQ(words("gpt-2", "naïve 中文 ³²x"), "naïve| 中文| ³²|x");
  EXPECT_EQ(words("gpt-2", "a\u0301b"), "a|\u0301|b") << "a mark is neither letter nor number";
}

TEST(Pretokenizer, StarcoderTakesEveryDigitByItself) {
  EXPECT_EQ(words("starcoder", "in 2024 x42y"), "in| |2|0|2|4| x|4|2|y");
  EXPECT_EQ(words("smollm", "a 1\n"), "a| |1|\n");
}

TEST(Pretokenizer, DefaultCutsPunctuationFirstAndNumbersIntoThrees) {
  EXPECT_EQ(words("default", "a, b+c 12345 x"), "a|,| b|+|c| |123|45| x");
  EXPECT_EQ(words("default", "it's"), "it|'|s");
}

TEST(Pretokenizer, FalconCutsPunctuationFirstAndThreeDigitsOff) {
  EXPECT_EQ(words("falcon", "a`b 12345x6"), "a|`|b| |123|45|x|6");
}

TEST(Pretokenizer, Llama3TakesThreeDigitsAndAnySignInFrontOfLetters) {
  EXPECT_EQ(words("llama-bpe", "Hello (world) 12345"), "Hello| (|world|)| |123|45");
  EXPECT_EQ(words("llama-bpe", "a.b_c\tdef"), "a|.b|_c|\tdef");
  EXPECT_EQ(words("llama-bpe", "I'LL It'S"), "I|'LL| It|'S");
  EXPECT_EQ(words("llama-bpe", "x;\n\n  y \n z"), "x|;\n\n| | y| \n| z");
  EXPECT_EQ(words("llama-bpe", "  \n \r\n   end"), "  \n \r\n|  | end");
}

TEST(Pretokenizer, Qwen2TakesEveryDigitByItself) {
  EXPECT_EQ(words("qwen2", "Hello (world) 123's"), "Hello| (|world|)| |1|2|3|'s");
}

TEST(Pretokenizer, Qwen35CountsMarksAmongLetters) {
  EXPECT_EQ(words("qwen35", "Hello (world) 123's"), "Hello| (|world|)| |1|2|3|'s");
  EXPECT_EQ(words("qwen35", "e\u0301a \u0301 \u0301x"), "e\u0301a| \u0301| \u0301x");
  EXPECT_EQ(words("qwen35", "12\u0301\u03013"), "1|2|\u0301\u0301|3");
  EXPECT_EQ(words("qwen35", "a\u0301\u0301b!\u0301?"), "a\u0301\u0301b|!\u0301|?");
  EXPECT_EQ(words("qwen35", "नमस्ते दुनिया!"), "नमस्ते| दुनिया|!");
  EXPECT_EQ(words("qwen35", "  \u0301\n\u0301 .\u0301"), " | \u0301|\n|\u0301| .|\u0301");
  EXPECT_EQ(words("qwen35", "x.\u0301"), "x|.\u0301");
}

TEST(Pretokenizer, Gpt4oBeginsAWordAtACapitalAndKeepsContractions) {
  EXPECT_EQ(words("gpt-4o", "camelCase HTTPServer isn't IT'S"),
            "camel|Case| HTTPServer| isn't| IT'S");
  EXPECT_EQ(words("gpt-4o", "12345 a/b//\n c"), "123|45| a|/b|//\n| c");
  EXPECT_EQ(words("gpt-4o", "中文Abc ABC中 e\u0301A"), "中文Abc| ABC中| e\u0301|A");
}

// The long s is the only character beyond ASCII that is a contraction's letter in another case.
TEST(Pretokenizer, TheLongSIsAnSWhereCaseDoesNotCount) {
  for (const char* name : {"llama-bpe", "qwen2"}) {
    EXPECT_EQ(words(name, " I'ſ it'ſt 'ſ"), " I|'ſ| it|'ſ|t| '|ſ") << name;
  }
  EXPECT_EQ(words("gpt-4o", " I'ſ it'ſt"), " I'ſ| it'ſ|t");
  EXPECT_EQ(words("gpt-2", " I'ſ"), " I|'|ſ");
  EXPECT_EQ(words("tekken", " I'ſ"), " I|'ſ");
}

TEST(Pretokenizer, TekkenKnowsNoContractions) {
  EXPECT_EQ(words("tekken", "isn't 123 camelCase"), "isn|'t| |1|2|3| camel|Case");
}

TEST(Pretokenizer, DeepSeekCoderCutsLinesLettersPunctuationAndDigits) {
  EXPECT_EQ(words("deepseek-coder", "if (x1)\n\n  y"), "if| (|x|1|)|\n|\n| | y");
  EXPECT_EQ(words("deepseek-coder", "中文あ가나 $5"), "中文あ가나| $|5");
}

TEST(Pretokenizer, DeepSeekLlmCutsScriptsApart) {
  EXPECT_EQ(words("deepseek-llm", "Hi there, 12345 中文 x  "), "Hi| there|,| |12345| |中文| x|  ");
  EXPECT_EQ(words("deepseek-llm", "a\r\nb«"), "a|\r|\n|b|«");
}

TEST(Pretokenizer, DeepSeekV3TakesASignWithAsciiLettersBehindIt) {
  EXPECT_EQ(words("deepseek-v3", "Hello (world) it's 12345"), "Hello| (|world|)| it|'s| |123|45");
  EXPECT_EQ(words("deepseek-v3", "$abc $\u00e9 _x"), "$abc| $|\u00e9| _|x");
  EXPECT_EQ(words("deepseek-v3", "e\u0301a\u0301 \u0301x"), "e\u0301a\u0301| \u0301x");
  EXPECT_EQ(words("deepseek-v3", "\u6211\u60f3apple\u3042\u30a2\ud55c"),
            "\u6211\u60f3|apple|\u3042\u30a2|\ud55c");
  EXPECT_EQ(words("deepseek-v3", "x;\n\n  y \n z"), "x|;\n\n| | y| \n| z");
  EXPECT_EQ(words("deepseek-v3", "  1  "), "  |1|  ") << "numbers are cut off first";
}

// Control characters that are not before a letter, and are not signs.
TEST(Pretokenizer, WhatNoAlternativeMatchesStaysTogether) {
  EXPECT_EQ(words("deepseek-v3", "a\x01\x02!\x03"), "a|\x01\x02|!|\x03");
  EXPECT_EQ(words("deepseek-v3", "\x01z \x02\n"), "\x01z| |\x02|\n");
  EXPECT_EQ(words("spark2_5", "\x01\x02"), "\x01\x02");
}

TEST(Pretokenizer, Spark25TakesEveryNewlineAndDigitByItself) {
  EXPECT_EQ(words("spark2_5", "a;\n\n  b 123 \n"), "a|;|\n|\n| | b| |1|2|3| \n");
}

TEST(Pretokenizer, MiniCpm5CutsNumbersOffFirst) {
  EXPECT_EQ(words("minicpm5", "I'LL  12345 (x)"), "I|'LL|  |123|45| (|x|)");
}

TEST(Pretokenizer, SeedCoderKeepsNewlinesFromSigns) {
  EXPECT_EQ(words("seed-coder", "f(1);\n\n g's"), "f|(|1|);|\n\n| g|'s");
}

TEST(Pretokenizer, TinyAyaGroupsNumbersFromTheirEnd) {
  EXPECT_EQ(words("tiny_aya", "1234567 12345 123"), "1|234|567| |12|345| |123");
  EXPECT_EQ(words("tiny_aya", "it's isN'T e\u0301a/b//\n c"), "it's| isN'T| e\u0301a|/b|//\n| c");
  EXPECT_EQ(words("tiny_aya", "a  1234!!\u0301"), "a| | |1|234|!!\u0301");
}

TEST(Pretokenizer, YoutuCutsScriptsApart) {
  EXPECT_EQ(words("youtu", "\ud55c\u6f22\u3042\u3105a\uff01\u2026b 12"),
            "\ud55c|\u6f22\u3042|\u3105|a|\uff01\u2026|b| |1|2");
  EXPECT_EQ(words("youtu", "it's x"), "it's| x");
}

TEST(Pretokenizer, KimiKeepsChineseCharactersFromOtherLetters) {
  EXPECT_EQ(words("kimi-k2", "abc\u4e2d\u6587d \u4e2d (\u4e2d x's"),
            "abc|\u4e2d\u6587|d| |\u4e2d| (|\u4e2d| x's");
  EXPECT_EQ(words("kimi-k2", "\u3042\u4e2d12345"), "\u3042|\u4e2d|123|45");
}

TEST(Pretokenizer, K2HorizonTakesMarksAndJoinersAsLetters) {
  EXPECT_EQ(words("k2-horizon", "a\u0301b c\u200cd \u200d\u0301x"),
            "a\u0301b| c\u200cd| \u200d\u0301x");
  EXPECT_EQ(words("k2-horizon", "I'M 1234 A!\n\n  (b)"), "I|'M| |123|4| A|!\n\n| | (|b|)");
  EXPECT_EQ(words("k2-horizon", "\u0301 1\u0301 \u20ac\u0301\u0301"),
            "\u0301| |1|\u0301| \u20ac\u0301\u0301");
  EXPECT_EQ(words("k2-horizon", "I'\u017f"), "I|'\u017f");
}

TEST(Pretokenizer, LagunaCutsLinesFirstAndUfakzekaKnowsNoContractions) {
  EXPECT_EQ(words("laguna", "a;\n  \nb"), "a|;|\n|  |\n|b");
  EXPECT_EQ(words("ufakzeka", "Ankara'da 12"), "Ankara|'da| |1|2");
}

TEST(Pretokenizer, EveryNameOfAFileHasItsPattern) {
  for (const char* name : {"gpt-2", "phi-2", "olmo", "mpt", "jais", "mellum", "gigachat", "exaone4",
                           "trillion", "granite-docling", "a.x-4.0", "modern-bert"}) {
    EXPECT_EQ(words(name, "I'm 12 A!"), "I|'m| 12| A|!") << name;
  }
  for (const char* name : {"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone",
                           "mellum2", "minerva-7b"}) {
    EXPECT_EQ(words(name, "I'm 12 A!"), "I|'m| |1|2| A|!") << name;
  }
  for (const char* name :
       {"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "lfm2", "dbrx",
        "smaug-bpe", "glm4", "chatglm-bpe", "midm-2.0", "jina-v5-nano"}) {
    EXPECT_EQ(words(name, "I'M 1234 A!"), "I|'M| |123|4| A|!") << name;
  }
  for (const char* name :
       {"qwen2", "stablelm2", "deepseek-r1-qwen", "megrez", "hunyuan", "grok-2", "kormo", "f2llmv2",
        "solar-open", "bailingmoe", "bailingmoe2", "llada-moe"}) {
    EXPECT_EQ(words(name, "I'M 12 A!"), "I|'M| |1|2| A|!") << name;
  }
  for (const char* name :
       {"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2", "granite-embed-multi-97m"}) {
    EXPECT_EQ(words(name, "I'm 1234 aA!"), "I'm| |123|4| a|A|!") << name;
  }
  for (const char* name : {"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"}) {
    EXPECT_EQ(words(name, "I'm 1234 $A!"), "I|'m| |123|4| $|A|!") << name;
  }
  for (const char* name : {"tiny_aya", "cohere2moe"}) {
    EXPECT_EQ(words(name, "I'm 1234 aA!"), "I'm| |1|234| aA|!") << name;
  }
}

TEST(Pretokenizer, OnlyThoseWhoseFilesRelyOnItAddBosOrPreferWholeWords) {
  for (const char* name : {"llama-bpe", "llama3", "tekken"}) {
    EXPECT_TRUE(find_pretokenizer(name)->add_bos) << name;
    EXPECT_TRUE(find_pretokenizer(name)->prefers_whole_words) << name;
  }
  for (const char* name : {"minicpm5", "youtu", "granite-embed-multi-97m"}) {
    EXPECT_FALSE(find_pretokenizer(name)->add_bos) << name;
    EXPECT_TRUE(find_pretokenizer(name)->prefers_whole_words) << name;
  }
  for (const char* name : {"gpt-2", "qwen2", "dbrx", "smollm", "gpt-4o", "default", "deepseek-v3",
                           "tiny_aya", "kimi-k2", "k2-horizon"}) {
    EXPECT_FALSE(find_pretokenizer(name)->add_bos) << name;
    EXPECT_FALSE(find_pretokenizer(name)->prefers_whole_words) << name;
  }
}

TEST(Pretokenizer, OthersAreUnknown) {
  for (const char* name : {"", "gpt2", "GPT-2", "bloom", "qwen"}) {
    EXPECT_EQ(find_pretokenizer(name), nullptr) << name;
  }
}

TEST(Pretokenizer, WordsMakeUpEveryText) {
  std::mt19937 random(11);
  for (const char* name : kNames) {
    for (const std::string& text : awkward_texts()) words(name, text);
    for (const std::string& text : ill_formed_texts()) words(name, text);
    for (int round = 0; round < 100; ++round) words(name, random_bytes(random, random() % 60));
    EXPECT_TRUE(split_words(*find_pretokenizer(name), "").empty());
    for (const uint32_t n : split_words(*find_pretokenizer(name), " a\xff\n'")) EXPECT_GT(n, 0u);
  }
}

// A matcher that looks ahead again from every character would take minutes for these texts.
TEST(Pretokenizer, TakesLongTextsOfAnythingInItsStride) {
  constexpr size_t kBytes = 1 << 18;
  std::string newlines_and_spaces;
  std::string capitals = "中";
  while (newlines_and_spaces.size() < kBytes) newlines_and_spaces += "\n   ";
  capitals.append(kBytes, 'A');
  std::string spaces_and_letter(kBytes, ' ');
  spaces_and_letter += 'x';
  for (const char* name : kNames) {
    for (const std::string& text :
         {std::string(kBytes, 'a'), std::string(kBytes, 'A'), std::string(kBytes, ' '),
          std::string(kBytes, '\n'), std::string(kBytes, '7'), std::string(kBytes, '!'),
          std::string(kBytes, '\''), std::string(kBytes, '\xff'), spaces_and_letter,
          newlines_and_spaces, capitals}) {
      const auto start = std::chrono::steady_clock::now();
      EXPECT_FALSE(split_words(*find_pretokenizer(name), text).empty());
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      EXPECT_LT(seconds.count(), 10) << name << " of " << text.substr(0, 8);
    }
  }
}

}  // namespace
}  // namespace kinglet
