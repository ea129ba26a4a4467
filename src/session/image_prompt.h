// A text with pictures in it, as the tokens of a prompt.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/images.h"
#include "text/added_tokens.h"
#include "text/tokenizer.h"
#include "vision/image_part.h"

namespace kinglet {

struct ImagePrompt {
  std::vector<TokenId> tokens;      // with image_tokens() where rows stand
  std::vector<SharedImage> images;  // the pictures of these, tile by tile
};

// The text with a picture, the parts that were made of it, in place of each `marker`; whatever is
// between two markers is encoded by itself, as llama.cpp's tools/mtmd does. `plain`: what of the
// text spells no control tokens. There must be as many pictures as markers:
// ErrorCode::invalid_argument.
Result<ImagePrompt> encode_with_images(const Tokenizer& tokenizer, std::string_view text,
                                       std::span<const TextRange> plain, std::string_view marker,
                                       std::span<const std::vector<ImagePart>> pictures,
                                       EncodeOptions options);

}  // namespace kinglet
