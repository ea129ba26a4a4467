// Probabilities of labels, compared with those of ordinary sessions.
#include "answers/classifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "chat/chat_layout.h"
#include "errors.h"
#include "session/logprobs.h"
#include "session/sessions.h"

namespace kinglet {
namespace {

constexpr const char* kReal = KINGLET_SOURCE_DIR "/../shared/models/real/";

// Ten texts of each of three moods.
const std::vector<std::string> kTexts = {
    "The food was wonderful and the staff were kind.",
    "I love this little park.",
    "What a great day, everything went well!",
    "The new phone is fast and the screen is beautiful.",
    "Lily was very happy with her red ball.",
    "Best concert I have ever been to.",
    "They fixed my bike in an hour, for free.",
    "The soup tastes like my grandmother's, perfect.",
    "Our team won, and we danced all night.",
    "Thank you, this was exactly what I needed.",
    "The room was dirty and smelled of smoke.",
    "I waited two hours and nobody came.",
    "The battery died after a week. Never again.",
    "Tom was sad because his toy was broken.",
    "The film was boring and far too long.",
    "My order arrived late and half of it was missing.",
    "The seats hurt my back.",
    "He shouted at us and then left.",
    "It rained, the tent leaked, we went home sick.",
    "The worst coffee in town.",
    "The shop opens at nine.",
    "A bus has four wheels, or six.",
    "The meeting is on Tuesday in room 4.",
    "Water boils at one hundred degrees.",
    "The book has three hundred pages.",
    "She put the cup on the table.",
    "The train to Berlin leaves from platform 7.",
    "There is a tree next to the house.",
    "The form has two pages.",
    "My sister lives in the north of the town.",
};

const std::vector<std::string> kLabels = {"positive", "negative", "neither of the two"};

class Classifying {
 public:
  explicit Classifying(LanguageModel loaded)
      : loaded_(std::move(loaded)),
        layout_(loaded_.model.header(), loaded_.tokenizer->vocabulary()) {}

  Result<Classifier> classifier(Classification wanted = {.labels = kLabels}) const {
    return Classifier::create(loaded_, layout_, std::move(wanted));
  }

  Encoding encoding(const Classifier& classifier, const std::vector<std::string>& texts) const {
    Encoding encoding = classifier.encoding();
    for (const std::string& text : texts) {
      auto tokens = classifier.tokens(text);
      EXPECT_TRUE(tokens.ok()) << tokens.error().message;
      encoding.texts.push_back(std::move(tokens.value()));
    }
    return encoding;
  }

  Result<Rows> rows_of(const Encoding& encoding, const Cancellation& cancellation = {}) {
    Result<Rows> told = Rows();
    n_done_.clear();
    run_.submit({.encoding = encoding,
                 .cancellation = cancellation,
                 .deliver = [&](Result<Rows> rows) { told = std::move(rows); },
                 .on_progress = [&](size_t n) { n_done_.push_back(n); }});
    while (run_.is_busy()) run_.advance();
    return told;
  }

  Rows classify(const std::vector<std::string>& texts,
                Classification wanted = {.labels = kLabels}) {
    const auto made = classifier(std::move(wanted));
    EXPECT_TRUE(made.ok()) << made.error().message;
    auto rows = rows_of(encoding(made.value(), texts));
    EXPECT_TRUE(rows.ok()) << rows.error().message;
    return std::move(rows.value());
  }

  // The same by appending each label to each prompt in a session of its own.
  std::vector<double> alone(const std::vector<TokenId>& prompt, const Encoding& encoding) {
    std::vector<double> scores;
    Logprobs measured(loaded_.model.config().vocab_size, 0, loaded_.model.kernels());
    for (const auto& label : encoding.labels) {
      const auto session = make_session(loaded_, pool_, {.n_ctx = 512});
      EXPECT_TRUE(session->append(prompt).ok());
      double sum = 0;
      for (const TokenId token : label) {
        measured.measure(session->logits());
        sum += static_cast<double>(measured.of(token));
        EXPECT_TRUE(session->append(std::vector{token}).ok());
      }
      scores.push_back(encoding.per_token ? sum / static_cast<double>(label.size()) : sum);
    }
    const double most = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - most);
    for (double& score : scores) score /= sum;
    return scores;
  }

  void expect_as_alone(const std::vector<std::string>& texts, Classification wanted) {
    const auto made = classifier(std::move(wanted));
    ASSERT_TRUE(made.ok()) << made.error().message;
    const Encoding encoding = this->encoding(made.value(), texts);
    const auto rows = rows_of(encoding);
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    ASSERT_EQ(rows.value().size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto expected = alone(encoding.texts[i], encoding);
      ASSERT_EQ(rows.value()[i].size(), expected.size());
      for (size_t label = 0; label < expected.size(); ++label) {
        EXPECT_NEAR(rows.value()[i][label], expected[label], 1e-4) << texts[i];
      }
    }
    EXPECT_EQ(n_done_.back(), texts.size());
    EXPECT_TRUE(std::is_sorted(n_done_.begin(), n_done_.end()));
  }

