// The input for a text model that is made of a picture: rows instead of tokens, and the text
// around them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/image_rows.h"

namespace kinglet {

// Either a text, whose special tokens are parsed, or rows.
struct ImagePart {
  std::string text;
  ImageRows image;

  bool is_text() const { return image.n_rows == 0; }
};

// All that shows one picture to a text model.
using PictureParts = std::shared_ptr<const std::vector<ImagePart>>;

// The parts of several pictures, in their order.
using PartsOfPictures = std::vector<std::vector<ImagePart>>;

}  // namespace kinglet
