// The pictures of a session's context.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/images.h"
#include "text/vocabulary.h"

namespace kinglet {

// A picture's rows are kept as long as the context contains some of them, so that they can be
// computed again like tokens.
class ContextImages {
 public:
  ContextImages() = default;

  // `images` in their order; the rows of those that `known` has, too, are taken from there.
  ContextImages(std::vector<PlacedImage> images, const ContextImages& known);

  PlacedImages placed() const { return images_; }
  bool is_empty() const { return images_.empty(); }
  uint32_t end() const { return is_empty() ? 0 : images_.back().end(); }

  // The pictures that begin before position `first`, and those among `tokens`, which begin there.
  // The latter must be among `given` or these here. ErrorCode::invalid_argument names a token that
  // is not the first row of one.
  Result<ContextImages> with(std::span<const TokenId> tokens, uint32_t first,
                             std::span<const SharedImage> given) const;

  // Checks that the rows of all pictures after the first n_computed positions are known.
  // ErrorCode::invalid_argument.
  Status check_rows(uint32_t n_computed) const;

  // Drops what is at position n_positions and later.
  void cut(uint32_t n_positions);

  // Drops what is at the positions [first, first + n), and moves later pictures down.
  void drop(uint32_t first, uint32_t n);

  // The number of tokens of the next batch, which begins at `first`: at most `most`, except for a
  // picture whose rows see each other, which needs all its rows in one batch.
  uint32_t batch_size(uint32_t first, uint32_t most) const;

 private:
  SharedImage find(TokenId first_token, std::span<const SharedImage> given) const;

  std::vector<PlacedImage> images_;
};

}  // namespace kinglet
