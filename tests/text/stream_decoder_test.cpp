#include <gtest/gtest.h>

#include <string>

#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

// The vocabulary has a token for every byte, so the decoder gets each byte by itself.
class StreamDecoderTest : public testing::Test {
 protected:
  const std::unique_ptr<Tokenizer> tokenizer_ = spm_tokenizer({{"▁", -1}, {"▁a", -1}});

  // The text that the decoder returns for each byte of `bytes`, and then for finish(), in brackets.
  std::string steps(std::string_view bytes) {
    StreamDecoder decoder(*tokenizer_);
    std::string out;
    for (const char c : bytes) {
      out += cat("[", decoder.next(byte_id(static_cast<unsigned char>(c))), "]");
    }
    return out + cat("[", decoder.finish(), "]");
  }
};

TEST_F(StreamDecoderTest, HoldsACharacterBackUntilItIsWhole) {
  EXPECT_EQ(steps("a"), "[a][]");
  EXPECT_EQ(steps("é"), "[][é][]");
  EXPECT_EQ(steps("€!"), "[][][€][!][]");
  EXPECT_EQ(steps("😀"), "[][][][😀][]");
}

TEST_F(StreamDecoderTest, ReplacesMaximalSubpartsAsSoonAsTheyAreCertain) {
  EXPECT_EQ(steps("\xff"), "[�][]");
  EXPECT_EQ(steps("\xe2\x82z"), "[][][�z][]");
  EXPECT_EQ(steps("\xf0\x9f\xf0\x9f\x98\x80"), "[][][�][][][😀][]");
  EXPECT_EQ(steps("\xed\xa0\x80"), "[][��][�][]");
}

TEST_F(StreamDecoderTest, FinishReplacesAnUnfinishedCharacterOnce) {
  EXPECT_EQ(steps("a\xf0\x9f\x98"), "[a][][][][�]");
  StreamDecoder decoder(*tokenizer_);
  decoder.next(byte_id(0xf0));
  EXPECT_EQ(decoder.finish(), "\ufffd");
  EXPECT_EQ(decoder.finish(), "");
  EXPECT_EQ(decoder.next(byte_id('b')), "b");
}

TEST_F(StreamDecoderTest, ReplacesWhatAWebBrowserReplaces) {
  // The example in the Unicode Standard, table 3-11.
  EXPECT_EQ(steps("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"), "[][][�][�][][][�][][�A][]");
}

TEST_F(StreamDecoderTest, DropsTheSpacePrefixOnlyWhereATextBegins) {
  const TokenId a = kFirstExtra + 1;
  StreamDecoder from_start(*tokenizer_, true);
  EXPECT_EQ(from_start.next(tokenizer_->bos()), "");
  EXPECT_EQ(from_start.next(a), "a");
  EXPECT_EQ(from_start.next(a), " a");
  StreamDecoder continuing(*tokenizer_);
  EXPECT_EQ(continuing.next(a), " a");
}

TEST_F(StreamDecoderTest, AnIdOutsideTheVocabularyHasNoText) {
  StreamDecoder decoder(*tokenizer_);
  EXPECT_EQ(decoder.next(-1), "");
  EXPECT_EQ(decoder.next(tokenizer_->n_tokens()), "");
  EXPECT_EQ(decoder.next(byte_id('a')), "a");
}

TEST(StreamDecoder, JoinsToTheTextThatDecodeGives) {
  const auto tokenizer = load_tokenizer(embedded_model_path());
  ASSERT_NE(tokenizer, nullptr);
  for (const std::string& text : awkward_texts()) {
    StreamDecoder decoder(*tokenizer, true);
    std::string joined;
    for (const TokenId id : tokenizer->encode(text)) {
      const std::string part = decoder.next(id);
      for (const char c : part.substr(0, 1)) EXPECT_NE(c & 0xc0, 0x80) << "half a character";
      joined += part;
    }
    EXPECT_EQ(decoder.finish(), "");
    EXPECT_EQ(joined, with_spaces(text));
  }
}

TEST_F(StreamDecoderTest, TellsTheControlTokensThatAreMarks) {
  StreamDecoder plain(*tokenizer_);
  EXPECT_EQ(plain.next(tokenizer_->bos()), "");
  StreamDecoder marked(*tokenizer_, false, {"<s>"});
  EXPECT_EQ(marked.next(tokenizer_->bos()), "<s>");
  EXPECT_EQ(marked.next(tokenizer_->eos()), "");
}

}  // namespace
}  // namespace kinglet
