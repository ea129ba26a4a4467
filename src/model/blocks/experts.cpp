#include "model/blocks/experts.h"

#include <algorithm>

#include "base/exponential.h"
#include "model/step.h"

namespace kinglet {
namespace {

// Writes the experts of the choices.size() largest gates to `choices`, the largest first; of equal
// gates, the first. The weight of a choice is its gate.
template <class F>
void choose_largest(size_t n_experts, const F& gate, std::span<ExpertChoice> choices) {
  size_t n = 0;
  for (uint32_t expert = 0; expert < n_experts; ++expert) {
    const float worth = gate(expert);
    if (n == choices.size() && worth <= choices[n - 1].weight) continue;
    size_t place = n < choices.size() ? n++ : n - 1;
    for (; place > 0 && choices[place - 1].weight < worth; --place) {
      choices[place] = choices[place - 1];
    }
    choices[place] = {expert, worth};
  }
}

// Weights are divided by at least this sum: llama.cpp's limit, the smallest normal binary16.
constexpr float kLeastSum = 6.103515625e-5f;

void weigh_softmax(std::span<const float> logits, const Routing& routing,
                   std::span<ExpertChoice> choices) {
  const float largest = choices[0].weight;
  float sum = 0;
  for (const float logit : logits) sum += exponential::exp(logit - largest);
  float chosen_sum = 0;
  for (ExpertChoice& choice : choices) {
    choice.weight = exponential::exp(choice.weight - largest);
    chosen_sum += choice.weight;
  }
  chosen_sum += 0.0f * sum;  // NaN if any logit is, even one of an expert that was not chosen
  for (ExpertChoice& choice : choices) {
    choice.weight /= routing.normalizes ? chosen_sum : sum;
  }
}

void weigh_sigmoid(std::span<const float> logits, const Routing& routing,
                   std::span<ExpertChoice> choices) {
  float sum = 0;
  for (ExpertChoice& choice : choices) {
    choice.weight = exponential::sigmoid(logits[choice.expert]);
    sum += choice.weight;
  }
  for (const float logit : logits) sum += 0.0f * logit;  // NaN if any logit is not finite
  const float divisor = routing.normalizes ? std::max(sum, kLeastSum) : 1.0f + 0.0f * sum;
  for (ExpertChoice& choice : choices) choice.weight /= divisor;
}

}  // namespace

void choose_experts(std::span<const float> logits, const Routing& routing,
                    std::span<ExpertChoice> choices) {
  if (routing.gating == ExpertGating::softmax) {
    choose_largest(
        logits.size(), [&](uint32_t i) { return logits[i]; }, choices);
    return weigh_softmax(logits, routing, choices);
  }
  const auto gate = [&](uint32_t i) {
    return exponential::sigmoid(logits[i]) + (routing.bias == nullptr ? 0.0f : routing.bias[i]);
  };
  choose_largest(logits.size(), gate, choices);
  weigh_sigmoid(logits, routing, choices);
}

Result<std::unique_ptr<Block>> Experts::load(LayerLoader& loader) {
  const uint32_t n = loader.config().n_experts;
  auto block = std::make_unique<Experts>();
  block->n_used_ = loader.config().n_experts_used;
  block->routing_ = {.gating = loader.config().expert_gating,
                     .normalizes = loader.traits().ffn.normalizes_experts};
  if (block->routing_.gating == ExpertGating::sigmoid) {
    KINGLET_ASSIGN(block->routing_.bias, loader.bias("exp_probs_b", n, Presence::optional));
  }
  KINGLET_ASSIGN(block->router_,
                 loader.linear("ffn_gate_inp", n, loader.config().hidden_dim, Presence::no));
  KINGLET_TRY(block->load_experts(loader));
  KINGLET_TRY(block->load_shared(loader));
  return std::unique_ptr<Block>(std::move(block));
}

Status Experts::load_experts(LayerLoader& loader) {
  constexpr std::string_view kFused = "ffn_gate_up_exps";
  const uint32_t hidden_dim = loader.config().hidden_dim;
  const uint32_t width = loader.config().expert_dim;
  const uint32_t n = loader.config().n_experts;
  std::vector<Linear> gates;
  std::vector<Linear> ups;
  if (loader.traits().ffn.gate == Gate::none) {
    gates.resize(n);
    KINGLET_ASSIGN(ups, loader.experts("ffn_up_exps", n, width, hidden_dim));
  } else if (loader.has(kFused)) {
    KINGLET_ASSIGN(const auto both, loader.experts(kFused, n, width, hidden_dim, 2));
    for (uint32_t i = 0; i < n; ++i) {
      gates.push_back(both[2 * i]);
      ups.push_back(both[2 * i + 1]);
    }
  } else {
    KINGLET_ASSIGN(gates, loader.experts("ffn_gate_exps", n, width, hidden_dim));
    KINGLET_ASSIGN(ups, loader.experts("ffn_up_exps", n, width, hidden_dim));
  }
  KINGLET_ASSIGN(const auto downs, loader.experts("ffn_down_exps", n, hidden_dim, width));
  const Activation activation = loader.config().activation;
  for (uint32_t i = 0; i < n; ++i) experts_.emplace_back(gates[i], ups[i], downs[i], activation);
  return {};
}

Status Experts::load_shared(LayerLoader& loader) {
  if (loader.config().shared_dim == 0) return {};
  KINGLET_ASSIGN(shared_, FeedForward::load_shared_expert(loader));
  if (!loader.traits().ffn.gates_shared_expert) return {};
  KINGLET_ASSIGN(shared_gate_,
                 loader.linear("ffn_gate_inp_shexp", 1, loader.config().hidden_dim, Presence::no));
  return {};
}

Experts::Buffers Experts::lay_out(Arena& arena, uint64_t n_tokens) const {
  return {.router = arena.take<float>(n_tokens * experts_.size()),
          .shared_gate = arena.take<float>(n_tokens * shared_gate_.matrix.n_rows),
          .choices = arena.take<ExpertChoice>(n_tokens * n_used_),
          .routed = arena.take<uint32_t>(n_tokens),
          .input = arena.take<float>(n_tokens * hidden_dim()),
          .output = arena.take<float>(n_tokens * hidden_dim())};
}

ScratchNeeds Experts::scratch_needs(const BatchShape& batch) const {
  Arena arena;
  lay_out(arena, batch.n_tokens);
  ScratchNeeds needs = experts_.front().scratch_needs(batch);
  if (shared_) needs.include(shared_->scratch_needs(batch));
  needs.n_bytes += arena.n_bytes();
  return needs;
}

// Runs the experts one after the other, each for all tokens that chose it, so that its weights are
// read once.
Status Experts::run(Step& step, Arena arena, const float* x, float* out) const {
  const size_t width = hidden_dim();
  const Buffers buffers = lay_out(arena, step.n_tokens());
  choose(step, buffers, x);
  if (shared_) {
    run_shared(step, arena, buffers, x, out);
  } else {
    std::fill_n(out, step.n_tokens() * width, 0.0f);
  }
  for (uint32_t expert = 0; expert < experts_.size(); ++expert) {
    const size_t n = gather(step, buffers, expert, x);
    if (n == 0) continue;
    experts_[expert].run_rows(step, arena, buffers.input, n, buffers.output);
    for (size_t i = 0; i < n; ++i) {
      const size_t token = buffers.routed[i];
      step.kernels().add_scaled(out + token * width, buffers.output + i * width,
                                weight_of(buffers, token, expert), width);
    }
  }
  return {};
}

void Experts::run_shared(Step& step, Arena arena, const Buffers& buffers, const float* x,
                         float* out) const {
  const size_t width = hidden_dim();
  shared_->run_rows(step, arena, x, step.n_tokens(), out);
  if (shared_gate_.matrix.n_rows == 0) return;
  step.project(x, step.n_tokens(), {{&shared_gate_, buffers.shared_gate}});
  step.for_each(step.n_tokens(), [&](size_t t) {
    const float share = exponential::sigmoid(buffers.shared_gate[t]);
    for (size_t i = 0; i < width; ++i) out[t * width + i] *= share;
  });
}

// Chooses the experts of every token.
void Experts::choose(Step& step, const Buffers& buffers, const float* x) const {
  step.project(x, step.n_tokens(), {{&router_, buffers.router}});
  for (size_t t = 0; t < step.n_tokens(); ++t) {
    choose_experts({buffers.router + t * experts_.size(), experts_.size()}, routing_,
                   choices(buffers, t));
  }
}

// Copies the rows of the tokens that chose the expert to `input`. Returns their number.
size_t Experts::gather(const Step& step, const Buffers& buffers, uint32_t expert,
                       const float* x) const {
  const size_t width = hidden_dim();
  size_t n = 0;
  for (uint32_t t = 0; t < step.n_tokens(); ++t) {
    if (weight_of(buffers, t, expert) == 0) continue;
    std::copy_n(x + t * width, width, buffers.input + n * width);
    buffers.routed[n++] = t;
  }
  return n;
}

std::span<ExpertChoice> Experts::choices(const Buffers& buffers, size_t token) const {
  return {buffers.choices + token * n_used_, n_used_};
}

// Returns the weight of an expert for a token; 0: the token did not choose the expert.
float Experts::weight_of(const Buffers& buffers, size_t token, uint32_t expert) const {
  for (const ExpertChoice& choice : choices(buffers, token)) {
    if (choice.expert == expert) return choice.weight;
  }
  return 0;
}

}  // namespace kinglet
