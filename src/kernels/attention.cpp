#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/arena.h"
#include "base/checked.h"

namespace kinglet {
namespace {

// With fewer heads than this, a single token is faster without transposed queries.
constexpr size_t kTransposedHeads = 4;

constexpr size_t kMaxGroups = kTileRows / kMaxQueryRows;

static_assert(kExactPositions % kAttentionBlock == 0, "a block of attention has one kind");

struct Buffers {
  size_t stride;          // head_dim rounded up to whole blocks
  float* queries;         // [kTileRows][stride]
  int16_t* codes;         // [kTileRows][stride]
  std::byte* transposed;  // [kMaxGroups][stride][kMaxQueryRows] floats, or codes
  float* block;           // [kAttentionBlock][stride]: rows of a block, as floats or gathered

  Buffers(Arena& arena, size_t head_dim)
      : stride(static_cast<size_t>(round_up(head_dim, kKvBlock))),
        queries(arena.take<float>(kTileRows * stride)),
        codes(arena.take<int16_t>(kTileRows * stride)),
        transposed(arena.take<std::byte>(kTileRows * stride * sizeof(float))),
        block(arena.take<float>(kAttentionBlock * stride)) {}
};

// At most kTileRows query rows and the state of their softmaxes. Kernels take groups of
// kMaxQueryRows rows.
class Rows {
 public:
  Rows(const KernelSet& kernels, const AttentionTile& tile, const KvView& cache, size_t first_row,
       size_t n_rows, const Buffers& buffers)
      : kernels_(kernels), tile_(tile), cache_(cache), n_rows_(n_rows), buffers_(buffers) {
    const size_t stride = buffers.stride;
    for (size_t i = 0; i < n_rows; ++i) {
      const size_t token = (first_row + i) / tile.n_heads;
      const size_t head = (first_row + i) % tile.n_heads;
      const size_t offset = token * tile.token_stride + head * tile.head_dim;
      position_[i] = tile.position + token;
      slope_[i] = tile.slopes == nullptr ? 0.0f : tile.slopes[head];
      find_seen(i);
      largest_[i] = -std::numeric_limits<float>::infinity();
      sum_[i] = 0.0f;
      output_[i] = tile.output + offset;
      std::fill_n(output_[i], tile.head_dim, 0.0f);

      float* row = buffers.queries + i * stride;
      for (size_t j = 0; j < tile.head_dim; ++j) row[j] = tile.queries[offset + j] * tile.scale;
    }
    score_centre();
    for (size_t i = 0; i < n_rows; ++i) {
      float* row = buffers.queries + i * stride;
      if (kv_kind_info(cache.keys.kind).rotates) rotate_blocks(row, tile.head_dim);
      if (kv_kind_info(cache.keys.kind).has_integer_codes) {
        query_scales_[i] = kernels.quantize_query(row, tile.head_dim, stride, cache.keys.kind,
                                                  buffers.codes + i * stride);
      }
    }
    for (size_t first = 0; first < n_rows; first += kMaxQueryRows) add_group(first);
  }

  void attend() {
    const size_t end = *std::max_element(end_, end_ + n_rows_);
    size_t position = *std::min_element(begin_, begin_ + n_rows_);
    while (position < end) {
      // Blocks end at multiples of kAttentionBlock from position 0, so neither what a window leaves
      // out nor the size of pages changes how sums are grouped.
      const size_t n = std::min(kAttentionBlock - position % kAttentionBlock, end - position);
      attend_block(position, n);
      position += n;
    }
    for (size_t row = 0; row < n_rows_; ++row) {
      const float factor = 1.0f / sum_[row];
      for (size_t i = 0; i < tile_.head_dim; ++i) output_[row][i] *= factor;
      if (kv_kind_info(cache_.values.kind).rotates) rotate_blocks(output_[row], tile_.head_dim);
    }
  }

 private:
  struct Group {
    size_t first;  // row
    size_t n_rows;
    size_t begin;  // the positions that any of the rows sees
    size_t end;
    Queries queries;

    // Returns how many of the n positions from `position` on the group needs: those up to its last.
    size_t n_needed(size_t position, size_t n) const {
      return begin >= position + n || end <= position ? 0 : std::min(n, end - position);
    }
  };

  // Multiplies the queries by the centre of the keys as by a key. Without a centre, scores are 0.
  void score_centre() {
    std::fill_n(centre_score_, n_rows_, 0.0f);
    if (cache_.centre == nullptr) return;
    const KvRows centre = {reinterpret_cast<const std::byte*>(cache_.centre), 0, nullptr, 0};
    alignas(kAlignment) float scores[kMaxQueryRows * kAttentionBlock];
    for (size_t first = 0; first < n_rows_; first += kMaxQueryRows) {
      const size_t n = std::min(kMaxQueryRows, n_rows_ - first);
      attention_kernels(kernels_, KvKind::f32).score(queries_from(first), n, centre, 1, scores);
      for (size_t i = 0; i < n; ++i) centre_score_[first + i] = scores[i * kAttentionBlock];
    }
  }

