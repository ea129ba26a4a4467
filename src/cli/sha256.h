// Checksums of files, by libcrypto.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace kinglet::cli {

// In hexadecimal. `on_progress` is told the bytes that were read. ErrorCode::io.
Result<std::string> sha256_of_file(const std::string& path,
                                   const std::function<void(uint64_t n_done)>& on_progress);

}  // namespace kinglet::cli
