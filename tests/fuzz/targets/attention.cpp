// Attention over rows of every kind of cache: every kernel set gives scalar's results.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/format.h"
#include "fuzz/input.h"
#include "kv/kv_cache.h"

namespace kinglet::fuzz {
namespace {

constexpr uint32_t kMaxPositions = 80;
constexpr uint32_t kMaxTileHeadDim = 72;
constexpr uint32_t kMaxTileRows = kTileRows + 4;  // of tokens and heads: more than a tile has

std::vector<float> attend_with(const KernelSet& kernels, AttentionTile tile, const KvView& view) {
  std::vector<float> output(tile.n_tokens * tile.token_stride, NAN);
  std::vector<float> scratch(attention_scratch_bytes(tile.head_dim) / sizeof(float));
  tile.output = output.data();
  attend(kernels, tile, view, reinterpret_cast<std::byte*>(scratch.data()));
  return output;
}

}  // namespace

void attention(Bytes bytes) {
  Input input(bytes);
  const auto kind = [&] { return static_cast<KvKind>(input.up_to(kNKvKinds - 1)); };
  const uint32_t head_dim = 1 + input.up_to(kMaxTileHeadDim - 1);
  const uint32_t n_positions = 1 + input.up_to(kMaxPositions - 1);
  KvStoreConfig config{.rows = {{0, 1, head_dim}},
                       .k_kind = kind(),
                       .v_kind = kind(),
                       .page_positions = 1 + input.up_to(kMaxPositions)};
  config.n_pages = (n_positions - 1) / config.page_positions + 1;
  auto store = KvStore::create(config);
  check(store.ok(), "a small store is refused");
  KvCache cache(store.value(), n_positions);
  const uint32_t n_heads = 1 + input.up_to(kMaxTileRows - 1);
  const uint32_t n_tokens = 1 + input.up_to(std::min(n_positions, kMaxTileRows / n_heads) - 1);
  AttentionTile tile{.queries = nullptr,
                     .output = nullptr,
                     .token_stride = size_t{n_heads} * head_dim,
                     .n_tokens = n_tokens,
                     .n_heads = n_heads,
                     .head_dim = head_dim,
                     .position = n_positions - n_tokens,
                     .window = input.up_to(kMaxPositions),
                     .scale = 1.0f / std::sqrt(static_cast<float>(head_dim)),
                     .softcap = static_cast<float>(input.up_to(3))};
  const std::vector<float> queries = input.weights(n_tokens * tile.token_stride);
  tile.queries = queries.data();
  check(cache.reserve(n_positions).ok(), "room is refused");
  for (uint32_t p = 0; p < n_positions; ++p) {
    const std::vector<float> key = input.weights(head_dim);
    const std::vector<float> value = input.weights(head_dim);
    check(cache.write(0, p, key, value).ok(), "a row is refused");
  }
  check(cache.commit(n_positions).ok(), "rows are not taken");

  const KvView view = cache.view(0, 0);
  const auto expected = attend_with(scalar_kernels(), tile, view);
  for (const KernelSet* kernels : available_kernels()) {
    const auto found = attend_with(*kernels, tile, view);
    for (size_t i = 0; i < found.size(); ++i) {
      // Scores of up to 550 are rounded, and their small differences become factors.
      if (!(std::fabs(found[i] - expected[i]) <= 0.02f)) report(cat(kernels->name, ": attention"));
    }
  }
}

}  // namespace kinglet::fuzz
