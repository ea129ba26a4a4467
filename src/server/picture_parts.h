// Pictures in messages: parts of type "image_url" whose URL holds the file itself.
#pragma once

#include <string>
#include <vector>

#include "server/api_error.h"
#include "server/json.h"

namespace kinglet::server {

// Pictures of a request, at most.
constexpr size_t kMostPictures = 32;

struct GivenPictures {
  std::string mark;                // stands in the texts for each of them, and for nothing else
  std::vector<std::string> files;  // their bytes, in the order of the marks
};

// Puts texts in place of such parts. Refuses URLs of other kinds in words: nothing is fetched.
ApiResult<GivenPictures> take_pictures(Json& messages);

}  // namespace kinglet::server
