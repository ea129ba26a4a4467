// Rotary positions (RoFormer, 2021), and the ways to extend them to longer contexts.
#pragma once

#include <cstdint>
#include <vector>

namespace kinglet {

// The position of a token or of a row of a picture: its time, line and column. For a token all
// three are the same number.
constexpr uint32_t kRopeAxes = 3;
struct RopePosition {
  uint32_t of[kRopeAxes];
};

// How queries and keys are rotated, and how the rotation was scaled after training: the keys
// rope.*.
struct RopeConfig {
  uint32_t dim = 0;               // leading elements of a head that are rotated; even; 0: none
  uint32_t local_dim = 0;         // the same in layers with a window
  float theta = 0;                // base of the frequencies
  float local_theta = 0;          // the same for layers with a window
  bool has_local = false;         // whether these layers rotate by local_theta, unscaled
  float factor = 1.0f;            // divides frequencies
  float magnitude = 1.0f;         // multiplies cosines and sines
  bool yarn = false;              // divides low frequencies only, see RopeTable
  float yarn_beta_fast = 32;      // more full turns in the original context than this: as trained
  float yarn_beta_slow = 1;       // fewer turns than this: divided by factor
  float yarn_log_multiplier = 0;  // see RopeTable; 0: none
  uint32_t original_context = 0;  // positions before scaling
  // How many pairs rotate by each axis (M-RoPE, Qwen2-VL, 2024): one section after the other, or
  // interleaved: pair i by axis i % 3, until the axis has as many pairs as its section. All other
  // pairs rotate by time. 0: no sections.
  uint32_t sections[kRopeAxes] = {};
  bool interleaves_sections = false;
  // The frequencies of each section are those of a head of its size (Qwen2-VL's vision tower).
  bool restarts_in_sections = false;
  // A head's equal parts, each with pairs of its own, as if it were a head (Gemma 4's vision
  // tower).
  uint32_t n_parts = 1;

  bool has_sections() const { return sections[0] > 0 || sections[1] > 0; }
  uint8_t axis_of(uint32_t pair) const;
};

// How far each pair is rotated per position.
struct RopeTable {
  std::vector<double> frequencies;  // [dim / 2], or [local_dim / 2]: radians per position
  std::vector<uint8_t> axes;        // as many: the axis of a position that rotates the pair
  float magnitude = 1.0f;           // multiplies cosines and sines

  // Frequencies theta^(-2i / dim), scaled. factors [dim / 2] also divide them (Llama 3, LongRoPE);
  // may be null. YaRN (2023) mixes a frequency and its scaled value according to the turns that it
  // makes in the original context, and multiplies the vectors' length by 0.1 ln(factor) + 1. With a
  // log multiplier m, that is divided by 0.1 m ln(factor) + 1.
  static RopeTable scaled(const RopeConfig& config, const float* factors);

  // Frequencies local_theta^(-2i / local_dim).
  static RopeTable local(const RopeConfig& config);
};

}  // namespace kinglet
