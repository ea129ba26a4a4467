// Prints as JSON what the package must know about options before it has an engine, for
// scripts/generate-option-tables.mjs.
#include <cstdio>
#include <string>
#include <string_view>

#include "json/json.h"
#include "session/sampling_options.h"
#include "tensor/kv_kind.h"

namespace kinglet {
namespace {

void print_kv_kinds() {
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    const std::string_view name = kv_kind_info(static_cast<KvKind>(kind)).name;
    std::printf("%s\"%s\"", kind == 0 ? "" : ", ", std::string(name).c_str());
  }
}

void print_sampling_options() {
  const auto text_of = [](bool flag) { return flag ? "true" : "false"; };
  const auto print = [](const SamplingOption& option, const char* name, double value) {
    // As many digits as a float has: 0.8, not 0.800000012.
    std::printf(option.is_whole() ? "\"%s\": %.0f, " : "\"%s\": %g, ", name, value);
  };
  const SamplerOptions usual;
  const char* separator = "";
  for (const SamplingOption& option : sampling_options()) {
    std::printf("%s\"%s\": {", separator, std::string(option.name).c_str());
    print(option, "default", option.get(usual));
    print(option, "min", option.least);
    print(option, "max", option.most);
    std::printf("\"above\": %s, \"integer\": %s}", text_of(option.above),
                text_of(option.is_whole()));
    separator = ", ";
  }
}

void print_sequence_breakers() {
  const char* separator = "";
  for (const std::string& breaker : SamplerOptions().dry_sequence_breakers) {
    std::printf("%s%s", separator, print(Json(breaker)).c_str());
    separator = ", ";
  }
}

}  // namespace
}  // namespace kinglet

int main() {
  std::printf("{\"kvKinds\": [");
  kinglet::print_kv_kinds();
  std::printf("],\n\"samplingOptions\": {");
  kinglet::print_sampling_options();
  std::printf("},\n\"sequenceBreakers\": [");
  kinglet::print_sequence_breakers();
  std::printf("]}\n");
}
