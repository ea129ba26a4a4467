// Serves the files of a page. They are sent piece by piece as they are read, so that a large file
// takes no memory.
#pragma once

#include <httplib.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kinglet::server {

// A part of a file: `size` bytes from `begin` on.
struct ByteRange {
  uint64_t begin = 0;
  uint64_t size = 0;

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// Reads the header Range of a request for a file of `file_size` bytes. Returns the whole file if
// the header is missing, cannot be read or asks for several ranges: HTTP lets a server ignore it.
// Returns nullopt if the file has no byte of the range.
std::optional<ByteRange> asked_range(std::string_view header, uint64_t file_size);

// Answers a GET or HEAD with a file of the folder, or with index.html for a path that ends in "/".
// A folder's path without the "/" is redirected to that with it. `range`: the request's header
// Range. Returns false if there is no such file, the path leads out of the folder, or a name in it
// begins with "." (except "/.well-known/"). Symbolic links are followed: a model may be one.
bool serve_file(const std::string& folder, const httplib::Request& request, std::string_view range,
                httplib::Response& response);

}  // namespace kinglet::server
