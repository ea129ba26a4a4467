// Prints as JSON what the package must know about types before it has an engine, for
// scripts/generate-type-tables.mjs.
#include <cstdio>
#include <string>
#include <string_view>

#include "gguf/ggml_types.h"
#include "gguf/metadata.h"
#include "json/json.h"
#include "kv/kv_plan.h"
#include "kv/recurrent_state.h"
#include "model/architecture.h"
#include "model/embedding_table.h"
#include "model/encode.h"
#include "model/scratch.h"
#include "session/sampling_options.h"
#include "session/session.h"
#include "tensor/dtype.h"
#include "tensor/kv_kind.h"

namespace kinglet {
namespace {

void print_tensor_types() {
  const char* separator = "";
  for (const DTypeInfo& info : dtypes()) {
    std::printf("%s\"%u\": \"%s\"", separator, static_cast<unsigned>(info.type),
                std::string(info.name).c_str());
    separator = ", ";
  }
}

void print_unread_tensor_types() {
  constexpr uint32_t kMostIds = 1 << 8;  // ggml has assigned far fewer
  const char* separator = "";
  for (uint32_t id = 0; id < kMostIds; ++id) {
    const std::string_view name = unread_type_name(id);
    if (name.empty()) continue;
    std::printf("%s\"%u\": \"%s\"", separator, id, std::string(name).c_str());
    separator = ", ";
  }
}

void print_tensor_blocks() {
  const char* separator = "";
  for (const DTypeInfo& info : dtypes()) {
    std::printf("%s\"%u\": [%zu, %zu]", separator, static_cast<unsigned>(info.type),
                static_cast<size_t>(info.block_size), static_cast<size_t>(info.block_bytes));
    separator = ", ";
  }
}

void print_value_bytes() {
  for (uint32_t type = 0; type <= static_cast<uint32_t>(ValueType::float64); ++type) {
    std::printf("%s%zu", type == 0 ? "" : ", ", value_type_bytes(ValueType{type}));
  }
}

// A row of n elements takes `bytes`, plus `block_bytes` for each block of elements that it begins.
struct KvRow {
  uint64_t bytes;
  uint64_t block_size;
  uint64_t block_bytes;
};

KvRow kv_row(const KvKindInfo& info) {
  uint64_t block_size = 1;
  while (info.row_bytes(block_size + 1) == info.row_bytes(1)) ++block_size;
  const uint64_t block_bytes = info.row_bytes(2 * block_size) - info.row_bytes(block_size);
  return {info.row_bytes(block_size) - block_bytes, block_size, block_bytes};
}

bool is_right(const KvRow& row, const KvKindInfo& info) {
  for (uint64_t n = 1; n <= 512; ++n) {
    const uint64_t n_blocks = (n + row.block_size - 1) / row.block_size;
    if (row.bytes + n_blocks * row.block_bytes != info.row_bytes(n)) return false;
  }
  return true;
}

// Returns false if the rows of a kind cannot be described in this way.
bool print_kv_rows() {
  for (size_t kind = 0; kind < kNKvKinds; ++kind) {
    const KvKindInfo& info = kv_kind_info(static_cast<KvKind>(kind));
    const KvRow row = kv_row(info);
    if (!is_right(row, info)) {
      std::fprintf(stderr, "a row of %s is more than a head and blocks of one size\n",
                   std::string(info.name).c_str());
      return false;
    }
    std::printf("%s\"%s\": {\"bytes\": %llu, \"blockSize\": %llu, \"blockBytes\": %llu}",
                kind == 0 ? "" : ", ", std::string(info.name).c_str(),
                static_cast<unsigned long long>(row.bytes),
                static_cast<unsigned long long>(row.block_size),
                static_cast<unsigned long long>(row.block_bytes));
  }
  return true;
}

void print_recurrent_states() {
  std::printf(
      "{\"checkpointBudget\": %llu, \"fewestCheckpoints\": %u, \"mostCheckpoints\": %u, "
      "\"nWorkingStates\": %u}",
      static_cast<unsigned long long>(kCheckpointBudget), kFewestCheckpoints, kMostCheckpoints,
      kWorkingStates);
}

void print_kept_windows() {
  std::printf(
      "{\"pagePositions\": %u, \"nSpare\": %u, \"budget\": %llu, \"fewest\": %u, \"most\": %u}",
      kWindowPage, kWindowSpare, static_cast<unsigned long long>(kWindowBudget), kFewestKeptWindows,
      kMostKeptWindows);
}

void print_batch_sizes() {
  std::printf("{\"session\": %u, \"logitRows\": %u, \"encoder\": %u}", SessionOptions().n_batch,
              kMostLogitRows, kEncoderBatch);
}

void print_windows_by_architecture() {
  const char* separator = "";
  for (const Architecture& traits : architectures()) {
    if (traits.is_encoder() || (traits.window.size == 0 && traits.window.period == 0)) continue;
    std::printf("%s\"%s\": {\"window\": %u, \"period\": %u}", separator,
                std::string(traits.name).c_str(),
                traits.window.n_layers == 0 ? traits.window.size : 0, traits.window.period);
    separator = ", ";
  }
}

void print_encoders() {
  const char* separator = "";
  for (const Architecture& traits : architectures()) {
    if (!traits.is_encoder()) continue;
    std::printf("%s\"%s\"", separator, std::string(traits.name).c_str());
    separator = ", ";
  }
}

void print_attention_intervals() {
  const char* separator = "";
  for (const Architecture& traits : architectures()) {
    if (traits.mixers.interval == 0) continue;
    std::printf("%s\"%s\": %u", separator, std::string(traits.name).c_str(),
                traits.mixers.interval);
    separator = ", ";
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
  std::printf("{\"tensorTypes\": {");
  kinglet::print_tensor_types();
  std::printf("},\n\"unreadTensorTypes\": {");
  kinglet::print_unread_tensor_types();
  std::printf("},\n\"tensorBlocks\": {");
  kinglet::print_tensor_blocks();
  std::printf("},\n\"largeTableBytes\": %llu",
              static_cast<unsigned long long>(kinglet::kLargeTableBytes));
  std::printf(",\n\"valueBytes\": [");
  kinglet::print_value_bytes();
  std::printf("],\n\"kvRows\": {");
  if (!kinglet::print_kv_rows()) return 1;
  std::printf("},\n\"recurrentStates\": ");
  kinglet::print_recurrent_states();
  std::printf(",\n\"keptWindows\": ");
  kinglet::print_kept_windows();
  std::printf(",\n\"batchSizes\": ");
  kinglet::print_batch_sizes();
  std::printf(",\n\"windowsByArchitecture\": {");
  kinglet::print_windows_by_architecture();
  std::printf("},\n\"encoders\": [");
  kinglet::print_encoders();
  std::printf("],\n\"attentionIntervals\": {");
  kinglet::print_attention_intervals();
  std::printf("},\n\"samplingOptions\": {");
  kinglet::print_sampling_options();
  std::printf("},\n\"sequenceBreakers\": [");
  kinglet::print_sequence_breakers();
  std::printf("]}\n");
}
