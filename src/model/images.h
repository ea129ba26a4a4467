// Pictures in a sequence: where their rows stand, and what is known of them without the rows.
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
  SharedImage image;  // without rows where they are not known any more: a saved state has none
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

// Those of a sequence, in its order.
using PlacedImages = std::span<const PlacedImage>;

// The picture that has a row at `position`; null: none does.
const PlacedImage* image_at(PlacedImages images, size_t position);

// Where a token or row stands for models that count the lines and columns of pictures: those of a
// picture begin at its time, and what follows is after the largest of them. The picture itself
// stands still.
RopePosition rope_position(PlacedImages images, size_t position);

// The ids that stand for a picture's rows in a list of tokens: negative, never kNoToken, and made
// of all that is known of the picture but the rows. Lists that are equal stand for the same rows.
int32_t image_token(const ImageRows& image, uint32_t row);
constexpr bool is_image_token(int32_t token) { return token < -1; }
std::vector<int32_t> image_tokens(const ImageRows& image);

// Of those that `tokens` begin with, how many are the picture's first rows.
uint32_t n_rows_at(const ImageRows& image, std::span<const int32_t> tokens);

// Whether sizes agree with each other and with the model, and every number is finite. A picture
// without rows passes too. ErrorCode::invalid_argument, wrong_shape, not_finite;
// unsupported_feature (a model of which each token brings something to each layer).
Status check_image(const ImageRows& image, const ModelConfig& config);

}  // namespace kinglet
