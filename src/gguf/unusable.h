// Explains files that cannot be used as GGUF: what was found, what was expected, what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kinglet {

// The bytes that are enough to recognize another format, and the title of a web page.
constexpr size_t kRecognizableBytes = 4096;

// Explains a file that does not begin as a GGUF file does. People choose the wrong one of a model's
// files, and servers answer with web pages. `start`: the file's first bytes, up to
// kRecognizableBytes.
std::string explain_other_format(std::string_view start);

// Explains a file that ends too early: "the file is incomplete, with 3.1 of 145 MB: …".
// n_bytes < n_expected.
std::string explain_incomplete(uint64_t n_bytes, uint64_t n_expected);

}  // namespace kinglet
