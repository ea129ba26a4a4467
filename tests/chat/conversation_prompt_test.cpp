// Prompts of conversations, with pictures and in small contexts.
#include "chat/conversation_prompt.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "text/test_tokenizers.h"

namespace kinglet {
namespace {

constexpr std::string_view kMark = "<picture>";

Json message(std::string_view role, std::string_view content) {
  return {{"role", role}, {"content", content}};
}

// A template: each message after a letter for its role. The letter of an answer ends it.
Result<ChatText> lay_out(const Json& list) {
  ChatText chat;
  for (const Json& each : list.as_array()) {
    chat.text += each["role"].as_string()[0];
    const size_t begin = chat.text.size();
    chat.text += each["content"].as_string();
    if (chat.text.size() > begin) chat.said.push_back({begin, chat.text.size()});
  }
  chat.text += 'a';
  return chat;
}

// What stands for a picture: a text and one row. Pictures differ in their checksums.
std::vector<ImagePart> picture(uint64_t checksum) {
  return {{.text = "[", .image = {}},
          {.text = "", .image = {.rows = {1, 2}, .n_rows = 1, .width = 2, .checksum = checksum}}};
}

class ConversationPromptTest : public testing::Test {
 protected:
  void SetUp() override {
    tokenizer_ = load_tokenizer(embedded_model_path());
    ASSERT_NE(tokenizer_, nullptr);
  }

  Result<ConversationPrompt> made(const ChatMessages& messages, const PromptOptions& options = {},
                                  const LayOut& layout = lay_out) const {
    return make_prompt(messages, layout, *tokenizer_, options);
  }

  Ids encoded(std::string_view text) const { return tokenizer_->encode(text, {}); }

  // Twenty exchanges of one length.
  static ChatMessages many_turns() {
    ChatMessages messages{.list = Json::array({message("system", "Be kind.")})};
    for (int i = 0; i < 20; ++i) {
      messages.list.push_back(message("user", "The dog ran to the sea."));
      messages.list.push_back(message("assistant", "It did."));
    }
    messages.list.push_back(message("user", "Why?"));
    return messages;
  }

  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(ConversationPromptTest, EndsWithTheTemplatesTextAndThePrefix) {
  const ChatMessages messages{.list = Json::array({message("user", "Hello")})};
  const auto prompt = made(messages, {.prefix = {7, 8}});
  ASSERT_TRUE(prompt.ok()) << prompt.error().message;
  Ids expected = encoded("uHelloa");
  expected.insert(expected.end(), {7, 8});
  EXPECT_EQ(prompt.value().tokens, expected);
  EXPECT_EQ(prompt.value().end, "a");
  EXPECT_FALSE(prompt.value().n_kept);
}

TEST_F(ConversationPromptTest, PutsEachPictureInItsPlace) {
  const ChatMessages messages{
      .list = Json::array({message("user", cat(kMark, "a", kMark)), message("user", kMark)}),
      .picture_mark = std::string(kMark),
      .pictures = {picture(1), picture(2), picture(3)}};
  const auto prompt = made(messages);
  ASSERT_TRUE(prompt.ok()) << prompt.error().message;
  ASSERT_EQ(prompt.value().images.size(), 3u);
  std::vector<TokenId> rows;
  for (const TokenId id : prompt.value().tokens) {
    if (is_image_token(id)) rows.push_back(id);
  }
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(prompt.value().images[i]->checksum, i + 1);
    EXPECT_EQ(image_tokens(*prompt.value().images[i]), std::vector<TokenId>{rows[i]});
  }
}

TEST_F(ConversationPromptTest, LeavesMessagesOutWithTheirPictures) {
  ChatMessages messages = many_turns();
  messages.picture_mark = kMark;
  messages.list[1]["content"] = cat(kMark, "What is this?");
  messages.list[39]["content"] = cat(kMark, "And this?");
  messages.pictures = {picture(1), picture(2)};
  const auto whole = made(messages);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole.value().images.size(), 2u);
  EXPECT_EQ(whole.value().n_dropped, 0u);

