// Pictures in messages: parts of type "image_url" whose data URL contains the file.
#pragma once

#include <string>
#include <vector>

#include "json/json.h"
#include "openai/api_error.h"

namespace kinglet::openai {

// The most pictures in a request.
constexpr size_t kMostPictures = 32;

struct GivenPictures {
  std::string mark;                // replaces each picture in the texts; occurs nowhere else
  std::vector<std::string> files;  // the files' bytes, in the order of the marks
};

// Takes the pictures out of the messages and puts text parts with the mark in their place. Fails
// for other URLs, with a message that explains why: the server fetches nothing.
ApiResult<GivenPictures> take_pictures(Json& messages);

}  // namespace kinglet::openai
