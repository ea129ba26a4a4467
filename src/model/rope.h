// Rotary positions (RoFormer, 2021) and the ways to stretch them over longer contexts.
#pragma once

#include <cstdint>
#include <vector>

namespace kinglet {

// Where a token or a row of a picture stands: its time, line and column, which are one number of a
// token, and how many they are.
constexpr uint32_t kRopeAxes = 3;
struct RopePosition {
  uint32_t of[kRopeAxes];
};

// How the rotation was scaled after training, as the keys rope.* tell.
struct RopeConfig {
  uint32_t dim = 0;               // leading elements of a head that are rotated; even; 0: none
  uint32_t local_dim = 0;         // the same in layers with a window
  float theta = 0;                // base of the frequencies
  float local_theta = 0;          // the same for layers with a window
  bool has_local = false;         // whether those rotate by local_theta, unscaled
  float factor = 1.0f;            // divides frequencies
  float magnitude = 1.0f;         // multiplies cosines and sines
  bool yarn = false;              // divides low frequencies only, see RopeTable
  float yarn_beta_fast = 32;      // full turns over the original context, above which: as trained
  float yarn_beta_slow = 1;       // below which: divided by factor
  float yarn_log_multiplier = 0;  // see RopeTable; 0: none
  uint32_t original_context = 0;  // positions before scaling
  // Pairs that turn by each axis (M-RoPE, Qwen2-VL, 2024), one section after the other, or woven:
  // pair i by axis i % 3, as many as the section has. The others turn by time. 0: there are none.
  uint32_t sections[kRopeAxes] = {};
  bool weaves_sections = false;

  bool has_sections() const { return sections[0] > 0; }
  uint8_t axis_of(uint32_t pair) const;
};

// What a position turns each pair by.
struct RopeTable {
  std::vector<double> frequencies;  // [dim / 2], or [local_dim / 2]: radians per position
  std::vector<uint8_t> axes;        // the same: which number of a position is counted
  float magnitude = 1.0f;           // multiplies cosines and sines

  // Frequencies theta^(-2i / dim), scaled. factors [dim / 2] divide them too (Llama 3, LongRoPE),
  // or null. YaRN (2023) mixes a frequency and its scaled value by the turns it makes over the
  // original context, and lengthens the vectors by 0.1 ln(factor) + 1; where the file has a log
  // multiplier m, by that over 0.1 m ln(factor) + 1.
  static RopeTable scaled(const RopeConfig& config, const float* factors);

  // Frequencies local_theta^(-2i / local_dim).
  static RopeTable local(const RopeConfig& config);
};

}  // namespace kinglet
