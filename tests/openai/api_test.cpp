// Requests by path, and the choices of their answers.
#include "openai/api.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "openai/parsed.h"
#include "session/sessions.h"

namespace kinglet::openai {
namespace {

class ApiTest : public testing::Test {
 protected:
  ApiResult<AnswerOrWork> ask(std::string_view endpoint, std::string_view body) const {
    return read_request(endpoint, json(body), model_, {});
  }

  LanguageModel loaded_ = load_tiny({.edit = [](GgufBuilder& file) {
    file.set("tokenizer.chat_template", std::string_view("{{ messages[0].content }}"));
  }});
  ChatLayout layout_{loaded_.model.header(), loaded_.tokenizer->vocabulary()};
  ServedModel model_{loaded_, layout_, {.name = "tiny", .n_ctx = 16}};
};

TEST_F(ApiTest, ReadsObjectsOnly) {
  EXPECT_EQ(read_body("{").error().status, 400);
  EXPECT_TRUE(read_body("").error().message.starts_with("the request has no body"));
  EXPECT_EQ(read_body("[]").error().message, "the body is not a JSON object");
  EXPECT_TRUE(read_body("{}").ok());
}

// Phases of reading look at the cancellation; what the client learns, the check says.
TEST_F(ApiTest, SaysWhyReadingWasCancelled) {
  const std::atomic<uint32_t> word = 1;
  const Deadline expired{.check = [] { return ApiError{.status = 504, .message = "late"}; },
                         .cancellation = {&word, 1}};
  EXPECT_EQ(read_body("{", expired).error().status, 504);
  for (const char* endpoint : {"/completions", "/chat/completions", "/embeddings"}) {
    const Json body = json(R"({"prompt": "ab", "input": "ab", "messages": []})");
    const auto asked = read_request(endpoint, body, model_, {}, expired);
    ASSERT_FALSE(asked.ok());
    EXPECT_EQ(asked.error().status, 504) << asked.error().message;
  }
  EXPECT_EQ(read_body("{}", {.check = {}, .cancellation = {&word, 1}}).error().message,
            "cancelled");
}

TEST_F(ApiTest, FindsTheEndpoint) {
  const auto nothing = ask("/audio", "{}");
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().status, 404);
  const auto count = ask("/responses/input_tokens", R"({"input": "ab"})");
  ASSERT_TRUE(count.ok()) << count.error().message;
  EXPECT_EQ(std::get<Json>(count.value())["object"], "response.input_tokens");
  const auto vectors = ask("/embeddings", R"({"input": ["ab", "ba"]})");
  ASSERT_TRUE(vectors.ok()) << vectors.error().message;
  const auto& work = std::get<EncodingWork>(vectors.value());
  EXPECT_EQ(work.encoding.texts.size(), 2u);
  EXPECT_EQ(work.encoding.pooling, Pooling::mean);
  EXPECT_TRUE(work.encoding.normalizes);
  const Json answer = work.answer({{0.6F, 0.8F}, {0, 1}});
  EXPECT_EQ(answer["data"].size(), 2u);
  EXPECT_EQ(answer["data"][0]["embedding"].size(), 2u);
}

TEST_F(ApiTest, MakesChoicesOneAfterTheOther) {
  auto asked = ask("/completions", R"({"prompt": ["ab", "b"], "n": 2, "seed": 7, "stream": true})");
  ASSERT_TRUE(asked.ok()) << asked.error().message;
  auto& answer = std::get<TextAnswer>(asked.value());
  EXPECT_TRUE(answer.is_stream());
  std::vector<uint64_t> seeds;
  std::vector<size_t> lengths;
  std::vector<Json> chunks;
  while (!answer.is_done()) {
    const ChoiceWork work = answer.begin_choice(chunks);
    seeds.push_back(work.options.sampler.seed);
    lengths.push_back(work.prompt.tokens.size());
    GenerationStep step;
    step.token = 4;
    step.text = "a";
    AnswerEvents events(work.plan);
    answer.read(events.read(step), chunks);
    EXPECT_FALSE(answer.is_done());
    step = {};
    step.finish = FinishReason::length;
    answer.read(events.read(step), chunks);
  }
  EXPECT_EQ(seeds, (std::vector<uint64_t>{7, 8, 7, 8}));
  EXPECT_EQ(lengths[0], lengths[1]);
  EXPECT_EQ(answer.writer().whole()["choices"].size(), 4u);
  EXPECT_EQ(chunks.back()["choices"][0]["index"], 3);
}

}  // namespace
}  // namespace kinglet::openai
