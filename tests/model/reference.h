// Another implementation's results for a fixture: tests/fixtures/README.md describes the files.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "support.h"

namespace kinglet {

struct ReferencePosition {
  uint32_t position;
  std::vector<double> logprobs;
};

struct Reference {
  std::vector<int32_t> tokens;
  std::vector<ReferencePosition> positions;
  std::vector<int32_t> greedy;
};

// The numbers of the first array named `name` at or after `from`, which moves to its end.
inline std::vector<double> read_numbers(const std::string& json, std::string_view name,
                                        size_t& from) {
  std::vector<double> numbers;
  from = json.find("\"" + std::string(name) + "\":[", from);
  if (from == std::string::npos) return numbers;
  const char* cursor = json.c_str() + json.find('[', from);
  do {
    char* end;
    numbers.push_back(std::strtod(cursor + 1, &end));
    cursor = end;
  } while (*cursor == ',');
  from = static_cast<size_t>(cursor - json.c_str());
  return numbers;
}

inline Reference read_reference(std::string_view fixture) {
  const std::string json = read_text_fixture(fixture);
  Reference reference;
  size_t from = 0;
  for (const double id : read_numbers(json, "tokens", from)) {
    reference.tokens.push_back(static_cast<int32_t>(id));
  }
  constexpr std::string_view kPosition = "\"position\":";
  while ((from = json.find(kPosition, from)) != std::string::npos) {
    const auto position = std::atoi(json.c_str() + from + kPosition.size());
    reference.positions.push_back(
        {static_cast<uint32_t>(position), read_numbers(json, "logprobs", from)});
  }
  from = 0;
  for (const double id : read_numbers(json, "greedy", from)) {
    reference.greedy.push_back(static_cast<int32_t>(id));
  }
  return reference;
}

}  // namespace kinglet