  const auto cut = made(messages, {.on_full = OnFull::drop_oldest, .n_ctx = 120, .max_tokens = 20});
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_LE(cut.value().tokens.size(), 100u);
  EXPECT_GT(cut.value().n_dropped, 10u);
  EXPECT_EQ(cut.value().n_dropped % 2, 0u);
  ASSERT_EQ(cut.value().images.size(), 1u);
  EXPECT_EQ(cut.value().images[0]->checksum, 2u);
  const Ids start = encoded("sBe kind.");
  EXPECT_TRUE(std::equal(start.begin(), start.end(), cut.value().tokens.begin()));
  EXPECT_FALSE(cut.value().n_kept);
}

// A user's message may stand between a call and its result; ids may be missing.
TEST_F(ConversationPromptTest, LeavesCallsOutWithTheirResults) {
  for (const bool has_ids : {true, false}) {
    ChatMessages messages{.list = Json::array()};
    for (int i = 0; i < 20; ++i) {
      Json call = {{"type", "function"}};
      Json result = message("tool", cat("result ", i));
      if (has_ids) result["tool_call_id"] = call["id"] = cat("id", i % 3);
      Json caller = message("assistant", cat("call ", i));
      caller["tool_calls"].push_back(call);
      for (const Json& each : {message("user", "Who?"), caller, message("user", "Well?"), result}) {
        messages.list.push_back(each);
      }
    }
    std::string told;
    const LayOut layout = [&](const Json& list) {
      told.clear();
      for (const Json& each : list.as_array()) told += cat(each["content"].as_string(), ";");
      return lay_out(list);
    };
    const PromptOptions options{.on_full = OnFull::drop_oldest, .n_ctx = 120, .max_tokens = 20};
    const auto prompt = made(messages, options, layout);
    ASSERT_TRUE(prompt.ok()) << prompt.error().message;
    EXPECT_GT(prompt.value().n_dropped, 20u);
    size_t n_calls = 0;
    for (int i = 0; i < 20; ++i) {
      const bool is_called = told.find(cat("call ", i, ";")) != told.npos;
      n_calls += is_called;
      EXPECT_EQ(told.find(cat("result ", i, ";")) != told.npos, is_called) << told;
    }
    EXPECT_GT(n_calls, 0u);
  }
}

TEST_F(ConversationPromptTest, CanBeCancelled) {
  const std::atomic<uint32_t> word = 1;
  const ChatMessages messages{.list = Json::array({message("user", "Hello")})};
  const auto cancelled = made(messages, {.cancellation = {&word, 1}});
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, ErrorCode::cancelled);
  EXPECT_TRUE(made(messages, {.cancellation = {&word, 2}}).ok());
}

TEST_F(ConversationPromptTest, KeepsTheSystemMessagesInAShift) {
  const PromptOptions options = {.on_full = OnFull::shift, .n_ctx = 120, .max_tokens = 20};
  auto prompt = made(many_turns(), options);
  ASSERT_TRUE(prompt.ok()) << prompt.error().message;
  EXPECT_GT(prompt.value().n_dropped, 10u);
  ASSERT_TRUE(prompt.value().n_kept);
  EXPECT_GE(*prompt.value().n_kept, encoded("sBe kind.").size());
  EXPECT_LT(*prompt.value().n_kept, encoded("sBe kind.uThe dog").size());
  GenerationOptions generation;
  prompt.value().prepare(generation);
  EXPECT_TRUE(generation.shifts_context);
  EXPECT_EQ(generation.n_kept, *prompt.value().n_kept);
}

TEST_F(ConversationPromptTest, SaysWhatTheTemplateDoes) {
  const ChatMessages messages{.list = Json::array({message("user", kMark)}),
                              .picture_mark = std::string(kMark),
                              .pictures = {picture(1)}};
  const auto silent = made(messages, {}, [](const Json&) { return ChatText{"none", {}}; });
  ASSERT_FALSE(silent.ok());
  EXPECT_EQ(silent.error().code, ErrorCode::unsupported_feature);
  EXPECT_EQ(silent.error().message, "the chat template leaves out a picture of the messages");
  const auto twice = made(messages, {}, [](const Json&) {
    return ChatText{cat(kMark, kMark), {}};
  });
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().message, "the chat template repeats a picture of the messages");
  const Error refusal{ErrorCode::invalid_argument, "roles must take turns"};
  for (const OnFull on_full : {OnFull::error, OnFull::drop_oldest, OnFull::shift}) {
    const auto refused =
        made(many_turns(), {.on_full = on_full, .n_ctx = 64}, [&](const Json&) { return refusal; });
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, refusal.message);
  }
}

TEST(ConversationFit, KnowsTheNamesOfWhatToDo) {
  EXPECT_EQ(find_on_full("shift"), OnFull::shift);
  EXPECT_EQ(find_on_full("dropOldest"), OnFull::drop_oldest);
  EXPECT_EQ(find_on_full("none"), std::nullopt);
}

}  // namespace
}  // namespace kinglet
