#include "model/row_encoder.h"

#include "model/forward.h"

namespace kinglet {
namespace {

uint64_t widest_keys(const ModelConfig& config) {
  uint64_t widest = 0;
  for (const LayerConfig& layer : config.layers) {
    widest = std::max(widest, uint64_t{layer.n_kv_heads} * layer.head_dim);
  }
  return widest;
}

}  // namespace

Result<RowEncoder> RowEncoder::create(const Model& model, ThreadPool& pool, uint32_t n_rows,
                                      uint32_t n_batch, const ScratchNeeds& others) {
  RowEncoder encoder(model, &pool, n_rows);
  KINGLET_ASSIGN(encoder.scratch_, Scratch::create(model, std::min(n_batch, n_rows),
                                                   pool.n_threads(), kMostLogitRows, others));
  KINGLET_ASSIGN(encoder.memory_,
                 AlignedBuffer::allocate(encoder.lay_out(Arena()), "the encoder's memory"));
  encoder.lay_out(Arena(encoder.memory_.data()));
  return encoder;
}

uint64_t RowEncoder::bytes_of(const Model& model, size_t n_threads, uint32_t n_rows,
                              uint32_t n_batch, const ScratchNeeds& others) {
  return RowEncoder(model, nullptr, n_rows).lay_out(Arena()) +
         Scratch::bytes_of(model, std::min(n_batch, n_rows), n_threads, kMostLogitRows, others);
}

// Returns the bytes. No product here overflows: config's dimensions are at most 2^20, the rows
// 2^32.
uint64_t RowEncoder::lay_out(Arena arena) {
  const ModelConfig& config = model_->config();
  const uint64_t n = capacity_;
  // Only encoders need these: a sequence and its steps have their own keys, values and angles.
  const bool is_encoder = config.architecture->is_encoder();
  const uint64_t kv_dim = is_encoder ? widest_keys(config) : 0;
  rows_.stream = arena.take<float>(n * config.hidden_dim);
  rows_.layer_inputs = arena.take<float>(is_encoder ? n * config.layer_inputs_width() : 0);
  rows_.keys = arena.take<float>(n * kv_dim);
  rows_.values = arena.take<float>(n * kv_dim);
  rows_.span_of_row = arena.take<uint32_t>(n);
  rows_.positions = arena.take<RopePosition>(is_encoder && config.rope.has_sections() ? n : 0);
  for (size_t i = 0; i < kRotationTables; ++i) {
    Angles& angles = rows_.angles[i];
    angles.n_pairs = is_encoder ? config.n_pairs(i) : 0;
    angles.cosines = arena.take<float>(n * angles.n_pairs);
    angles.sines = arena.take<float>(n * angles.n_pairs);
  }
  return arena.n_bytes();
}

void RowEncoder::divide(std::span<const size_t> lengths) {
  rows_.spans.clear();
  size_t first = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    rows_.spans.push_back({first, lengths[i]});
    std::fill_n(rows_.span_of_row + first, lengths[i], static_cast<uint32_t>(i));
    first += lengths[i];
  }
}

Status RowEncoder::run_layer(size_t index, const Cancellation& cancellation) {
  const auto& layers = model_->weights().layers;
  const Layer& layer = layers[index];
  const auto prepare = [&](Step& batch) -> Status {
    KINGLET_TRY(check_cancelled(cancellation, index, layers.size()));
    prepare_layer(batch, layer);
    return {};
  };
  KINGLET_TRY(for_each_batch(prepare));
  return for_each_batch([&](Step& batch) -> Status {
    KINGLET_TRY(check_cancelled(cancellation, index, layers.size()));
    return kinglet::run_layer(batch, layer);
  });
}

void RowEncoder::finish() { step(0, rows_.n_rows()).replace_stream(model_->weights().output_norm); }

}  // namespace kinglet