  Queries queries_from(size_t row) const {
    const size_t stride = buffers_.stride;
    return {.values = buffers_.queries + row * stride,
            .codes = buffers_.codes + row * stride,
            .scales = query_scales_ + row,
            .offsets = centre_score_ + row,
            .stride = stride,
            .head_dim = tile_.head_dim,
            .transposed = nullptr,
            .transposed_codes = nullptr};
  }

  void add_group(size_t first) {
    Group& group = groups_[n_groups_++];
    group.first = first;
    group.n_rows = std::min(kMaxQueryRows, n_rows_ - first);
    group.begin = *std::min_element(begin_ + first, begin_ + first + group.n_rows);
    group.end = *std::max_element(end_ + first, end_ + first + group.n_rows);
    group.queries = queries_from(first);
    // A token's results must not depend on the number of tokens in a call. So this depends on the
    // number of rows that a single token has, except for whole texts, which have many tokens.
    if (!kernels_.reads_transposed) return;
    if (tile_.n_positions == 0 && tile_.n_heads < kTransposedHeads) return;
    const size_t stride = buffers_.stride;
    std::byte* transposed = buffers_.transposed + first * stride * sizeof(float);
    if (kv_kind_info(cache_.keys.kind).has_integer_codes) {
      group.queries.transposed_codes =
          transpose<int16_t, 2>(group.queries.codes, group.n_rows, stride, transposed);
    } else {
      group.queries.transposed =
          transpose<float, 1>(group.queries.values, group.n_rows, tile_.head_dim, transposed);
    }
  }

  // Writes each kGroup neighbours of the first n elements of a row beside those of the other rows.
  template <class T, size_t kGroup>
  const T* transpose(const T* rows, size_t n_rows, size_t n, std::byte* memory) const {
    auto* transposed = reinterpret_cast<T*>(memory);
    std::fill_n(transposed, n * kMaxQueryRows, T{});
    for (size_t row = 0; row < n_rows; ++row) {
      for (size_t i = 0; i < n; ++i) {
        const size_t group = i / kGroup * kMaxQueryRows + row;
        transposed[group * kGroup + i % kGroup] = rows[row * buffers_.stride + i];
      }
    }
    return transposed;
  }

  // Finds the positions that a row sees.
  void find_seen(size_t row) {
    const size_t own = position_[row];
    // How far a row with a window sees to its left, and in whole texts also to its right.
    const size_t left = tile_.n_positions == 0 ? tile_.window - 1 : tile_.window / 2;
    const bool sees_all = tile_.window == 0;
    begin_[row] = sees_all || own <= left ? 0 : own - left;
    end_[row] = std::max(own + 1, tile_.n_seen);
    if (tile_.n_positions == 0) return;
    const size_t after = tile_.n_positions - end_[row];
    end_[row] += sees_all ? after : std::min(after, left);
  }

  // Keys, and then values, are read for one group after the other, while they are in the cache.
  void attend_block(size_t position, size_t n) {
    alignas(kAlignment) float scores[kTileRows * kAttentionBlock];
    float factors[kTileRows];
    const KvRows keys = read(cache_.keys, position, n);
    for (const Group& group : groups()) {
      const size_t n_needed = group.n_needed(position, n);
      if (n_needed == 0) continue;
      float* group_scores = scores + group.first * kAttentionBlock;
      attention_kernels(kernels_, cache_.keys.kind_at(position))
          .score(group.queries, group.n_rows, keys, n_needed, group_scores);
      for (size_t row = group.first; row < group.first + group.n_rows; ++row) {
        factors[row] = weigh_scores(position, n_needed, row, scores + row * kAttentionBlock);
      }
    }
    const KvRows values = read(cache_.values, position, n);
    for (const Group& group : groups()) {
      const size_t n_needed = group.n_needed(position, n);
      if (n_needed == 0) continue;
      attention_kernels(kernels_, cache_.values.kind_at(position))
          .weigh(scores + group.first * kAttentionBlock, factors + group.first, group.n_rows,
                 values, n_needed, tile_.head_dim, output_ + group.first);
    }
  }

  std::span<const Group> groups() const { return {groups_, n_groups_}; }

  // Returns the n rows from `position` on as kernels take them: converted to floats if their kind
  // asks for it, and one after the other, whatever pages they are in.
  KvRows read(const KvHead& head, size_t position, size_t n) const {
    const KvKind kind = head.kind_at(position);
    if (attention_kernels(kernels_, kind).widen != nullptr) return widen(head, position, n);
    if (n <= cache_.n_adjacent(head, position)) return cache_.rows(head, position);
    return gather(head, position, n);
  }

  // Calls f(i, rows, n) for each run of adjacent rows; the run's first row is at position + i.
  template <class F>
  void for_each_run(const KvHead& head, size_t position, size_t n, const F& f) const {
    for (size_t i = 0; i < n;) {
      const size_t n_run = std::min(n - i, cache_.n_adjacent(head, position + i));
      f(i, cache_.rows(head, position + i), n_run);
      i += n_run;
    }
  }

