// Encoders: compared with llama.cpp's results on every kernel set; and the properties that they
// guarantee.
#include "model/encode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "model/damage.h"
#include "model/forward.h"
#include "model/reference.h"
#include "model/runner.h"
#include "model/tiny_model.h"

namespace kinglet {
namespace {

using Text = std::vector<int32_t>;

std::string path_of(const std::string& fixture) {
  return (fixture.find('/') == std::string::npos ? "encoder/" : "") + fixture + ".gguf";
}

// A model, with everything that encoding needs.
struct EncoderRunner {
  Model model;
  ThreadPool pool;
  std::unique_ptr<Encoder> encoder;

  static Result<std::unique_ptr<EncoderRunner>> create(GgufFile file, const KernelSet& kernels,
                                                       uint32_t n_tokens, uint32_t n_batch,
                                                       size_t n_threads = 1) {
    KINGLET_ASSIGN(Model model, Model::load(std::move(file), kernels));
    auto runner = std::make_unique<EncoderRunner>(std::move(model), n_threads);
    KINGLET_ASSIGN(Encoder encoder,
                   Encoder::create(runner->model, runner->pool, n_tokens, n_batch));
    runner->encoder = std::make_unique<Encoder>(std::move(encoder));
    return runner;
  }

  static std::unique_ptr<EncoderRunner> of(const std::string& fixture, const KernelSet& kernels,
                                           uint32_t n_tokens, uint32_t n_batch,
                                           size_t n_threads = 1) {
    auto file = read_gguf_file(fixture_path(path_of(fixture)));
    EXPECT_TRUE(file.ok());
    auto runner = create(std::move(file.value()), kernels, n_tokens, n_batch, n_threads);
    EXPECT_TRUE(runner.ok()) << runner.error().message;
    return std::move(runner.value());
  }

  EncoderRunner(Model m, size_t n_threads) : model(std::move(m)), pool(n_threads) {}

  Status run(const std::vector<Text>& texts, const Cancellation& cancellation = {}) {
    const std::vector<std::span<const int32_t>> spans(texts.begin(), texts.end());
    return encoder->run(spans, cancellation);
  }

  std::vector<float> embed(size_t text, Pooling pooling) {
    std::vector<float> embedding(encoder->embedding_size(text, pooling));
    const Status status = encoder->embed(text, pooling, embedding);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return embedding;
  }

  std::vector<float> score(size_t text) {
    std::vector<float> scores(model.config().n_labels);
    const Status status = encoder->score(text, scores);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return scores;
  }

  std::vector<float> states(size_t text) const {
    const auto states = encoder->states(text);
    return {states.begin(), states.end()};
  }
};

struct EncoderReference {
  Text tokens;
  std::vector<double> embedding;
  std::vector<double> token_embeddings;
  std::vector<double> scores;
};

// Returns all numbers of the array of arrays with this name.
std::vector<double> read_rows(const std::string& json, const std::string& name) {
  std::vector<double> numbers;
  const size_t begin = json.find("\"" + name + "\":[[");
  if (begin == std::string::npos) return numbers;
  const char* cursor = json.c_str() + json.find('[', begin);
  const char* const end = json.c_str() + json.find("]]", begin);
  while (cursor < end) {
    if (*cursor == '[' || *cursor == ']' || *cursor == ',') {
      ++cursor;
      continue;
    }
    char* behind;
    numbers.push_back(std::strtod(cursor, &behind));
    cursor = behind;
  }
  return numbers;
}

EncoderReference read_answer(const std::string& fixture) {
  const std::string json = read_text_fixture("encoder/" + fixture + ".json");
  EncoderReference reference;
  size_t from = 0;
  for (const double id : read_numbers(json, "tokens", from)) {
    reference.tokens.push_back(static_cast<int32_t>(id));
  }
  from = 0;
  reference.embedding = read_numbers(json, "embedding", from);
  from = 0;
  reference.scores = read_numbers(json, "scores", from);
  reference.token_embeddings = read_rows(json, "token_embeddings");
  return reference;
}

// The largest difference, in units of the root mean square of the expected values.
double difference(const std::vector<float>& found, const std::vector<double>& expected) {
  if (found.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  double squares = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::fabs(static_cast<double>(found[i]) - expected[i]));
    squares += expected[i] * expected[i];
  }
  return largest / std::sqrt(squares / static_cast<double>(found.size()));
}

double cosine(const std::vector<float>& a, const std::vector<double>& b) {
  double product = 0;
  double a_squares = 0;
  double b_squares = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const auto x = static_cast<double>(a[i]);
    product += x * b[i];
    a_squares += x * x;
    b_squares += b[i] * b[i];
  }
  return product / std::sqrt(a_squares * b_squares);
}

