// The names of all tensor types that ever had a number in GGUF files, for messages about those that
// cannot be read.
#pragma once

#include <cstdint>
#include <string_view>

namespace kinglet {

// "Q4_K"; "Q4_2 (removed from ggml)"; empty where the number has no name.
// Source: enum ggml_type in ggml.h.
std::string_view ggml_type_name(uint32_t id);

}  // namespace kinglet