  KvRows widen(const KvHead& head, size_t position, size_t n) const {
    const auto widen_run = attention_kernels(kernels_, head.kind_at(position)).widen;
    for_each_run(head, position, n, [&](size_t i, const KvRows& run, size_t n_run) {
      widen_run(run, n_run, tile_.head_dim, buffers_.stride, buffers_.block + i * buffers_.stride);
    });
    return {reinterpret_cast<const std::byte*>(buffers_.block), buffers_.stride * sizeof(float),
            nullptr, 0};
  }

  KvRows gather(const KvHead& head, size_t position, size_t n) const {
    const KvKindInfo& info = kv_kind_info(head.kind_at(position));
    const auto code_bytes = static_cast<size_t>(info.code_bytes(tile_.head_dim));
    const auto n_scales = static_cast<size_t>(info.n_scales(tile_.head_dim));
    float* scales = buffers_.block;
    auto* codes = reinterpret_cast<std::byte*>(scales + n * n_scales);
    for_each_run(head, position, n, [&](size_t i, const KvRows& run, size_t n_run) {
      copy_rows(run.codes, run.code_stride, n_run, code_bytes, codes + i * code_bytes);
      copy_rows(run.scales, run.scale_stride, n_run, n_scales, scales + i * n_scales);
    });
    return {codes, code_bytes, scales, n_scales};
  }

  // Copies rows of `size` elements that are `stride` apart, without gaps.
  template <class T>
  static void copy_rows(const T* rows, size_t stride, size_t n_rows, size_t size, T* out) {
    if (stride == size) {
      std::copy_n(rows, n_rows * size, out);
      return;
    }
    for (size_t i = 0; i < n_rows; ++i) std::copy_n(rows + i * stride, size, out + i * size);
  }

  // Replaces scores by weights: 0 for positions that the row does not see or that do not exist.
  // Returns the factor for earlier sums.
  float weigh_scores(size_t position, size_t n, size_t row, float* scores) {
    const size_t begin = std::clamp(begin_[row], position, position + n) - position;
    const size_t end = std::clamp(end_[row], position, position + n) - position;
    // Usually there is nothing to fill. In wasm, filling nothing is a call, too.
    if (begin > 0) std::fill(scores, scores + begin, 0.0f);
    if (end < kAttentionBlock) std::fill(scores + end, scores + kAttentionBlock, 0.0f);
    if (begin >= end) return 1.0f;
    if (tile_.softcap > 0) kernels_.softcap(scores + begin, tile_.softcap, end - begin);
    if (tile_.slopes != nullptr) subtract_distances(position, begin, end, row, scores);
    return kernels_.softmax_part(scores + begin, end - begin, largest_[row], sum_[row]);
  }

  // Applies ALiBi to the positions [begin, end) of the block at `position`.
  void subtract_distances(size_t position, size_t begin, size_t end, size_t row,
                          float* scores) const {
    const size_t own = position_[row];
    for (size_t i = begin; i < end; ++i) {
      const size_t seen = position + i;
      const size_t distance = std::max(own, seen) - std::min(own, seen);
      scores[i] -= slope_[row] * static_cast<float>(distance);
    }
  }

  const KernelSet& kernels_;
  const AttentionTile& tile_;
  const KvView& cache_;
  size_t n_rows_;
  Buffers buffers_;
  Group groups_[kMaxGroups] = {};
  size_t n_groups_ = 0;
  size_t position_[kTileRows];
  float slope_[kTileRows];
  size_t begin_[kTileRows];  // the positions that a row sees
  size_t end_[kTileRows];
  float query_scales_[kTileRows];
  float centre_score_[kTileRows];  // the centre of the keys times the query
  float largest_[kTileRows];
  float sum_[kTileRows];
  float* output_[kTileRows];
};

}  // namespace

KvRows KvView::rows(const KvHead& head, size_t position) const {
  if (head.is_exact_at(position)) {
    const KvRows& exact = head.exact;
    return {exact.codes + position * exact.code_stride, exact.code_stride, nullptr, 0};
  }
  const size_t page = pages[position / page_positions] * page_bytes;
  const size_t row = position % page_positions;
  const KvRows& first = head.first_page;
  return {first.codes + page + row * first.code_stride, first.code_stride,
          first.scales + page / sizeof(float) + row * first.scale_stride, first.scale_stride};
}

size_t KvView::n_adjacent(const KvHead& head, size_t position) const {
  return head.is_exact_at(position) ? kExactPositions - position
                                    : page_positions - position % page_positions;
}

size_t attention_scratch_bytes(size_t head_dim) {
  Arena arena;
  Buffers(arena, head_dim);
  return static_cast<size_t>(arena.n_bytes());
}

void attend(const KernelSet& kernels, const AttentionTile& tile, const KvView& cache,
            std::byte* scratch) {
  Arena arena(scratch);
  const Buffers buffers(arena, tile.head_dim);
  const size_t n_rows = tile.n_tokens * tile.n_heads;
  for (size_t row = 0; row < n_rows; row += kTileRows) {
    Rows(kernels, tile, cache, row, std::min(kTileRows, n_rows - row), buffers).attend();
  }
}

}  // namespace kinglet