struct EncoderFixture {
  const char* model;
  const char* reference;
  bool quantized = false;          // kernels may round activations for these weights
  bool rounded_reference = false;  // the reference rounded activations
};

using EncoderParam = std::tuple<EncoderFixture, const KernelSet*>;

std::string encoder_name(const testing::TestParamInfo<EncoderParam>& info) {
  const auto& [fixture, kernels] = info.param;
  return test_name(std::string(fixture.reference) + "_" + std::string(kernels->name));
}

class EncoderParity : public testing::TestWithParam<EncoderParam> {};

TEST_P(EncoderParity, AnswersAsTheReference) {
  const auto& [fixture, kernels] = GetParam();
  const EncoderReference reference = read_answer(fixture.reference);
  ASSERT_GE(reference.tokens.size(), 38u);
  const auto runner = EncoderRunner::of(fixture.model, *kernels, 64, 16);
  const Status status = runner->run({reference.tokens});
  ASSERT_TRUE(status.ok()) << status.error().message;
  const auto pooling = file_pooling(runner->model.config());
  ASSERT_TRUE(pooling.ok());
  if (pooling.value() == Pooling::rank) {
    const auto scores = runner->score(0);
    ASSERT_EQ(scores.size(), reference.scores.size());
    for (size_t i = 0; i < scores.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(scores[i]), reference.scores[i], 2e-3);
    }
    return;
  }
  const bool rounds =
      (fixture.quantized && kernels != &scalar_kernels()) || fixture.rounded_reference;
  const auto embedding = runner->embed(0, pooling.value());
  const auto tokens = runner->embed(0, Pooling::none);
  EXPECT_LT(difference(embedding, reference.embedding), rounds ? 0.03 : 0.005);
  EXPECT_GT(cosine(embedding, reference.embedding), rounds ? 0.999 : 0.9999);
  EXPECT_LT(difference(tokens, reference.token_embeddings), rounds ? 0.1 : 0.015);
}

constexpr EncoderFixture kEncoders[] = {
    {"bert", "bert"},
    {"nomic-bert", "nomic-bert"},
    {"jina-bert-v2", "jina-bert-v2"},
    {"modern-bert", "modern-bert"},
    {"gemma-embedding", "gemma-embedding"},
    {"gemma-embedding-dense", "gemma-embedding-dense"},
    {"nomic-bert-moe", "nomic-bert-moe"},
    {"jina-bert-v3", "jina-bert-v3"},
    {"eurobert", "eurobert"},
    {"neo-bert", "neo-bert"},
    {"neo-bert-rerank", "neo-bert-rerank"},
    {"gemma-embedding2", "gemma-embedding2"},
    {"gemma-embedding2-list", "gemma-embedding2-list"},
    {"qwen3-rerank", "qwen3-rerank"},
    {"bert-rerank", "bert-rerank"},
    {"jina-bert-v2-rerank", "jina-bert-v2-rerank"},
    {"modern-bert-rerank", "modern-bert-rerank"},
    {"bert-Q8_0", "bert-Q8_0.exact", true},
    {"bert-Q8_0", "bert-Q8_0", true, true},
};

INSTANTIATE_TEST_SUITE_P(Fixtures, EncoderParity,
                         testing::Combine(testing::ValuesIn(kEncoders),
                                          testing::ValuesIn(available_kernels().begin(),
                                                            available_kernels().end())),
                         encoder_name);

const char* const kEmbedders[] = {"bert",           "nomic-bert",       "jina-bert-v2",
                                  "modern-bert",    "gemma-embedding",  "gemma-embedding-dense",
                                  "bert-Q8_0",      "gemma-embedding2", "gemma-embedding2-list",
                                  "nomic-bert-moe", "jina-bert-v3",     "eurobert",
                                  "neo-bert"};

