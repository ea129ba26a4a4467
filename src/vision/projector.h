// The differences between picture readers, as data: one row for each projector that an mmproj file
// can name.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "model/architecture.h"
#include "vision/resize.h"

namespace kinglet {

// The sizes in which a reader sees a picture.
enum class Sizing : uint8_t {
  square,         // one square that contains the whole picture, with black around it
  tiles,          // cut into squares, and the whole picture in one more (Idefics 3)
  tiles_or_free,  // a large picture in tiles, a small one in its own size (LFM2-VL)
  free,           // stretched to the nearest whole rows, whose number is limited (Qwen-VL)
};

// How the position of a patch is encoded.
enum class Positions : uint8_t {
  fixed,        // a learned vector for each patch of a picture of one size
  antialiased,  // learned vectors of a square, resized with a triangle filter (SigLIP 2 NaFlex)
  corners,      // learned vectors of a square, resized with fixed corners, and rotation (Qwen3-VL)
  rotated,      // rotation only (Qwen2-VL)
  // Learned vectors for columns and for lines, which are added up, and rotation of one half of each
  // head by the column and of the other half by the line (Gemma 4).
  of_axes,
};

// How merged patches are converted to rows for the text model.
enum class ProjectorKind : uint8_t {
  linear,  // one matrix, applied to the patches side by side
  mlp,     // two matrices with GELU between them, applied to the patches side by side
  pooled,  // one matrix, applied to the patches' mean after a root mean square norm (Gemma 3)
  // One matrix, applied to the patches' mean, which is multiplied by the square root of its width,
  // standardized if the file has the numbers for it, and normalized (Gemma 4).
  standardized,
};

struct Projector {
  std::string_view name;  // clip.projector_type
  const Architecture* encoder = nullptr;

  Sizing sizing = Sizing::square;
  Filter filter = Filter::bilinear;
  uint32_t min_rows = 0;  // for pictures of free size
  uint32_t max_rows = 0;

  Positions positions = Positions::fixed;
  bool has_second_filter = false;  // for patches of a second frame; a still picture is both frames
  bool may_swap_ffn = false;       // in old files, the names of ffn_up and ffn_down are swapped
  // In most layers, patches only see those in their window: a square of this many pixels a side. 0:
  // patches see all others.
  uint32_t window_size = 0;

  // Patches per side that are merged: the metadata key after "clip.vision.", and the default.
  std::string_view merge_key = "projector.scale_factor";
  uint32_t merge = 1;

  ProjectorKind kind = ProjectorKind::linear;
  std::string_view first = {};  // names of the projector's matrices
  std::string_view second = {};
  std::string_view norm = {};  // name of the norm before them; only `pooled` requires it
  bool has_deepstack = false;  // layers may add their own columns to each row

  // ImageRows::sees_all, unless the text model has one of these widths: no key says so (Gemma 4 E2B
  // and E4B).
  bool sees_all = false;
  uint32_t causal_widths[2] = {};
  bool centers_pixels = false;  // normalized pixels are doubled, and 1 is subtracted
  bool counts_grid = false;     // whether ImageRows::grid_width and grid_height are set
  std::string_view begin = {};  // the text before a picture, and after it
  std::string_view end = {};
  std::string_view tile = {};      // the text before a tile; the tile's row and column follow
  std::string_view tile_end = {};  // … after row and column
  std::string_view line_end = {};  // between lines of tiles
  std::string_view whole = {};     // before the whole picture, which follows its tiles
  std::string_view whole_end = {};

  // ImageRows::sees_all in a text model of this width.
  bool sees_all_in(uint32_t width) const {
    return sees_all && width != causal_widths[0] && width != causal_widths[1];
  }

  // Whether heads are rotated by the line and the column of their patch.
  bool rotates() const { return encoder->rope.kind != RopeKind::none; }
};

// Returns the projector of that name. ErrorCode::unsupported_feature lists the supported names.
Result<const Projector*> find_projector(std::string_view name);

}  // namespace kinglet
