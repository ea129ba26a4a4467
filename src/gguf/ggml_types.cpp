#include "gguf/ggml_types.h"

#include <algorithm>
#include <iterator>

namespace kinglet {
namespace {

struct Name {
  uint32_t id;
  std::string_view name;
};

constexpr Name kNames[] = {
    {4, "Q4_2 (removed from ggml)"},
    {5, "Q4_3 (removed from ggml)"},
    {9, "Q8_1"},
    {15, "Q8_K"},
    {24, "I8"},
    {25, "I16"},
    {26, "I32"},
    {27, "I64"},
    {28, "F64"},
    {31, "Q4_0_4_4 (removed from ggml)"},
    {32, "Q4_0_4_8 (removed from ggml)"},
    {33, "Q4_0_8_8 (removed from ggml)"},
    {36, "IQ4_NL_4_4 (removed from ggml)"},
    {37, "IQ4_NL_4_8 (removed from ggml)"},
    {38, "IQ4_NL_8_8 (removed from ggml)"},
};

}  // namespace

std::string_view unread_type_name(uint32_t id) {
  const auto row = std::find_if(std::begin(kNames), std::end(kNames),
                                [id](const Name& name) { return name.id == id; });
  return row == std::end(kNames) ? std::string_view() : row->name;
}

}  // namespace kinglet
