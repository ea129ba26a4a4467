#include "model/pooling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "base/format.h"
#include "base/in_quotes.h"
#include "model/keys.h"
#include "model/step.h"

namespace kinglet {
namespace {

// Indexed by Pooling.
constexpr std::array<std::string_view, 5> kPoolingNames = {"none", "mean", "cls", "last", "rank"};

void softmax(const KernelSet& kernels, float* x, size_t n) {
  float largest = -std::numeric_limits<float>::infinity();
  float sum = 0;
  kernels.softmax_part(x, n, largest, sum);
  for (size_t i = 0; i < n; ++i) x[i] /= sum;
}

}  // namespace

std::string_view pooling_name(Pooling pooling) {
  return kPoolingNames[static_cast<size_t>(pooling)];
}

Result<Pooling> find_pooling(std::string_view name) {
  const auto* found = std::find(kPoolingNames.begin(), kPoolingNames.end(), name);
  if (found != kPoolingNames.end()) return static_cast<Pooling>(found - kPoolingNames.begin());
  return Error{ErrorCode::invalid_argument,
               cat("pooling ", in_quotes(name), " is unknown (known: none, mean, cls, last)")};
}

Result<Pooling> file_pooling(const ModelConfig& config) {
  return config.pooling ? *config.pooling : vector_pooling(config);
}

Result<Pooling> vector_pooling(const ModelConfig& config) {
  if (config.pooling) KINGLET_TRY(check_makes_vectors(*config.pooling));
  if (config.pooling && config.pooling != Pooling::none) return *config.pooling;
  if (config.makes_text()) return Pooling::mean;
  return Error{
      ErrorCode::missing_metadata,
      cat(config.architecture->name, ".pooling_type is ", config.pooling ? "\"none\"" : "missing",
          ": the file does not say how to make one vector of the states of a text's tokens")};
}

Status check_makes_vectors(Pooling pooling) {
  if (pooling != Pooling::rank) return {};
  return Error{ErrorCode::unsupported_feature, "a reranker computes scores, not embeddings"};
}

Status check_ranks(const ModelConfig& config) {
  if (config.pooling == Pooling::rank) return {};
  return Error{ErrorCode::unsupported_feature,
               cat(config.architecture->name,
                   ".pooling_type is not \"rank\": the model computes embeddings, not scores")};
}

void normalize_length(std::span<float> vector) {
  double sum = 0;
  for (const float x : vector) sum += double{x} * double{x};
  if (sum == 0) return;
  const double factor = 1 / std::sqrt(sum);
  for (float& x : vector) x = static_cast<float>(double{x} * factor);
}

void pool_states(const KernelSet& kernels, Pooling pooling, const float* states, size_t n_tokens,
                 size_t width, float* out) {
  if (pooling == Pooling::cls || pooling == Pooling::last) {
    const size_t token = pooling == Pooling::cls ? 0 : n_tokens - 1;
    std::copy_n(states + token * width, width, out);
    return;
  }
  std::fill_n(out, width, 0.0f);
  const float share = 1.0f / static_cast<float>(n_tokens);
  for (size_t t = 0; t < n_tokens; ++t) kernels.add_scaled(out, states + t * width, share, width);
}

Result<Head> Head::take(TensorTaker& tensors, const ModelConfig& config) {
  Head head(config.hidden_dim);
  KINGLET_TRY(head.take_dense(tensors, config));
  if (config.pooling == Pooling::rank) {
    KINGLET_TRY(head.take_scores(tensors, config));
  } else {
    tensors.skip("cls.");  // embeddings do not use these
  }
  return head;
}

Status Head::take_dense(TensorTaker& tensors, const ModelConfig& config) {
  const Keys keys(tensors.header(), config.architecture->name);
  const auto take = [&](const char* name, uint32_t n_rows) -> Status {
    KINGLET_ASSIGN(const Linear linear, take_linear(tensors, name, n_rows, embedding_dim_));
    dense_.push_back(linear);
    embedding_dim_ = n_rows;
    widest_ = std::max(widest_, embedding_dim_);
    return {};
  };
  // Models apply this matrix to each token. It is linear, so the mean may come first.
  if (config.architecture->projects_states) {
    KINGLET_ASSIGN(const uint32_t n_rows,
                   keys.size("embedding_length_out", kMaxDim, config.hidden_dim));
    KINGLET_TRY(take("output", n_rows));
  }
  for (const char* name : {"dense_2", "dense_3"}) {
    if (!tensors.has(cat(name, ".weight"))) continue;
    KINGLET_ASSIGN(const uint32_t n_rows, keys.size(cat(name, "_feat_out"), kMaxDim));
    KINGLET_TRY(take(name, n_rows));
  }
  return {};
}

Status Head::take_scores(TensorTaker& tensors, const ModelConfig& config) {
  const bool has_hidden = tensors.has("cls.weight");
  const bool has_output = tensors.has("cls.output.weight");
  if (!has_hidden && !has_output) {
    return Error{
        ErrorCode::missing_tensor,
        "tensors cls.weight and cls.output.weight are missing: one of them is expected, as "
        "pooling_type says that the model computes scores"};
  }
  const uint32_t hidden_dim = config.hidden_dim;
  if (has_hidden) {
    const uint32_t n_rows = has_output ? hidden_dim : config.n_labels;
    KINGLET_ASSIGN(hidden_, take_linear(tensors, "cls", n_rows, hidden_dim));
    if (tensors.has("cls.norm.weight")) {
      KINGLET_ASSIGN(norm_, take_norm(tensors, "cls.norm", n_rows, Presence::no));
    }
    widest_ = std::max<size_t>(widest_, n_rows);
  }
  if (has_output) {
    KINGLET_ASSIGN(output_, take_linear(tensors, "cls.output", config.n_labels, hidden_dim));
  }
  return {};
}

ScratchNeeds Head::scratch_needs(const BatchShape& batch) const {
  Arena arena;
  for (int i = 0; i < 2; ++i) arena.take<float>(batch.n_tokens * widest_);
  ScratchNeeds needs{arena.n_bytes(), std::max(hidden_.matrix.n_columns, output_.matrix.n_columns)};
  for (const Linear& linear : dense_) {
    needs.row_width = std::max<uint64_t>(needs.row_width, linear.matrix.n_columns);
  }
  return needs;
}

void Head::embed(Step& step, Arena arena, const float* rows, float* out) const {
  const size_t n = step.n_tokens();
  float* spare[2];
  for (float*& buffer : spare) buffer = arena.take<float>(n * widest_);
  for (size_t i = 0; i < dense_.size(); ++i) {
    float* const y = i + 1 == dense_.size() ? out : spare[i % 2];
    step.project(rows, n, {{&dense_[i], y}});
    rows = y;
  }
  if (dense_.empty()) std::copy_n(rows, n * embedding_dim_, out);
}

void Head::score(Step& step, Arena arena, const float* rows, float* out) const {
  const size_t n = step.n_tokens();
  const bool has_output = output_.matrix.n_rows > 0;
  if (hidden_.matrix.n_rows > 0) {
    float* const hidden = has_output ? arena.take<float>(n * widest_) : out;
    step.project(rows, n, {{&hidden_, hidden}});
    activate(step, hidden);
    rows = hidden;
  }
  if (has_output) step.project(rows, n, {{&output_, out}});
  if (!step.config().architecture->ranking.softmax) return;
  const size_t n_labels = step.config().n_labels;
  for (size_t i = 0; i < n; ++i) softmax(step.kernels(), out + i * n_labels, n_labels);
}

// Applies the activation and the norm after "cls".
void Head::activate(Step& step, float* rows) const {
  const size_t width = hidden_.matrix.n_rows;
  const size_t n = step.n_tokens() * width;
  if (step.config().architecture->ranking.gelu) {
    step.kernels().gelu(rows, n);
  } else {
    step.kernels().softcap(rows, 1.0f, n);  // tanh
  }
  step.normalize(rows, norm_, step.n_tokens(), width, rows);
}

}  // namespace kinglet
