// HTTP requests, by libcurl.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace kinglet::cli {

// What a server says about a file before the file is downloaded.
struct RemoteFile {
  std::optional<uint64_t> bytes;
  std::string version;  // the ETag, on the hub the file's SHA-256; "": the server sends none
  bool is_web_page = false;
};

// Called with the number of bytes downloaded and the size of the file; 0: the size is unknown.
using DownloadProgress = std::function<void(uint64_t n_done, uint64_t n_bytes)>;

// The hub's token, HF_TOKEN, is sent only if `url` begins with the hub's address. Errors of all
// functions: io (its message says what the server answered, or why there is no answer);
// unsupported_feature (the program was built without libcurl).

// Returns a text of at most `most_bytes`; a longer one is an error (io).
Result<std::string> get_text(const std::string& url, size_t most_bytes);
Result<RemoteFile> ask_about_file(const std::string& url);

// Appends the missing bytes to the file at `path`, which may contain the beginning. If the server
// cannot continue there, downloads the whole file again. `n_bytes` is the size of the whole file,
// if it is known. Errors: corrupt, too (the server sends other bytes than these, or more: what is
// at `path` is worthless).
Status download_rest(const std::string& url, const std::string& path,
                     std::optional<uint64_t> n_bytes, const DownloadProgress& on_progress);

}  // namespace kinglet::cli
