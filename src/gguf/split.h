// Models that are split into several GGUF files: "NAME-00001-of-00003.gguf". Source: the names and
// the split.* metadata that llama.cpp's gguf-split writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/header.h"

namespace kinglet {

constexpr uint32_t kMaxParts = 999;  // far more than any real model's

struct SplitPosition {
  uint32_t index = 0;
  uint32_t n_parts = 1;  // 1: not split
};

// Reads which part a file is. Fails with ErrorCode::corrupt if there can be no such part.
Result<SplitPosition> read_split(const GgufHeader& header);

// Returns the paths of all parts, in order, if `path` has the name of a part; else only `path`.
std::vector<std::string> split_paths(const std::string& path);

// Returns what the paths of all parts begin with, if `path` has the name of a part; else `path`.
std::string_view part_stem(std::string_view path);

// Returns the path of the first part, if `path` has the name of a part; else `path`.
std::string first_part(const std::string& path);

}  // namespace kinglet
