// Pictures in messages: parts of type "image_url".
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"
#include "openai/api_error.h"
#include "openai/generation_request.h"
#include "vision/image_part.h"

namespace kinglet::openai {

// The most pictures in a request.
constexpr size_t kMostPictures = 32;

struct GivenPictures {
  std::string mark;               // replaces each picture in the texts; occurs nowhere else
  std::vector<std::string> urls;  // in the order of the marks
};

// Returns a function that reads one picture after the other.
ReadPictures one_by_one(std::function<ApiResult<PictureParts>(const std::string& url)> read);

// Takes the pictures out of the messages and puts text parts with the mark in their place.
ApiResult<GivenPictures> take_pictures(Json& messages);

// Returns the bytes of the file in a data URL. Fails for other URLs, with a message that explains
// why: the server fetches nothing.
ApiResult<std::string> file_of_url(std::string_view url);

}  // namespace kinglet::openai
