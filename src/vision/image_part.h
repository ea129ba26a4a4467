// What a picture becomes for a text model: rows in place of tokens, and the text around them.
#pragma once

#include <string>

#include "model/image_rows.h"

namespace kinglet {

// A text, whose special tokens are to be read as such, or rows.
struct ImagePart {
  std::string text;
  ImageRows image;

  bool is_text() const { return image.n_rows == 0; }
};

}  // namespace kinglet
