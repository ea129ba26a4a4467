// Models in several files, each a GGUF file of its own: "NAME-00001-of-00003.gguf". Source: the
// names and the split.* metadata that llama.cpp's gguf-split writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"

namespace kinglet {

constexpr uint32_t kMaxParts = 999;  // far more than any real model's

struct SplitPosition {
  uint32_t index = 0;
  uint32_t n_parts = 1;  // 1: not split
};

// ErrorCode::corrupt where there is no such part.
Result<SplitPosition> read_split(const GgufHeader& header);

// The paths of all parts, in order, where `path` is named as one of them; else `path` alone.
std::vector<std::string> split_paths(const std::string& path);

}  // namespace kinglet
