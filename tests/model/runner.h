// Runs a model step by step, and measures how different two results are.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/forward.h"
#include "model/model.h"
#include "support.h"

namespace kinglet {

constexpr uint32_t kCtx = 192;

// An empty sequence of a model, with F32 keys and values in one piece.
inline Result<SequenceState> empty_sequence(const Model& model, uint32_t capacity) {
  KINGLET_ASSIGN(auto store,
                 KvStore::create(
                     {.rows = model.state_shape().rows, .page_positions = capacity, .n_pages = 1}));
  return SequenceState::create(std::move(store), model.state_shape().n_recurrent, capacity);
}

// A model, with everything that a step needs.
struct ModelRunner {
  Model model;
  ThreadPool pool;
  Scratch scratch;
  SequenceState state;

  static Result<std::unique_ptr<ModelRunner>> create(GgufFile file, const KernelSet& kernels,
                                                     uint32_t n_batch, size_t n_threads) {
    KINGLET_ASSIGN(Model model, Model::load(std::move(file), kernels));
    KINGLET_ASSIGN(Scratch scratch, Scratch::create(model, n_batch, n_threads));
    KINGLET_ASSIGN(SequenceState state, empty_sequence(model, kCtx));
    return std::make_unique<ModelRunner>(std::move(model), n_threads, std::move(scratch),
                                         std::move(state));
  }

  static Result<std::unique_ptr<ModelRunner>> create(const std::string& fixture,
                                                     const KernelSet& kernels, uint32_t n_batch,
                                                     size_t n_threads) {
    KINGLET_ASSIGN(GgufFile file, read_gguf_file(fixture_path(fixture)));
    return create(std::move(file), kernels, n_batch, n_threads);
  }

  ModelRunner(Model m, size_t n_threads, Scratch s, SequenceState c)
      : model(std::move(m)), pool(n_threads), scratch(std::move(s)), state(std::move(c)) {}

  // Appends tokens in batches, and returns the logits after the last one.
  std::vector<float> append(std::span<const int32_t> tokens) {
    while (!tokens.empty()) {
      const auto batch = tokens.first(std::min<size_t>(tokens.size(), scratch.n_batch));
      tokens = tokens.subspan(batch.size());
      EXPECT_TRUE(forward(model, pool, scratch, state, batch,
                          tokens.empty() ? Output::logits : Output::none)
                      .ok());
    }
    return {scratch.logits, scratch.logits + model.config().vocab_size};
  }
};

inline std::vector<double> log_softmax(const std::vector<float>& logits) {
  const auto largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  std::vector<double> logprobs;
  for (const float logit : logits) {
    logprobs.push_back(static_cast<double>(logit) - largest - std::log(sum));
  }
  return logprobs;
}

struct Difference {
  double probability = 0;    // the largest |p − q| of a token
  double kl_divergence = 0;  // sum of q (log q − log p)
};

inline Difference compare(const std::vector<double>& p, const std::vector<double>& q) {
  Difference difference;
  for (size_t i = 0; i < p.size(); ++i) {
    difference.probability =
        std::max(difference.probability, std::fabs(std::exp(p[i]) - std::exp(q[i])));
    difference.kl_divergence += std::exp(q[i]) * (q[i] - p[i]);
  }
  return difference;
}

}  // namespace kinglet
