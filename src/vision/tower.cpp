#include "vision/tower.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/format.h"
#include "base/sin_cos.h"
#include "kernels/attention.h"
#include "kernels/packing.h"
#include "vision/position_taps.h"

namespace kinglet {
namespace {

constexpr double kTheta = 10000;        // base of the rotation angles of heads
constexpr float kQuickGelu = 1.702f;    // Hendrycks and Gimpel, 2016
constexpr float kInputEpsilon = 1e-5f;  // of the norm before the output's MLP
constexpr uint32_t kOnlyPage[] = {0};   // keys and values are in one piece

size_t n_pixels_of(const VisionConfig& config) {
  return size_t{kChannels} * config.patch_size * config.patch_size;
}

// Returns the largest width of values between two matrices of a layer, or of a patch's pixels.
size_t inner_width(const VisionModel& model) {
  const VisionWeights& w = model.weights();
  size_t widest = n_pixels_of(model.config());
  for (const TowerLayer& layer : w.layers) widest = std::max(widest, layer.up.matrix.n_rows);
  return widest;
}

// Returns the largest width of values between or after the matrices of outputs.
size_t output_width(const VisionModel& model) {
  const VisionWeights& w = model.weights();
  size_t widest = std::max<size_t>(w.output.first.matrix.n_rows, w.row_width);
  for (const TowerLayer& layer : w.layers) {
    widest = std::max(widest, layer.deepstack.first.matrix.n_rows);
  }
  return widest;
}

KvHead head_of(const float* rows, const VisionConfig& config, size_t head) {
  const auto* codes = reinterpret_cast<const std::byte*>(rows + head * config.head_dim);
  return {KvKind::f32, {codes, config.hidden_dim * sizeof(float), nullptr, 0}};
}

}  // namespace

// --- Memory -------------------------------------------------------------------------------------

// No product overflows: there are at most 2^16 patches, and the file limits the dimensions of
// tensors.
Tower::Buffers Tower::lay_out(Arena& arena, size_t n_patches) const {
  const VisionConfig& c = config();
  const uint64_t all = n_patches;
  const uint64_t batch = std::min<uint64_t>(n_batch_, n_patches);
  const uint64_t width = c.hidden_dim;
  // A single row may consist of more patches than a batch has.
  const uint64_t merged_patches = std::max<uint64_t>(batch, uint64_t{c.merge} * c.merge);
  const uint64_t merged_rows = std::max<uint64_t>(batch / (uint64_t{c.merge} * c.merge), 1);
  const uint64_t inner = inner_width(*model_);
  const uint64_t outer = output_width(*model_);
  const uint64_t pairs = c.rotates() ? c.head_dim / 2 : 0;
  const uint64_t widest = std::max({inner, width, outer});
  Buffers b{};
  b.stream = arena.take<float>(all * width);
  b.keys = arena.take<float>(all * width);
  b.values = arena.take<float>(all * width);
  b.cosines = arena.take<float>(all * pairs);
  b.sines = arena.take<float>(all * pairs);
  const uint64_t arranged = has_windows() ? all : 0;
  b.places = arena.take<uint32_t>(arranged);
  b.patches = arena.take<uint32_t>(arranged);
  b.normed = arena.take<float>(merged_patches * width);
  b.query = arena.take<float>(batch * width);
  b.attended = arena.take<float>(batch * width);
  b.made = arena.take<float>(batch * width);
  b.inner = arena.take<float>(std::max(batch * inner, merged_rows * outer));
  b.up = arena.take<float>(batch * inner);
  b.rows = arena.take<float>(merged_rows * outer);
  b.per_thread = arena.take<std::byte>(
      pool_->n_threads() *
      std::max<uint64_t>(attention_scratch_bytes(c.head_dim), widest * sizeof(float)));
  const bool is_tabulated = needs_tables(model_->header(), kernels());
  // Rows of merged patches are wider, and there are fewer of them.
  const uint64_t n_numbers =
      std::max({batch * widest, merged_patches * width, merged_rows * widest});
  b.projections = ProjectionScratch::take(arena, kernels(), batch, (n_numbers + batch - 1) / batch,
                                          is_tabulated);
  return b;
}

uint64_t Tower::bytes_for(size_t n_patches) const {
  Arena arena;
  lay_out(arena, n_patches);
  return arena.n_bytes();
}

Status Tower::begin(const Tile& tile) {
  across_ = tile.size.width / config().patch_size;
  down_ = tile.size.height / config().patch_size;
  const uint64_t bytes = bytes_for(n_patches());
  if (bytes > memory_.size()) {
    memory_ = AlignedBuffer();  // frees the old memory first
    KINGLET_ASSIGN(memory_, AlignedBuffer::allocate(bytes, "reading a picture"));
  }
  Arena arena(memory_.data());
  buffers_ = lay_out(arena, n_patches());
  return {};
}

// --- Rows ---------------------------------------------------------------------------------------

template <class F>
void Tower::for_each(size_t n, const F& f) const {
  pool_->for_range(n, 1, [&](size_t begin, size_t end, size_t thread) {
    for (size_t i = begin; i < end; ++i) f(i, thread);
  });
}

// Calls f(batch) for batches of n rows.
template <class F>
Status Tower::for_each_batch(size_t n, size_t n_batch, const Cancellation& cancellation,
                             const F& f) {
  for (size_t first = 0; first < n; first += n_batch) {
    if (cancellation.requested()) {
      return Error{ErrorCode::cancelled, "cancelled while a picture was read"};
    }
    f(Batch{first, std::min(n_batch, n - first)});
  }
  return {};
}

void Tower::normalize(const float* x, const Norm& norm, size_t n_rows, float* out) const {
  if (norm.weight == nullptr) return;
  const float epsilon = config().norm_epsilon;
  for_each(n_rows, [&](size_t row, size_t) {
    const size_t at = row * norm.width;
    if (config().projector->has_rms_norms) {
      kernels().rms_norm(x + at, norm.weight, epsilon, norm.width, out + at);
      return;
    }
    kernels().layer_norm(x + at, norm.weight, norm.bias, epsilon, norm.width, out + at);
  });
}

void Tower::add_to_stream(Batch batch) {
  const size_t width = config().hidden_dim;
  kernels().add_scaled(buffers_.stream + batch.first * width, buffers_.made, 1.0f, batch.n * width);
}

// --- Patches ------------------------------------------------------------------------------------

Status Tower::embed(const Picture& picture, const Tile& tile, const Cancellation& cancellation) {
  KINGLET_TRY(begin(tile));
  const VisionWeights& w = model_->weights();
  const size_t width = config().hidden_dim;
  if (has_windows()) arrange_windows();
  if (config().rotates()) compute_angles();
  return for_each_batch(n_patches(), n_batch_, cancellation, [&](Batch batch) {
    float* const rows = buffers_.stream + batch.first * width;
    gather_patches(picture, tile, batch);
    project(buffers_.inner, batch.n, {{&w.filters, rows}});
    if (w.second_filters.matrix.n_rows > 0) {
      project(buffers_.inner, batch.n, {{&w.second_filters, buffers_.made}});
      add_to_stream(batch);
    }
    add_positions(batch);
    normalize(rows, w.pre_norm, batch.n, rows);
  });
}

// inner [n][kChannels][patch_size][patch_size] = (pixel / 255 - mean) / deviation.
void Tower::gather_patches(const Picture& picture, const Tile& tile, Batch batch) {
  const VisionConfig& c = config();
  const size_t side = c.patch_size;
  float values[kChannels][256];
  for (size_t i = 0; i < kChannels; ++i) {
    for (int code = 0; code < 256; ++code) {
      values[i][code] = (static_cast<float>(code) / 255.0f - c.mean[i]) / c.deviation[i];
    }
  }
  for_each(batch.n, [&](size_t i, size_t) {
    const auto place = static_cast<uint32_t>(place_of(batch.first + i));
    const uint32_t x = tile.x + place % across_ * c.patch_size;
    const uint32_t y = tile.y + place / across_ * c.patch_size;
    float* const out = buffers_.inner + i * n_pixels_of(c);
    for (uint32_t line = 0; line < c.patch_size; ++line) {
      const uint8_t* pixel = picture.row(y + line) + size_t{x} * kChannels;
      for (size_t column = 0; column < side; ++column) {
        for (size_t channel = 0; channel < kChannels; ++channel) {
          out[(channel * side + line) * side + column] = values[channel][*pixel++];
        }
      }
    }
  });
}

void Tower::add_positions(Batch batch) {
  const VisionWeights& w = model_->weights();
  const size_t width = config().hidden_dim;
  const size_t stride = std::max({inner_width(*model_), width, output_width(*model_)});
  const Positions kind = config().projector->positions;
  if (kind == Positions::rotated) return;
  const PositionTaps columns = PositionTaps::make(w.positions_side, across_, kind);
  const PositionTaps lines = PositionTaps::make(w.positions_side, down_, kind);
  for_each(batch.n, [&](size_t i, size_t thread) {
    const size_t patch = batch.first + i;
    const size_t place = place_of(patch);
    float* const learned = reinterpret_cast<float*>(buffers_.per_thread) + thread * stride;
    const PositionTaps::Span& line = lines.spans[place / across_];
    const PositionTaps::Span& column = columns.spans[place % across_];
    for (size_t y = 0; y < line.weights.size(); ++y) {
      for (size_t x = 0; x < column.weights.size(); ++x) {
        const size_t at = (line.first + y) * w.positions_side + column.first + x;
        dequantize_row(w.positions, at, learned);
        kernels().add_scaled(buffers_.stream + patch * width, learned,
                             line.weights[y] * column.weights[x], width);
      }
    }
  });
}

// The first half of a head's pairs is rotated by the line, the second half by the column.
void Tower::compute_angles() {
  const size_t n_pairs = config().head_dim / 2;
  const size_t n_each = n_pairs / 2;
  for (size_t patch = 0; patch < n_patches(); ++patch) {
    const size_t place = place_of(patch);
    for (size_t i = 0; i < n_pairs; ++i) {
      const auto at = static_cast<double>(i < n_each ? place / across_ : place % across_);
      const auto exponent = static_cast<double>(i % n_each) / static_cast<double>(n_each);
      const auto [sin, cos] = sin_cos(at * std::pow(kTheta, -exponent));
      buffers_.cosines[patch * n_pairs + i] = static_cast<float>(cos);
      buffers_.sines[patch * n_pairs + i] = static_cast<float>(sin);
    }
  }
}

// Orders windows line by line, and patches line by line in each window. Windows at the right and at
// the bottom may be smaller.
void Tower::arrange_windows() {
  const uint32_t side = config().window;
  uint32_t patch = 0;
  windows_.clear();
  for (uint32_t top = 0; top < down_; top += side) {
    for (uint32_t left = 0; left < across_; left += side) {
      const uint32_t first = patch;
      for (uint32_t y = top; y < std::min(top + side, down_); ++y) {
        for (uint32_t x = left; x < std::min(left + side, across_); ++x) {
          const uint32_t place = y * across_ + x;
          buffers_.patches[place] = patch;
          buffers_.places[patch++] = place;
        }
      }
      windows_.push_back({first, patch - first});
    }
  }
}

// --- Layers -------------------------------------------------------------------------------------

Status Tower::run_layer(size_t index, const Cancellation& cancellation, ImageRows& image) {
  const TowerLayer& layer = model_->weights().layers[index];
  KINGLET_TRY(for_each_batch(n_patches(), n_batch_, cancellation,
                             [&](Batch batch) { prepare_keys(layer, batch); }));
  const Batch whole{0, n_patches()};
  const std::span windows =
      config().has_window(index) ? std::span<const Batch>(windows_) : std::span(&whole, 1);
  KINGLET_TRY(for_each_batch(n_patches(), n_batch_, cancellation, [&](Batch batch) {
    run_attention(layer, batch, windows);
    run_ffn(layer, batch);
  }));
  if (!layer.deepstack.is_there()) return {};
  const auto& layers = model_->weights().layers;
  const auto n_before =
      std::count_if(layers.begin(), layers.begin() + static_cast<ptrdiff_t>(index),
                    [](const TowerLayer& l) { return l.deepstack.is_there(); });
  const uint32_t column = model_->weights().row_width * static_cast<uint32_t>(1 + n_before);
  return add_columns(layer.deepstack, column, cancellation, image);
}

void Tower::prepare_keys(const TowerLayer& layer, Batch batch) {
  const size_t at = batch.first * config().hidden_dim;
  normalize(buffers_.stream + at, layer.attention_norm, batch.n, buffers_.normed);
  project(buffers_.normed, batch.n,
          {{&layer.key, buffers_.keys + at}, {&layer.value, buffers_.values + at}});
  rotate(buffers_.keys + at, batch);
}

void Tower::run_attention(const TowerLayer& layer, Batch batch, std::span<const Batch> windows) {
  const size_t at = batch.first * config().hidden_dim;
  normalize(buffers_.stream + at, layer.attention_norm, batch.n, buffers_.normed);
  project(buffers_.normed, batch.n, {{&layer.query, buffers_.query}});
  rotate(buffers_.query, batch);
  attend(batch, windows);
  project(buffers_.attended, batch.n, {{&layer.output, buffers_.made}});
  add_to_stream(batch);
}

void Tower::rotate(float* heads, Batch batch) const {
  if (!config().rotates()) return;
  const VisionConfig& c = config();
  const size_t n_pairs = c.head_dim / 2;
  for_each(batch.n, [&](size_t i, size_t) {
    const size_t angles = (batch.first + i) * n_pairs;
    for (size_t head = 0; head < c.n_heads; ++head) {
      kernels().rope_halves(heads + i * c.hidden_dim + head * c.head_dim, buffers_.cosines + angles,
                            buffers_.sines + angles, n_pairs);
    }
  });
}

// Each work item is one head for a few patches of one window.
void Tower::attend(Batch batch, std::span<const Batch> windows) {
  struct Piece {
    Batch patches;
    Batch window;
  };
  const VisionConfig& c = config();
  std::vector<Piece> pieces;
  for (const Batch& window : windows) {
    const size_t end = std::min(batch.first + batch.n, window.first + window.n);
    for (size_t at = std::max(batch.first, window.first); at < end; at += tile_tokens(1)) {
      pieces.push_back({{at, std::min(tile_tokens(1), end - at)}, window});
    }
  }
  const size_t scratch_bytes = attention_scratch_bytes(c.head_dim);
  for_each(c.n_heads * pieces.size(), [&](size_t item, size_t thread) {
    const size_t head = item / pieces.size();
    const auto& [patches, window] = pieces[item % pieces.size()];
    const size_t offset = (patches.first - batch.first) * c.hidden_dim + head * c.head_dim;
    const size_t seen = window.first * c.hidden_dim;
    kinglet::attend(kernels(),
                    {.queries = buffers_.query + offset,
                     .output = buffers_.attended + offset,
                     .token_stride = c.hidden_dim,
                     .n_tokens = patches.n,
                     .n_heads = 1,
                     .head_dim = c.head_dim,
                     .position = patches.first - window.first,
                     .window = 0,
                     .scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim)),
                     .softcap = 0,
                     .n_positions = window.n},
                    {head_of(buffers_.keys + seen, c, head),
                     head_of(buffers_.values + seen, c, head), kOnlyPage, window.n, 0},
                    buffers_.per_thread + thread * scratch_bytes);
  });
}

