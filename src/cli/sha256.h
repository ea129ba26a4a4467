// Checksums of files, by libcrypto.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace kinglet::cli {

// Returns the SHA-256 in hexadecimal. Calls `on_progress` with the number of bytes read so far.
// Errors: io; unsupported_feature (the program was built without libcrypto).
Result<std::string> sha256_of_file(const std::string& path,
                                   const std::function<void(uint64_t n_done)>& on_progress);

}  // namespace kinglet::cli
