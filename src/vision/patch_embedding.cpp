#include "vision/patch_embedding.h"

#include <cmath>

#include "kernels/packing.h"
#include "vision/position_taps.h"

namespace kinglet {

Result<PatchEmbedding> PatchEmbedding::take(TensorTaker& tensors, const VisionConfig& config,
                                            uint32_t hidden_dim) {
  constexpr const char* kFilters = "v.patch_embd";
  const Projector& projector = *config.projector;
  PatchEmbedding patches;
  KINGLET_ASSIGN(patches.filters_.matrix, tensors.filters(cat(kFilters, ".weight"), hidden_dim,
                                                          kChannels, config.patch_size));
  KINGLET_ASSIGN(patches.filters_.bias,
                 take_bias(tensors, kFilters, hidden_dim, Presence::optional));
  if (projector.has_second_filter) {
    KINGLET_ASSIGN(
        patches.second_filters_.matrix,
        tensors.filters(cat(kFilters, ".weight.1"), hidden_dim, kChannels, config.patch_size));
  }
  if (projector.positions == Positions::rotated) return patches;
  const std::string table = cat(kPositionTable, ".weight");
  if (projector.positions == Positions::of_axes) {
    KINGLET_ASSIGN(const auto tables, tensors.experts(table, 2, 1, config.most_across, hidden_dim));
    patches.columns_ = tables[0];
    patches.lines_ = tables[1];
    return patches;
  }
  uint64_t side = config.image_size / config.patch_size;
  if (projector.positions != Positions::fixed) {
    const auto n = static_cast<double>(tensors.n_rows(kPositionTable));
    side = static_cast<uint64_t>(std::sqrt(n) + 0.5);
  }
  KINGLET_ASSIGN(patches.positions_, tensors.matrix(table, side * side, hidden_dim));
  patches.positions_side_ = static_cast<uint32_t>(side);
  return patches;
}

PatchEmbedding::Buffers PatchEmbedding::lay_out(Arena& arena, const BatchShape& batch) const {
  const uint64_t hidden_dim = filters_.matrix.n_rows;
  return {.pixels = arena.take<float>(batch.n_tokens * filters_.matrix.n_columns),
          .second = arena.take<float>(batch.n_tokens * second_filters_.matrix.n_rows),
          .per_thread = arena.take<float>(batch.n_threads * hidden_dim)};
}

ScratchNeeds PatchEmbedding::scratch_needs(const BatchShape& batch) const {
  Arena arena;
  lay_out(arena, batch);
  return {arena.n_bytes(), filters_.matrix.n_columns};
}

void PatchEmbedding::embed(Step& step, const VisionConfig& config, const PatchGrid& grid,
                           const Picture& picture, const Tile& tile) const {
  Arena arena = step.arena();
  const Buffers buffers = lay_out(arena, step.shape());
  gather(step, config, grid, picture, tile, buffers.pixels);
  step.project(buffers.pixels, step.n_tokens(), {{&filters_, step.stream()}});
  if (second_filters_.matrix.n_rows > 0) {
    step.project(buffers.pixels, step.n_tokens(), {{&second_filters_, buffers.second}});
    step.add_to_stream(buffers.second);
  }
  if (lines_.n_rows > 0) add_axis_positions(step, grid, buffers.per_thread);
  if (positions_side_ == 0) return;
  add_positions(step, config.projector->positions, grid, buffers.per_thread);
}

// pixels [n_tokens][kChannels][patch_size][patch_size] = (pixel / 255 - mean) / deviation.
void PatchEmbedding::gather(Step& step, const VisionConfig& config, const PatchGrid& grid,
                            const Picture& picture, const Tile& tile, float* pixels) const {
  const size_t side = config.patch_size;
  float values[kChannels][256];
  for (size_t i = 0; i < kChannels; ++i) {
    for (int code = 0; code < 256; ++code) {
      values[i][code] = (static_cast<float>(code) / 255.0f - config.mean[i]) / config.deviation[i];
    }
  }
  step.for_each(step.n_tokens(), [&](size_t i) {
    const PatchGrid::Place place = grid.place_of(step.first_row() + i);
    const uint32_t x = tile.x + place.column * config.patch_size;
    const uint32_t y = tile.y + place.line * config.patch_size;
    float* const out = pixels + i * filters_.matrix.n_columns;
    for (uint32_t line = 0; line < config.patch_size; ++line) {
      const uint8_t* pixel = picture.row(y + line) + size_t{x} * kChannels;
      for (size_t column = 0; column < side; ++column) {
        for (size_t channel = 0; channel < kChannels; ++channel) {
          out[(channel * side + line) * side + column] = values[channel][*pixel++];
        }
      }
    }
  });
}

void PatchEmbedding::add_positions(Step& step, Positions kind, const PatchGrid& grid,
                                   float* per_thread) const {
  const size_t width = positions_.n_columns;
  const PositionTaps columns = PositionTaps::make(positions_side_, grid.across(), kind);
  const PositionTaps lines = PositionTaps::make(positions_side_, grid.down(), kind);
  step.pool().for_range(step.n_tokens(), 1, [&](size_t begin, size_t end, size_t thread) {
    float* const learned = per_thread + thread * width;
    for (size_t i = begin; i < end; ++i) {
      const PatchGrid::Place place = grid.place_of(step.first_row() + i);
      const PositionTaps::Span& line = lines.spans[place.line];
      const PositionTaps::Span& column = columns.spans[place.column];
      for (size_t y = 0; y < line.weights.size(); ++y) {
        for (size_t x = 0; x < column.weights.size(); ++x) {
          dequantize_row(positions_, (line.first + y) * positions_side_ + column.first + x,
                         learned);
          step.kernels().add_scaled(step.stream() + i * width, learned,
                                    line.weights[y] * column.weights[x], width);
        }
      }
    }
  });
}

void PatchEmbedding::add_axis_positions(Step& step, const PatchGrid& grid,
                                        float* per_thread) const {
  const size_t width = lines_.n_columns;
  step.pool().for_range(step.n_tokens(), 1, [&](size_t begin, size_t end, size_t thread) {
    float* const learned = per_thread + thread * width;
    for (size_t i = begin; i < end; ++i) {
      const PatchGrid::Place place = grid.place_of(step.first_row() + i);
      dequantize_row(columns_, place.column, learned);
      step.kernels().add_scaled(step.stream() + i * width, learned, 1.0f, width);
      dequantize_row(lines_, place.line, learned);
      step.kernels().add_scaled(step.stream() + i * width, learned, 1.0f, width);
    }
  });
}

}  // namespace kinglet
