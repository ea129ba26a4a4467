// Converts a text that contains pictures to the tokens of a prompt.
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
  std::vector<TokenId> tokens;      // with image_tokens() in the place of rows
  std::vector<SharedImage> images;  // the pictures of these rows, tile by tile
};

// Returns the tokens of the text, with the parts of a picture instead of each `marker`. The text
// between two markers is encoded by itself, as in llama.cpp's tools/mtmd. `plain`: ranges of the
// text in which control tokens are not recognized. ErrorCode::invalid_argument if the numbers of
// pictures and markers differ.
Result<ImagePrompt> encode_with_images(const Tokenizer& tokenizer, std::string_view text,
                                       std::span<const TextRange> plain, std::string_view marker,
                                       std::span<const std::vector<ImagePart>> pictures,
                                       EncodeOptions options);

}  // namespace kinglet
