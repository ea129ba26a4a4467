// Names, for messages, of the tensor types that have a number in GGUF files but no row in the table
// of types.
#pragma once

#include <cstdint>
#include <string_view>

namespace kinglet {

// Returns the type's name: "I8", "Q4_2 (removed from ggml)". Empty if the number has no name, or if
// its type can be read. Source: enum ggml_type in ggml.h.
std::string_view unread_type_name(uint32_t id);

}  // namespace kinglet
