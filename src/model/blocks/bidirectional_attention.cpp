#include "model/blocks/bidirectional_attention.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/attention.h"
#include "model/step.h"

namespace kinglet {
namespace {

// The rows of a text are contiguous: one page.
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
KvHead head_of(const float* rows, uint32_t head_dim, uint32_t kv_dim, uint32_t head) {
  const auto* codes = reinterpret_cast<const std::byte*>(rows + size_t{head} * head_dim);
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
  float* const keys = step.texts().keys + offset;
  step.project(x, step.n_tokens(),
               {{&inputs_.key, keys}, {&inputs_.value, step.texts().values + offset}});
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

// One work item is the heads that share keys, times a few tokens, which may be of several texts.
void BidirectionalAttention::attend(Step& step, const Buffers& buffers) const {
  const LayerConfig& layer = inputs_.layer;
  const size_t n_tokens = tile_tokens(layer.n_heads / layer.n_kv_heads);
  const size_t n_tiles = (step.n_tokens() + n_tokens - 1) / n_tokens;
  const size_t scratch_bytes = attention_scratch_bytes(layer.head_dim);
  step.pool().for_range(layer.n_kv_heads * n_tiles, 1,
                        [&](size_t begin, size_t end, size_t thread) {
                          for (size_t item = begin; item < end; ++item) {
                            const auto kv_head = static_cast<uint32_t>(item / n_tiles);
                            const size_t from = item % n_tiles * n_tokens;
                            const size_t to = std::min(from + n_tokens, step.n_tokens());
                            for (size_t first = from; first < to;) {
                              const TextSpan& text = step.texts().span_of(step.first_row() + first);
                              const size_t after = text.first + text.n_tokens - step.first_row();
                              const size_t n = std::min(after, to) - first;
                              attend_rows(step, buffers, kv_head, first, n,
                                          buffers.per_thread + thread * scratch_bytes);
                              first += n;
                            }
                          }
                        });
}

// Computes n tokens of one text, from the step's token `first` on.
void BidirectionalAttention::attend_rows(Step& step, const Buffers& buffers, uint32_t kv_head,
                                         size_t first, size_t n, std::byte* scratch) const {
  const LayerConfig& layer = inputs_.layer;
  const size_t n_heads = layer.n_heads / layer.n_kv_heads;
  const Texts& texts = step.texts();
  const size_t row = step.first_row() + first;
  const TextSpan& text = texts.span_of(row);
  const uint32_t kv_dim = inputs_.kv_dim();
  const size_t begin = text.first * kv_dim;
  const size_t offset = first * inputs_.q_dim() + kv_head * n_heads * layer.head_dim;
  kinglet::attend(
      step.kernels(),
      {.queries = buffers.query + offset,
       .output = buffers.output + offset,
       .token_stride = inputs_.q_dim(),
       .n_tokens = n,
       .n_heads = n_heads,
       .head_dim = layer.head_dim,
       .position = row - text.first,
       .window = layer.window,
       .scale = layer.attention_scale,
       .softcap = 0,
       .n_positions = text.n_tokens,
       .slopes = slopes_.empty() ? nullptr : slopes_.data() + kv_head * n_heads},
      {head_of(texts.keys + begin, layer.head_dim, kv_dim, kv_head),
       head_of(texts.values + begin, layer.head_dim, kv_dim, kv_head), kOnlyPage, text.n_tokens, 0},
      scratch);
}

}  // namespace kinglet
