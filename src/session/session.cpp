#include "session/session.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.h"
#include "model/forward.h"

namespace kinglet {

Result<std::unique_ptr<Session>> Session::create(const Model& model, ThreadPool& pool,
                                                 const SessionOptions& options) {
  const ModelConfig& config = model.config();
  const uint32_t n_ctx =
      options.n_ctx == 0 ? std::min(config.context_length, kDefaultMaxCtx) : options.n_ctx;
  if (n_ctx > config.context_length) {
    return Error{ErrorCode::invalid_argument,
                 cat("a context of ", n_ctx, " positions was asked for, the model was trained for ",
                     config.context_length)};
  }
  if (options.n_batch == 0) {
    return Error{ErrorCode::invalid_argument,
                 "a batch of 0 tokens was asked for, expected 1 or more"};
  }
  KINGLET_ASSIGN(KvCache cache, KvCache::create({.n_layers = config.n_layers,
                                                 .n_kv_heads = config.n_kv_heads,
                                                 .head_dim = config.head_dim,
                                                 .capacity = n_ctx,
                                                 .k_kind = options.k_kind,
                                                 .v_kind = options.v_kind}));
  KINGLET_ASSIGN(Scratch scratch, Scratch::create(config, std::min(options.n_batch, n_ctx), n_ctx,
                                                  pool.n_threads()));
  return std::unique_ptr<Session>(new Session(model, pool, std::move(cache), std::move(scratch)));
}

Status Session::append(std::span<const TokenId> tokens, bool want_logits) {
  const uint32_t before = n_positions();
  if (tokens.size() > n_ctx() - before) {
    return Error{ErrorCode::context_full,
                 cat("the context is full: it holds ", before, " of ", n_ctx(), " positions, ",
                     tokens.size(), " more do not fit")};
  }
  Status status = append_batches(tokens, want_logits);
  if (!status.ok()) KINGLET_TRY(truncate(before));
  return status;
}

Status Session::append_batches(std::span<const TokenId> tokens, bool want_logits) {
  if (tokens.empty()) {
    return Error{ErrorCode::invalid_argument, "there are no tokens to append"};
  }
  while (!tokens.empty()) {
    const auto batch = tokens.first(std::min<size_t>(tokens.size(), n_batch()));
    tokens = tokens.subspan(batch.size());
    KINGLET_TRY(forward(model_, pool_, scratch_, cache_, batch, want_logits && tokens.empty()));
  }
  return want_logits ? check_logits() : Status();
}

Status Session::check_logits() {
  const std::span<const float> row = logits();
  const auto bad =
      std::find_if_not(row.begin(), row.end(), [](float x) { return std::isfinite(x); });
  if (bad != row.end()) {
    return Error{ErrorCode::not_finite,
                 cat("the logit of token ", bad - row.begin(), " behind position ",
                     n_positions() - 1, " is not a finite number: the weights are damaged")};
  }
  return {};
}

}  // namespace kinglet
