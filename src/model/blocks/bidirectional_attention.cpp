#include "model/blocks/bidirectional_attention.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/attention.h"
#include "model/step.h"

namespace kinglet {
namespace {

// The rows of a span are contiguous: one page.
constexpr uint32_t kOnlyPage[] = {0};

// Returns the slopes of ALiBi: 2^(-8 i / n) for i = 1 … n, if n is a power of two. For another
// number of heads, the first slopes are those of the next smaller power of two, and the rest are
// every second one of those of the next larger power.
std::vector<float> alibi_slopes(uint32_t n_heads) {
  const uint32_t whole = std::bit_floor(n_heads);
  std::vector<float> slopes;
  for (uint32_t head = 0; head < n_heads; ++head) {
    const bool is_first = head < whole;
    const auto i = static_cast<float>(is_first ? head + 1 : 2 * (head - whole) + 1);
    const auto n = static_cast<float>(is_first ? whole : 2 * whole);
    slopes.push_back(std::exp2(-kAlibiBias * i / n));
  }
  return slopes;
}

// Returns the rows of one head, which are kv_dim floats apart among the rows of all heads.
KvHead head_of(const float* rows, uint32_t head_dim, uint32_t kv_dim, size_t head) {
  const auto* codes = reinterpret_cast<const std::byte*>(rows + head * head_dim);
  return {KvKind::f32, {codes, kv_dim * sizeof(float), nullptr, 0}};
}

}  // namespace

Result<std::unique_ptr<Block>> BidirectionalAttention::load(LayerLoader& loader) {
  auto block = std::make_unique<BidirectionalAttention>();
  KINGLET_ASSIGN(block->inputs_, AttentionInputs::load(loader));
  KINGLET_ASSIGN(block->output_,
                 loader.linear("attn_output", loader.config().hidden_dim, block->inputs_.q_dim()));
  if (loader.traits().attention.alibi) block->slopes_ = alibi_slopes(loader.layer().n_heads);
  return std::unique_ptr<Block>(std::move(block));
}

BidirectionalAttention::Buffers BidirectionalAttention::lay_out(Arena& arena,
                                                                const BatchShape& batch) const {
  return {.query = arena.take<float>(batch.n_tokens * inputs_.q_dim()),
          .output = arena.take<float>(batch.n_tokens * inputs_.q_dim()),
          .pieces = arena.take<RowSpan>(batch.n_tokens),
          .per_thread = arena.take<std::byte>(batch.n_threads *
                                              attention_scratch_bytes(inputs_.layer.head_dim))};
}

ScratchNeeds BidirectionalAttention::scratch_needs(const BatchShape& batch) const {
  Arena arena;
  lay_out(arena, batch);
  return {arena.n_bytes(), std::max(inputs_.query.matrix.n_columns, output_.matrix.n_columns)};
}

void BidirectionalAttention::prepare(Step& step, Arena /*arena*/, const float* x) const {
  const size_t offset = step.first_row() * inputs_.kv_dim();
  float* const keys = step.rows().keys + offset;
  float* const values = step.rows().values + offset;
  step.project(x, step.n_tokens(), {{&inputs_.key, keys}, {&inputs_.value, values}});
  inputs_.finish_values(step, keys, values);
  inputs_.finish_keys(step, keys);
}

Status BidirectionalAttention::run(Step& step, Arena arena, const float* x, float* out) const {
  const Buffers buffers = lay_out(arena, step.shape());
  step.project(x, step.n_tokens(), {{&inputs_.query, buffers.query}});
  inputs_.finish_queries(step, buffers.query);
  attend(step, buffers);
  step.project(buffers.output, step.n_tokens(), {{&output_, out}});
  return {};
}

// One work item is the heads that share keys, times a piece: a few rows of one span.
void BidirectionalAttention::attend(Step& step, const Buffers& buffers) const {
  const LayerConfig& layer = inputs_.layer;
  const size_t most = tile_tokens(layer.n_heads / layer.n_kv_heads);
  const size_t end = step.first_row() + step.n_tokens();
  size_t n_pieces = 0;
  for (size_t row = step.first_row(); row < end;) {
    const size_t n = std::min({most, step.rows().span_of(row).end() - row, end - row});
    buffers.pieces[n_pieces++] = {row, n};
    row += n;
  }
  const size_t scratch_bytes = attention_scratch_bytes(layer.head_dim);
  step.pool().for_range(
      layer.n_kv_heads * n_pieces, 1, [&](size_t begin, size_t after, size_t thread) {
        for (size_t item = begin; item < after; ++item) {
          attend_rows(step, buffers, item / n_pieces, buffers.pieces[item % n_pieces],
                      buffers.per_thread + thread * scratch_bytes);
        }
      });
}

void BidirectionalAttention::attend_rows(Step& step, const Buffers& buffers, size_t kv_head,
                                         const RowSpan& piece, std::byte* scratch) const {
  const LayerConfig& layer = inputs_.layer;
  const size_t n_heads = layer.n_heads / layer.n_kv_heads;
  const EncoderRows& rows = step.rows();
  const RowSpan& span = rows.span_of(piece.first);
  const uint32_t kv_dim = inputs_.kv_dim();
  const size_t begin = span.first * kv_dim;
  const size_t offset =
      (piece.first - step.first_row()) * inputs_.q_dim() + kv_head * n_heads * layer.head_dim;
  kinglet::attend(
      step.kernels(),
      {.queries = buffers.query + offset,
       .output = buffers.output + offset,
       .token_stride = inputs_.q_dim(),
       .n_tokens = piece.n_rows,
       .n_heads = n_heads,
       .head_dim = layer.head_dim,
       .position = piece.first - span.first,
       .window = layer.window,
       .scale = layer.attention_scale,
       .softcap = 0,
       .n_positions = span.n_rows,
       .slopes = slopes_.empty() ? nullptr : slopes_.data() + kv_head * n_heads},
      {head_of(rows.keys + begin, layer.head_dim, kv_dim, kv_head),
       head_of(rows.values + begin, layer.head_dim, kv_dim, kv_head), kOnlyPage, span.n_rows, 0},
      scratch);
}

}  // namespace kinglet
