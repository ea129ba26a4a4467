#include "gguf/ggml_types.h"

#include <array>

namespace kinglet {
namespace {

constexpr std::array<std::string_view, 43> kNames = {
    "F32",
    "F16",
    "Q4_0",
    "Q4_1",
    "Q4_2 (removed from ggml)",
    "Q4_3 (removed from ggml)",
    "Q5_0",
    "Q5_1",
    "Q8_0",
    "Q8_1",
    "Q2_K",
    "Q3_K",
    "Q4_K",
    "Q5_K",
    "Q6_K",
    "Q8_K",
    "IQ2_XXS",
    "IQ2_XS",
    "IQ3_XXS",
    "IQ1_S",
    "IQ4_NL",
    "IQ3_S",
    "IQ2_S",
    "IQ4_XS",
    "I8",
    "I16",
    "I32",
    "I64",
    "F64",
    "IQ1_M",
    "BF16",
    "Q4_0_4_4 (removed from ggml)",
    "Q4_0_4_8 (removed from ggml)",
    "Q4_0_8_8 (removed from ggml)",
    "TQ1_0",
    "TQ2_0",
    "IQ4_NL_4_4 (removed from ggml)",
    "IQ4_NL_4_8 (removed from ggml)",
    "IQ4_NL_8_8 (removed from ggml)",
    "MXFP4",
    "NVFP4",
    "Q1_0",
    "Q2_0",
};

}  // namespace

std::string_view ggml_type_name(uint32_t id) {
  return id < kNames.size() ? kNames[id] : std::string_view();
}

}  // namespace kinglet