void Tower::run_ffn(const TowerLayer& layer, Batch batch) {
  const size_t at = batch.first * config().hidden_dim;
  const size_t width = layer.up.matrix.n_rows;
  const bool is_gated = layer.gate.matrix.n_rows > 0;
  normalize(buffers_.stream + at, layer.ffn_norm, batch.n, buffers_.normed);
  if (is_gated) {
    project(buffers_.normed, batch.n, {{&layer.gate, buffers_.inner}, {&layer.up, buffers_.up}});
  } else {
    project(buffers_.normed, batch.n, {{&layer.up, buffers_.inner}});
  }
  pool_->for_range(batch.n * width, kPartGrain, [&](size_t begin, size_t end, size_t) {
    activate(buffers_.inner + begin, is_gated ? buffers_.up + begin : nullptr, end - begin);
  });
  project(buffers_.inner, batch.n, {{&layer.down, buffers_.made}});
  add_to_stream(batch);
}

// x [n] = activation(x), multiplied by `up` unless it is null.
void Tower::activate(float* x, const float* up, size_t n) const {
  switch (config().activation) {
    case TowerActivation::gelu:
      kernels().gelu(x, n);
      break;
    case TowerActivation::silu:
      kernels().silu(x, n);
      break;
    case TowerActivation::quick_gelu:
      for (size_t i = 0; i < n; ++i) x[i] *= kQuickGelu;
      kernels().silu(x, n);
      for (size_t i = 0; i < n; ++i) x[i] *= 1 / kQuickGelu;
      break;
  }
  if (up != nullptr) kernels().multiply(x, up, n);
}