// Texts of several lengths: one token, whole blocks of attention, more than one batch.
std::vector<Text> some_texts(const ModelConfig& config) {
  std::vector<Text> texts;
  uint32_t token = 1;
  for (const uint32_t n : {7u, 1u, 64u, 130u, 33u, 65u}) {
    Text text;
    for (uint32_t i = 0; i < std::min(n, config.context_length); ++i) {
      token = token * 69 + 11;
      text.push_back(static_cast<int32_t>((token >> 8) % config.vocab_size));
    }
    texts.push_back(text);
  }
  return texts;
}

class Encoding : public testing::TestWithParam<const KernelSet*> {
 protected:
  const KernelSet& kernels() const { return *GetParam(); }
};

TEST_P(Encoding, ATextDoesNotDependOnOthersOrOnBatches) {
  std::vector<const char*> models(std::begin(kEmbedders), std::end(kEmbedders));
  models.insert(models.end(), {"qwen3-rerank", "arch/gemma2", "hybrid/lfm2"});
  for (const char* model : models) {
    const auto alone = EncoderRunner::of(model, kernels(), 130, 64);
    const auto texts = some_texts(alone->model.config());
    std::vector<std::vector<float>> expected;
    for (const Text& text : texts) {
      ASSERT_TRUE(alone->run({text}).ok());
      expected.push_back(alone->states(0));
      for (const float number : expected.back()) ASSERT_TRUE(std::isfinite(number));
    }
    for (const auto& [n_batch, n_threads] : {std::pair<uint32_t, size_t>{1, 1}, {7, 3}, {64, 1}}) {
      const auto together = EncoderRunner::of(model, kernels(), 400, n_batch, n_threads);
      ASSERT_TRUE(together->run(texts).ok());
      ASSERT_EQ(together->encoder->n_texts(), texts.size());
      for (size_t i = 0; i < texts.size(); ++i) {
        EXPECT_EQ(together->states(i), expected[i])
            << model << ", text " << i << ", batches of " << n_batch;
      }
    }
  }
}

TEST_P(Encoding, EmbeddingsDoNotDependOnBatches) {
  for (const char* model : {"gemma-embedding-dense", "gemma-embedding2"}) {
    const auto one = EncoderRunner::of(model, kernels(), 400, 1);
    const auto all = EncoderRunner::of(model, kernels(), 400, 400);
    const auto texts = some_texts(one->model.config());
    ASSERT_TRUE(one->run(texts).ok());
    ASSERT_TRUE(all->run(texts).ok());
    for (size_t i = 0; i < texts.size(); ++i) {
      for (const Pooling pooling : {Pooling::none, Pooling::mean, Pooling::cls, Pooling::last}) {
        EXPECT_EQ(one->embed(i, pooling), all->embed(i, pooling)) << model;
      }
    }
  }
}

