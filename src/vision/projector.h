// What makes one reader of pictures different from another, as data: one row for each projector
// that an mmproj file can name.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "vision/resize.h"

namespace kinglet {

// In which sizes a reader sees a picture.
enum class Sizing : uint8_t {
  square,         // in one, as large as fits, black around it
  tiles,          // cut into squares, and the whole in one more (Idefics 3)
  tiles_or_free,  // a large one the same way, a small one as it is (LFM2-VL)
  free,           // of so many rows, in its proportions (Qwen-VL)
};

// How a reader knows where a patch is.
enum class Positions : uint8_t {
  fixed,        // by a learned vector for each patch of the one size
  antialiased,  // by those of a square, resized by a triangle filter (SigLIP 2 NaFlex)
  corners,      // by those of a square, resized with its corners kept, and by rotation (Qwen3-VL)
  rotated,      // by rotation alone (Qwen2-VL)
};

// What makes rows for the text model of patches that were merged.
enum class ProjectorKind : uint8_t {
  linear,  // one matrix, of the patches side by side
  mlp,     // two with GELU between them, of the same
  pooled,  // one, of the patches' mean after a root mean square norm (Gemma 3)
};

struct Projector {
  std::string_view name;  // clip.projector_type

  Sizing sizing = Sizing::square;
  Filter filter = Filter::bilinear;
  uint32_t min_rows = 0;  // of a picture of free size
  uint32_t max_rows = 0;

  Positions positions = Positions::fixed;
  bool has_second_filter = false;  // of patches, for a second frame: a still picture is both
  bool may_swap_ffn = false;       // old files name its matrices the wrong way round
  bool has_rms_norms = false;      // norms are root mean square ones, without biases
  // Most layers see patches of their own window alone: a square of so many pixels. 0: all see all.
  uint32_t window_size = 0;

  // Patches of a side that are merged: the key after "clip.vision.", and where it is not there.
  std::string_view merge_key = "projector.scale_factor";
  uint32_t merge = 1;

  ProjectorKind kind = ProjectorKind::linear;
  std::string_view first = {};  // names of its matrices
  std::string_view second = {};
  std::string_view norm = {};  // in front of them, where the file has it
  bool has_deepstack = false;  // layers may add columns of their own to each row

  bool sees_all = false;        // ImageRows::sees_all
  bool counts_grid = false;     // ImageRows::grid_width
  std::string_view begin = {};  // the text in front of a picture and after it
  std::string_view end = {};
  std::string_view tile = {};      // in front of a tile, whose row and column follow
  std::string_view tile_end = {};  // … after these
  std::string_view line_end = {};  // between lines of tiles
  std::string_view whole = {};     // in front of the whole picture after its tiles
  std::string_view whole_end = {};
};

// ErrorCode::unsupported_feature names what was found and what is supported.
Result<const Projector*> find_projector(std::string_view name);

}  // namespace kinglet
