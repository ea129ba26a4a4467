#include "session/context_images.h"

#include <algorithm>

#include "base/format.h"

namespace kinglet {

ContextImages::ContextImages(std::vector<PlacedImage> images, const ContextImages& known)
    : images_(std::move(images)) {
  for (PlacedImage& placed : images_) {
    placed.image = known.find(image_token(*placed.image, 0), {&placed.image, 1});
  }
}

// Returns the picture that begins with this token, among those that are given or held; if possible,
// one that has its rows. Null if there is none.
SharedImage ContextImages::find(TokenId first_token, std::span<const SharedImage> given) const {
  SharedImage found;
  const auto look_at = [&](const SharedImage& image) {
    const bool is_better = found == nullptr || (found->rows.empty() && !image->rows.empty());
    if (is_better && image_token(*image, 0) == first_token) found = image;
  };
  for (const SharedImage& image : given) look_at(image);
  for (const PlacedImage& placed : images_) look_at(placed.image);
  return found;
}

Result<ContextImages> ContextImages::with(std::span<const TokenId> tokens, uint32_t first,
                                          std::span<const SharedImage> given) const {
  ContextImages all;
  for (const PlacedImage& placed : images_) {
    if (placed.first >= first) break;
    all.images_.push_back(placed);
    all.images_.back().image = find(image_token(*placed.image, 0), given);
  }
  for (size_t i = 0; i < tokens.size();) {
    if (!is_image_token(tokens[i])) {
      ++i;
      continue;
    }
    const auto position = first + static_cast<uint32_t>(i);
    SharedImage image = find(tokens[i], given);
    if (image == nullptr) {
      return Error{ErrorCode::invalid_argument, cat("token ", tokens[i], " at position ", position,
                                                    " does not begin any of the given pictures")};
    }
    const uint32_t n_rows = n_rows_at(*image, tokens.subspan(i));
    all.images_.push_back({std::move(image), position, n_rows});
    i += n_rows;
  }
  return all;
}

Status ContextImages::check_rows(uint32_t n_computed) const {
  for (const PlacedImage& placed : images_) {
    if (placed.end() <= n_computed || placed.has_rows()) continue;
    return Error{ErrorCode::invalid_argument, cat("the rows of the picture at position ",
                                                  placed.first, " are needed, but were not given")};
  }
  return {};
}

void ContextImages::cut(uint32_t n_positions) {
  while (!images_.empty() && images_.back().first >= n_positions) images_.pop_back();
  if (images_.empty()) return;
  PlacedImage& last = images_.back();
  last.n_rows = std::min(last.n_rows, n_positions - last.first);
}

void ContextImages::drop(uint32_t first, uint32_t n) {
  for (PlacedImage& placed : images_) {
    if (placed.first >= first + n) {
      placed.first -= n;
    } else {
      placed.n_rows = std::min(placed.end(), std::max(first, placed.first)) - placed.first;
    }
  }
  std::erase_if(images_, [](const PlacedImage& placed) { return placed.n_rows == 0; });
}

uint32_t ContextImages::batch_size(uint32_t first, uint32_t most) const {
  for (const PlacedImage& placed : images_) {
    if (!placed.image->sees_all || placed.end() <= first) continue;
    return placed.first > first ? std::min(most, placed.first - first) : placed.n_rows;
  }
  return most;
}

}  // namespace kinglet