// Tokens at the far end of a text change the first token's state.
TEST_P(Encoding, TokensSeeWhatIsBehindThem) {
  for (const char* model : kEmbedders) {
    const auto runner = EncoderRunner::of(model, kernels(), 64, 16);
    Text text(50, 5);
    ASSERT_TRUE(runner->run({text}).ok());
    const auto before = runner->embed(0, Pooling::cls);
    text.back() = 9;
    ASSERT_TRUE(runner->run({text}).ok());
    EXPECT_NE(runner->embed(0, Pooling::cls), before) << model;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Encoding,
                         testing::ValuesIn(available_kernels().begin(), available_kernels().end()),
                         [](const auto& set) {
                           std::string name(set.param->name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Encoder, PoolsAsItIsTold) {
  const auto runner = EncoderRunner::of("nomic-bert", scalar_kernels(), 64, 16);
  const size_t width = runner->model.config().hidden_dim;
  ASSERT_TRUE(runner->run({{3, 4}, {5, 6, 7}}).ok());
  const auto states = runner->states(1);
  EXPECT_EQ(runner->embed(1, Pooling::none), states);
  const auto row = [&](size_t i) {
    return std::vector(states.begin() + static_cast<ptrdiff_t>(i * width),
                       states.begin() + static_cast<ptrdiff_t>((i + 1) * width));
  };
  EXPECT_EQ(runner->embed(1, Pooling::cls), row(0));
  EXPECT_EQ(runner->embed(1, Pooling::last), row(2));
  const auto mean = runner->embed(1, Pooling::mean);
  for (size_t i = 0; i < width; ++i) {
    EXPECT_NEAR(mean[i], (row(0)[i] + row(1)[i] + row(2)[i]) / 3, 1e-6f);
  }
}

void expect_failure(const Status& status, ErrorCode code, const std::string& message) {
  ASSERT_FALSE(status.ok()) << "expected: " << message;
  EXPECT_EQ(error_code_name(status.error().code), error_code_name(code)) << status.error().message;
  EXPECT_NE(status.error().message.find(message), std::string::npos) << status.error().message;
}

TEST(Encoder, RefusesTextsInWords) {
  const auto runner = EncoderRunner::of("bert", scalar_kernels(), 70, 16);
  ASSERT_TRUE(runner->run({{3, 4, 5}}).ok());
  const auto before = runner->states(0);
  expect_failure(runner->run({}), ErrorCode::invalid_argument, "no texts");
  expect_failure(runner->run({{3}, {}}), ErrorCode::invalid_argument, "text 1 has no tokens");
  expect_failure(runner->run({{3, 301}}), ErrorCode::invalid_argument,
                 "token id 301 is out of range (vocabulary: 301)");
  expect_failure(runner->run({{-1}}), ErrorCode::invalid_argument, "token id -1 is out of range");
  expect_failure(runner->run({Text(65, 3)}), ErrorCode::context_full,
                 "text 0 has 65 tokens, but the model's context is 64");
  expect_failure(runner->run({Text(64, 3), Text(7, 3)}), ErrorCode::context_full,
                 "the texts have 71 tokens, but there is room for 70");
  // The earlier texts' states are still there.
  EXPECT_EQ(runner->states(0), before);
  EXPECT_TRUE(runner->run({Text(64, 3), Text(6, 3)}).ok());
}

TEST(Encoder, RefusesWhatItCannotAnswer) {
  const auto bert = EncoderRunner::of("bert", scalar_kernels(), 64, 16);
  ASSERT_TRUE(bert->run({{3, 4, 5}}).ok());
  std::vector<float> numbers(48);
  expect_failure(bert->encoder->embed(1, Pooling::mean, numbers), ErrorCode::invalid_argument,
                 "text 1 of 1");
  expect_failure(bert->encoder->embed(0, Pooling::none, numbers), ErrorCode::invalid_argument,
                 "room for 48 numbers of text 0, expected 144");
  expect_failure(bert->encoder->embed(0, Pooling::rank, numbers), ErrorCode::unsupported_feature,
                 "a reranker computes scores, not embeddings");
  expect_failure(bert->encoder->score(0, numbers), ErrorCode::unsupported_feature,
                 "the model computes embeddings, not scores");
  const auto reranker = EncoderRunner::of("bert-rerank", scalar_kernels(), 64, 16);
  ASSERT_TRUE(reranker->run({{3, 4, 5}}).ok());
  expect_failure(reranker->encoder->score(0, numbers), ErrorCode::invalid_argument,
                 "room for 48 numbers of text 0, expected 1");
}

TEST(Encoder, RefusesSizesOfNothing) {
  auto bert = EncoderRunner::of("bert", scalar_kernels(), 64, 16);
  for (const auto& [n_tokens, n_batch] : {std::pair{0u, 1u}, std::pair{1u, 0u}}) {
    const auto encoder = Encoder::create(bert->model, bert->pool, n_tokens, n_batch);
    ASSERT_FALSE(encoder.ok());
    EXPECT_EQ(encoder.error().code, ErrorCode::invalid_argument);
  }
}

TEST(Encoder, RefusesAModelWithoutWeights) {
  TinyModel vocabulary;
  vocabulary.has_weights = false;
  auto file = load_gguf(vocabulary.build());
  ASSERT_TRUE(file.ok());
  const auto runner = EncoderRunner::create(std::move(file.value()), scalar_kernels(), 8, 8);
  ASSERT_FALSE(runner.ok());
  EXPECT_EQ(runner.error().code, ErrorCode::missing_tensor);
}

TEST(Encoder, NamesAPartThatIsMissing) {
  constexpr const char* kFixture = "encoder/gemma-embedding2.gguf";
  for (const std::string name :
       {"output.weight", "per_layer_model_proj.weight", "blk.2.inp_gate.weight",
        "blk.5.post_ffw_norm.weight", "blk.3.layer_output_scale.weight"}) {
    expect_error(without(kFixture, name), ErrorCode::missing_tensor,
                 "tensor " + name + " is missing");
  }
  constexpr const char* kWidth = "gemma-embedding2.embedding_length_per_layer_input";
  constexpr const char* kWindow = "gemma-embedding2.attention.sliding_window";
  for (const char* key : {kWidth, kWindow}) {
    expect_error(without(kFixture, key), ErrorCode::missing_metadata, key);
  }
  expect_error(with_number(kFixture, kWidth, 0), ErrorCode::corrupt, kWidth);
}

TEST(Encoder, KnowsWhichLayersHaveExperts) {
  constexpr const char* kFixture = "encoder/nomic-bert-moe.gguf";
  constexpr const char* kPeriod = "nomic-bert-moe.moe_every_n_layers";
  expect_error(with_number(kFixture, kPeriod, 3), ErrorCode::missing_tensor,
               "tensor blk.3.ffn_up.weight is missing");
  for (const Bytes& file : {with_number(kFixture, kPeriod, 0), without(kFixture, kPeriod)}) {
    expect_error(file, ErrorCode::missing_tensor, "tensor blk.1.ffn_up.weight is missing");
  }
  expect_error(without(kFixture, "blk.3.ffn_down_exps.weight"), ErrorCode::missing_tensor,
               "tensor blk.3.ffn_down_exps.weight is missing");
}

TEST(Encoder, MakesNoText) {
  auto file = read_gguf_file(fixture_path("encoder/bert.gguf"));
  ASSERT_TRUE(file.ok());
  auto model = Model::load(std::move(file.value()), scalar_kernels());
  ASSERT_TRUE(model.ok());
  auto scratch = Scratch::create(model.value(), 4, 1);
  ASSERT_TRUE(scratch.ok());
  auto state = empty_sequence(model.value(), 8);
  ASSERT_TRUE(state.ok());
  ThreadPool pool(1);
  expect_failure(
      forward(model.value(), pool, scratch.value(), state.value(), Text{3}, Output::none),
      ErrorCode::unsupported_feature, "\"bert\" is an encoder");
}

TEST(Encoder, AModelThatPoolsMakesNoText) {
  auto file = read_gguf_file(fixture_path("encoder/qwen3-rerank.gguf"));
  ASSERT_TRUE(file.ok());
  const auto runner = ModelRunner::create(std::move(file.value()), scalar_kernels(), 4, 1);
  ASSERT_TRUE(runner.ok());
  auto& r = *runner.value();
  expect_failure(forward(r.model, r.pool, r.scratch, r.state, Text{3}, Output::logits),
                 ErrorCode::unsupported_feature,
                 "qwen3.pooling_type is set, so the model computes embeddings");
  EXPECT_EQ(r.state.size(), 0u);
}

// The states of a model that generates text are its final ones, without a head.
TEST(Encoder, OfACausalModelGivesItsFinalStates) {
  const Text text(20, 5);
  const auto found = EncoderRunner::of("arch/llama", scalar_kernels(), 32, 8);
  ASSERT_TRUE(found->run({{9, 8}, text}).ok());
  const auto expected = ModelRunner::create("arch/llama.gguf", scalar_kernels(), 20, 1);
  ASSERT_TRUE(expected.ok());
  auto& r = *expected.value();
  ASSERT_TRUE(forward(r.model, r.pool, r.scratch, r.state, text, Output::hidden).ok());
  const size_t n = text.size() * r.model.config().hidden_dim;
  EXPECT_EQ(found->states(1), std::vector<float>(r.scratch.normed, r.scratch.normed + n));
  EXPECT_EQ(file_pooling(found->model.config()).value(), Pooling::mean);
  EXPECT_EQ(found->embed(1, Pooling::last).size(), r.model.config().hidden_dim);
}

TEST(Encoder, StopsWhereItIsCancelled) {
  const auto runner = EncoderRunner::of("bert", scalar_kernels(), 64, 16);
  const std::atomic<uint32_t> word{1};
  expect_failure(runner->run({{3, 4}}, {&word, 1}), ErrorCode::cancelled,
                 "cancelled before layer 0 of 3");
  EXPECT_EQ(runner->encoder->n_texts(), 0u);
  EXPECT_TRUE(runner->run({{3, 4}}, {&word, 2}).ok());
}

TEST(Encoder, NamesNumbersThatAreNotFinite) {
  const auto runner = EncoderRunner::of("bert-rerank", scalar_kernels(), 64, 16);
  // The weight is damaged after loading: a file with such a weight is refused.
  const Norm& norm = runner->model.weights().layers[1].ffn_sum_norm;
  *const_cast<float*>(norm.weight) = std::numeric_limits<float>::infinity();
  ASSERT_TRUE(runner->run({{3, 4, 5}}).ok());
  std::vector<float> numbers(40);
  expect_failure(runner->encoder->embed(0, Pooling::mean, numbers), ErrorCode::not_finite,
                 "is NaN or infinity");
  std::vector<float> scores(1);
  expect_failure(runner->encoder->score(0, scores), ErrorCode::not_finite, "number 0 of 1");
}

TEST(Encoder, AFileWithoutPoolingLeavesItToTheCaller) {
  auto loaded = load_gguf(without("encoder/bert.gguf", "bert.pooling_type"));
  ASSERT_TRUE(loaded.ok());
  auto runner = EncoderRunner::create(std::move(loaded.value()), scalar_kernels(), 64, 16);
  ASSERT_TRUE(runner.ok()) << runner.error().message;
  const auto pooling = file_pooling(runner.value()->model.config());
  ASSERT_FALSE(pooling.ok());
  EXPECT_EQ(pooling.error().code, ErrorCode::missing_metadata);
  EXPECT_NE(pooling.error().message.find("bert.pooling_type is missing"), std::string::npos);
  ASSERT_TRUE(runner.value()->run({{3, 4}}).ok());
  EXPECT_EQ(runner.value()->embed(0, Pooling::mean).size(), 48u);
}

TEST(Encoder, RefusesDamagedFiles) {
  expect_error(with_number("encoder/bert.gguf", "bert.pooling_type", 5),
               ErrorCode::unsupported_feature, "bert.pooling_type is 5: not supported");
  expect_error(with_number("encoder/bert.gguf", "bert.pooling_type", 4), ErrorCode::missing_tensor,
               "tensors cls.weight and cls.output.weight are missing");
  expect_error(with_number("encoder/jina-bert-v2.gguf", "jina-bert-v2.feed_forward_length", 36),
               ErrorCode::wrong_shape,
               "blk.0.ffn_gate.weight has shape [48, 72], expected [48, 36]");
  expect_error(with_number("encoder/gemma-embedding-dense.gguf", "dense_2_feat_out", 57),
               ErrorCode::wrong_shape, "dense_2.weight has shape [40, 56], expected [40, 57]");
  expect_error(with_number("encoder/bert.gguf", "bert.context_length", 65), ErrorCode::wrong_shape,
               "position_embd.weight has shape [48, 64], expected [48, 65]");
  for (const char* name : {"token_embd_norm.weight", "blk.1.attn_output_norm.bias",
                           "blk.2.layer_output_norm.weight", "blk.0.ffn_up.weight"}) {
    expect_error(without("encoder/bert.gguf", name), ErrorCode::missing_tensor,
                 std::string("tensor ") + name + " is missing");
  }
  expect_error(without("encoder/modern-bert.gguf", "blk.1.attn_norm.weight"),
               ErrorCode::missing_tensor, "blk.1.attn_norm.weight is missing");
}

TEST(Encoder, RefusesAHeadOfAnotherShape) {
  // In the file, the name of a tensor is followed by the number of its dimensions and the first
  // one.
  Bytes file = read_fixture("encoder/bert-rerank.gguf");
  put(file, find_text(file, "cls.output.weight") + 17 + 4, 39);
  expect_error(file, ErrorCode::wrong_shape, "cls.output.weight has shape [39], expected [40]");
  expect_error(without("encoder/jina-bert-v2-rerank.gguf", "cls.weight"), ErrorCode::missing_tensor,
               "cls.output.weight are missing");
  expect_error(without("encoder/modern-bert-rerank.gguf", "cls.norm.weight"),
               ErrorCode::unsupported_feature, "is not used by this architecture");
}

}  // namespace
}  // namespace kinglet