// --- Rows for the text model --------------------------------------------------------------------

size_t Tower::merged_batch() const {
  return std::max<size_t>(
      std::min<size_t>(n_batch_, n_patches()) / (size_t{config().merge} * config().merge), 1);
}

Status Tower::finish(const Cancellation& cancellation, ImageRows& image) {
  const VisionWeights& w = model_->weights();
  normalize(buffers_.stream, w.post_norm, n_patches(), buffers_.stream);
  KINGLET_TRY(add_columns(w.output, 0, cancellation, image));
  const auto is_bad = [](float number) { return !std::isfinite(number); };
  if (std::none_of(image.rows.begin(), image.rows.end(), is_bad)) return {};
  return Error{
      ErrorCode::not_finite,
      "the rows of a picture hold NaN or infinity: the picture reader's weights are damaged"};
}

// Computes columns [column, column + row_width) of all rows.
Status Tower::add_columns(const OutputWeights& weights, uint32_t column,
                          const Cancellation& cancellation, ImageRows& image) {
  const size_t width = model_->weights().row_width;
  return for_each_batch(image.n_rows, merged_batch(), cancellation, [&](Batch rows) {
    if (config().projector->kind == ProjectorKind::pooled) {
      average(rows);
      project_pooled(weights, rows.n);
    } else {
      merge(rows);
      project_merged(weights, rows.n);
    }
    for (size_t i = 0; i < rows.n; ++i) {
      std::copy_n(buffers_.rows + i * width, width,
                  image.rows.data() + (rows.first + i) * image.width + column);
    }
  });
}

