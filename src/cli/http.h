// Requests of HTTP, by libcurl.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace kinglet::cli {

// What a server says of a file before it gives it.
struct RemoteFile {
  std::optional<uint64_t> bytes;
  std::string version;  // its ETag, on the hub the file's SHA-256; "" where there is none
};

// Told of bytes that are there and of those that the file has; 0: nobody knows.
using DownloadProgress = std::function<void(uint64_t n_done, uint64_t n_bytes)>;

// The hub's token, HF_TOKEN, goes to `url` only where it begins with the hub's address. All:
// ErrorCode::io says what the server answered, or why it did not; unsupported_feature in a program
// that was built without libcurl.
Result<std::string> get_text(const std::string& url);
Result<RemoteFile> ask_about_file(const std::string& url);

// Appends what is missing to the file at `path`, which may hold the beginning. Where the server
// cannot go on there it begins anew.
Status download_rest(const std::string& url, const std::string& path,
                     const DownloadProgress& on_progress);

}  // namespace kinglet::cli
