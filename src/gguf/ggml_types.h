// The names of tensor types that have a number in GGUF files but no row in the table of types, for
// messages.
#pragma once

#include <cstdint>
#include <string_view>

namespace kinglet {

// "I8"; "Q4_2 (removed from ggml)"; empty where the number has no name, or its type can be read.
// Source: enum ggml_type in ggml.h.
std::string_view unread_type_name(uint32_t id);

}  // namespace kinglet