// normed [n][merge][merge][hidden_dim] = the patches of a row side by side (a pixel unshuffle).
void Tower::merge(Batch rows) {
  const size_t side = config().merge;
  const size_t width = config().hidden_dim;
  const size_t rows_across = across_ / side;
  for_each(rows.n, [&](size_t i, size_t) {
    const size_t row = rows.first + i;
    const size_t corner = row / rows_across * side * across_ + row % rows_across * side;
    float* out = buffers_.normed + i * side * side * width;
    for (size_t line = 0; line < side; ++line) {
      // Merged patches of one line are consecutive in the stream, also with windows.
      const size_t patch = patch_at(corner + line * across_);
      out = std::copy_n(buffers_.stream + patch * width, side * width, out);
    }
  });
}

void Tower::project_merged(const OutputWeights& weights, size_t n) {
  const size_t inner = weights.first.matrix.n_rows;
  const Norm& norm = weights.norm;
  // The norm before the output has its own epsilon; the norms of deepstack layers have the tower's.
  if (norm.weight != nullptr) {
    const bool is_own = &weights == &model_->weights().output;
    const float epsilon = is_own ? kInputEpsilon : config().norm_epsilon;
    for_each(n, [&](size_t i, size_t) {
      float* const row = buffers_.normed + i * norm.width;
      kernels().layer_norm(row, norm.weight, norm.bias, epsilon, norm.width, row);
    });
  }
  if (weights.second.matrix.n_rows == 0) {
    return project(buffers_.normed, n, {{&weights.first, buffers_.rows}});
  }
  project(buffers_.normed, n, {{&weights.first, buffers_.inner}});
  pool_->for_range(n * inner, kPartGrain, [&](size_t begin, size_t end, size_t) {
    kernels().gelu(buffers_.inner + begin, end - begin);
  });
  project(buffers_.inner, n, {{&weights.second, buffers_.rows}});
}

