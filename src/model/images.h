// Pictures in a sequence: the positions of their rows, and what is known without the rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/config.h"
#include "model/image_rows.h"
#include "model/rope.h"

namespace kinglet {

using SharedImage = std::shared_ptr<const ImageRows>;

// The first n_rows of a picture at consecutive positions: all of them, unless the sequence was cut.
struct PlacedImage {
  SharedImage image;  // may lack its rows: a saved state has none
  uint32_t first = 0;
  uint32_t n_rows = 0;

  uint32_t end() const { return first + n_rows; }
  bool has_rows() const { return !image->rows.empty(); }
  bool is_whole() const { return n_rows == image->n_rows; }
  // Whether a sequence that ends at `position` cuts off rows that the others see.
  bool is_torn_at(uint32_t position) const {
    return image->sees_all && first < position && position < end();
  }
};

// The pictures of a sequence, in its order.
using PlacedImages = std::span<const PlacedImage>;

// The picture that has a row at `position`, or null.
const PlacedImage* image_at(PlacedImages images, size_t position);

// The position of a token or row in models that count the lines and columns of pictures (M-RoPE).
// A picture's lines and columns count from its time, which is the same for all its rows. What
// follows comes after the largest of these numbers.
RopePosition rope_position(PlacedImages images, size_t position);

// The ids of a picture's rows in a list of tokens: negative, never kNoToken, and a hash of all that
// is known of the picture except its rows. Equal lists stand for the same rows.
int32_t image_token(const ImageRows& image, uint32_t row);
constexpr bool is_image_token(int32_t token) { return token < -1; }
std::vector<int32_t> image_tokens(const ImageRows& image);

// How many tokens at the beginning of `tokens` are the picture's first rows.
uint32_t n_rows_at(const ImageRows& image, std::span<const int32_t> tokens);

// Checks that sizes agree with each other and with the model, and that every number is finite. A
// picture without rows passes. ErrorCode::invalid_argument, wrong_shape, not_finite;
// unsupported_feature (a model whose tokens have an embedding for each layer).
Status check_image(const ImageRows& image, const ModelConfig& config);

}  // namespace kinglet