  LanguageModel loaded_;
  ChatLayout layout_;
  ThreadPool pool_{1};
  EncodingRun run_{loaded_.model, pool_};
  std::vector<size_t> n_done_;
};

LanguageModel load(const std::string& path) {
  auto file = read_gguf_file(path);
  EXPECT_TRUE(file.ok()) << path;
  auto loaded = load_language_model(std::move(file.value()));
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  return std::move(loaded.value());
}

TEST(Classifier, GivesTheProbabilitiesOfSessions) {
  Classifying stories(load_stories());
  stories.expect_as_alone(kTexts, {.labels = kLabels});
  stories.expect_as_alone(kTexts, {.labels = kLabels, .per_token = true});
  // More labels than branches; some of one token.
  const std::vector<std::string> many = {"happy",      "sad",    "a",        "big dog",
                                         "small dog",  "cats",   "the",      "rain",
                                         "one or two", "purple", "elephant", "I am"};
  stories.expect_as_alone({kTexts[0], kTexts[1], kTexts[0]},
                          {.labels = many, .instruction = "Say.", .examples = {{"x", "sad"}}});
  stories.expect_as_alone({"One text only."}, {.labels = {"yes", "no"}});
}

// Layers with a recurrent state or a window, and experts.
TEST(Classifier, GivesTheProbabilitiesOfSessionsForOtherLayers) {
  for (const char* name :
       {"arch/gemma3.gguf", "arch/mixtral.gguf", "hybrid/lfm2.gguf", "hybrid/falcon-h1.gguf"}) {
    SCOPED_TRACE(name);
    Classifying tiny(load(fixture_path(name)));
    Encoding encoding{.labels = {{5}, {6, 7, 8}, {9, 10}}};
    for (TokenId i = 0; i < 6; ++i)
      encoding.texts.push_back({3, 4, 5, 6, 7, 8, 9, 10, 11, 12, i + 3, i + 8});
    const auto rows = tiny.rows_of(encoding);
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    for (size_t i = 0; i < encoding.texts.size(); ++i) {
      const auto expected = tiny.alone(encoding.texts[i], encoding);
      for (size_t label = 0; label < expected.size(); ++label) {
        EXPECT_NEAR(rows.value()[i][label], expected[label], 1e-4);
      }
    }
  }
}

TEST(Classifier, GivesTheProbabilitiesOfSessionsInRealModels) {
  const std::string path = std::string(kReal) + "SmolLM2-135M-Instruct.Q4_1.gguf";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  Classifying real(load(path));
  // Sessions take a second for each text; the stories' model compares all of them.
  const std::vector<std::string> some(kTexts.begin(), kTexts.begin() + 8);
  real.expect_as_alone(some, {.labels = kLabels, .examples = {{"I am glad.", "positive"}}});
}

TEST(Classifier, ATextDoesNotDependOnOthers) {
  Classifying stories(load_stories());
  const Rows all = stories.classify(kTexts);
  for (const size_t i : {size_t{0}, size_t{17}}) {
    EXPECT_EQ(stories.classify({kTexts[i]})[0], all[i]);
    EXPECT_NEAR(std::accumulate(all[i].begin(), all[i].end(), 0.0), 1, 1e-6);
  }
}

TEST(Classifier, RefusesWrongLabelsAndLongTexts) {
  Classifying stories(load_stories());
  for (const Classification& wrong :
       {Classification{}, Classification{.labels = {"one"}}, Classification{.labels = {"a", ""}},
        Classification{.labels = {"a", "b", "a"}},
        Classification{.labels = {"a", "b"}, .examples = {{"text", "c"}}}}) {
    EXPECT_EQ(stories.classifier(wrong).error().code, ErrorCode::invalid_argument);
  }
  const auto made = stories.classifier();
  std::string text;
  while (text.size() < 20'000) text += "a long day ";
  const auto rows = stories.rows_of(stories.encoding(made.value(), {"short", text}));
  EXPECT_EQ(rows.error().code, ErrorCode::prompt_too_long);
  EXPECT_NE(rows.error().message.find("text 1"), std::string::npos) << rows.error().message;
  EXPECT_TRUE(stories.rows_of(stories.encoding(made.value(), {"short"})).ok());
  EXPECT_TRUE(stories.rows_of(stories.encoding(made.value(), {})).value().empty());
}

TEST(Classifier, UsesTheHeadOfAFile) {
  Classifying head(load(fixture_path("encoder/qwen3-rerank.gguf")));
  const auto made = head.classifier({});
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_EQ(made.value().labels().size(), head.loaded_.model.config().n_labels);
  Encoding encoding = head.encoding(made.value(), {"who ran", "a tree"});
  const auto rows = head.rows_of(encoding);
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  for (const auto& row : rows.value()) {
    ASSERT_EQ(row.size(), made.value().labels().size());
    EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1, 1e-6);
  }
  EXPECT_TRUE(head.classifier({.labels = made.value().labels()}).ok());
  for (const Classification& wrong :
       {Classification{.labels = kLabels}, Classification{.instruction = "Say."},
        Classification{.examples = {{"text", "yes"}}}}) {
    EXPECT_EQ(head.classifier(wrong).error().code, ErrorCode::invalid_argument);
  }
}

TEST(Classifier, RefusesModelsWithOneScoreOrNone) {
  for (const char* name : {"encoder/bert.gguf", "encoder/bert-rerank.gguf"}) {
    const Classifying wrong(load(fixture_path(name)));
    EXPECT_EQ(wrong.classifier().error().code, ErrorCode::unsupported_feature);
  }
}

TEST(Classifier, CanBeCancelled) {
  Classifying stories(load_stories());
  std::atomic<uint32_t> is_cancelled = 1;
  const auto made = stories.classifier();
  const Encoding encoding = stories.encoding(made.value(), {kTexts[0], kTexts[1]});
  EXPECT_EQ(stories.rows_of(encoding, {&is_cancelled, 1}).error().code, ErrorCode::cancelled);
  EXPECT_TRUE(stories.rows_of(encoding).ok());
}

}  // namespace
}  // namespace kinglet