// normed [n][hidden_dim] = the mean of a row's patches.
void Tower::average(Batch rows) {
  const size_t side = config().merge;
  const size_t width = config().hidden_dim;
  const size_t rows_across = across_ / side;
  const float share = 1.0f / static_cast<float>(side * side);
  for_each(rows.n, [&](size_t i, size_t) {
    const size_t row = rows.first + i;
    const size_t corner = row / rows_across * side * across_ + row % rows_across * side;
    float* const out = buffers_.normed + i * width;
    std::fill_n(out, width, 0.0f);
    for (size_t k = 0; k < side * side; ++k) {
      const size_t patch = patch_at(corner + k / side * across_ + k % side);
      kernels().add_scaled(out, buffers_.stream + patch * width, share, width);
    }
  });
}

// rows [n][row_width] = norm(normed) · first. Each line of `first` belongs to one input number.
void Tower::project_pooled(const OutputWeights& weights, size_t n) {
  const PackedMatrix& matrix = weights.first.matrix;
  const size_t width = matrix.n_columns;
  const size_t stride =
      std::max({inner_width(*model_), size_t{config().hidden_dim}, output_width(*model_)});
  pool_->for_range(n, 1, [&](size_t begin, size_t end, size_t thread) {
    float* const line = reinterpret_cast<float*>(buffers_.per_thread) + thread * stride;
    for (size_t row = begin; row < end; ++row) {
      float* const x = buffers_.normed + row * matrix.n_rows;
      kernels().rms_norm(x, weights.norm.weight, config().norm_epsilon, matrix.n_rows, x);
      std::fill_n(buffers_.rows + row * width, width, 0.0f);
    }
    for (size_t i = 0; i < matrix.n_rows; ++i) {
      dequantize_row(matrix, i, line);
      for (size_t row = begin; row < end; ++row) {
        kernels().add_scaled(buffers_.rows + row * width, line,
                             buffers_.normed[row * matrix.n_rows + i], width);
      }
    }
  });
}

}  // namespace kinglet
