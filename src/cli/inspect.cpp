#include <cstdio>
#include <string>
#include <utility>

#include "base/format.h"
#include "base/in_quotes.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/models.h"
#include "gguf/file.h"
#include "gguf/recipe.h"
#include "gguf/split.h"
#include "session/language_model.h"
#include "session/memory_plan.h"
#include "tensor/kv_kind.h"

namespace kinglet::cli {
namespace {

constexpr uint64_t kShownElements = 6;

std::string value_text(const MetadataValue& value);

std::string array_text(const MetadataArray& array) {
  std::string text = "[";
  array.for_each([&](uint64_t i, const MetadataValue& element) {
    if (i < kShownElements) text += cat(i == 0 ? "" : ", ", value_text(element));
  });
  if (array.size() > kShownElements) text += ", …";
  return text + "]";
}

std::string value_text(const MetadataValue& value) {
  if (const auto text = value.as_string()) return in_quotes(*text);
  if (const auto flag = value.as_bool()) return *flag ? "true" : "false";
  if (const auto array = value.as_array()) return array_text(*array);
  if (const auto number = value.as_int()) return cat(*number);
  if (const auto number = value.as_uint()) return cat(*number);
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", value.as_float().value_or(0));
  return digits;
}

std::string type_text(const MetadataValue& value) {
  const auto array = value.as_array();
  return array ? cat(value_type_name(array->element_type()), "[", array->size(), "]")
               : std::string(value_type_name(value.type()));
}

// Returns the value as text; for the file type, with the name of its mix.
std::string entry_text(const MetadataEntry& entry) {
  const auto number = entry.value.as_uint();
  const bool is_file_type = entry.key == "general.file_type" && number && *number <= UINT32_MAX;
  const auto mix = is_file_type ? mix_name(static_cast<uint32_t>(*number)) : std::string_view();
  return mix.empty() ? value_text(entry.value) : cat(value_text(entry.value), " (", mix, ")");
}

// What the model takes with the default options, as far as this program can run it.
void print_plan(GgufFile file) {
  if (const auto split = read_split(file.header()); !split.ok() || split.value().n_parts > 1)
    return;
  const auto kernels = choose_kernels("");
  const SequenceOptions options{.k_kind = kAutoKvKind, .v_kind = kAutoKvKind};
  const auto plan = plan_memory(std::move(file), *kernels.value(), 1, options);
  if (!plan.ok()) return;
  const auto megabytes = [](uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  const SequenceBytes& session = plan.value().session;
  std::printf("\nMemory: %.1f MB of weights", megabytes(plan.value().weights));
  if (session.n_ctx > 0) {
    std::printf(", %.1f MB for %u tokens of context (KV cache: %s)",
                megabytes(session.kv + session.recurrent), session.n_ctx,
                std::string(kv_kind_info(session.k_kind).name).c_str());
  }
  std::printf("\n");
}

}  // namespace

Status inspect(const std::string& model) {
  KINGLET_ASSIGN(const std::string path, model_path(model));
  KINGLET_ASSIGN(GgufFile file, outline_gguf_file(path));
  const GgufHeader& header = file.header();
  std::printf("GGUF version %u, %zu metadata values, %zu tensors, alignment %u, %llu bytes\n\n",
              header.version, header.metadata.size(), header.tensors.size(), header.alignment,
              static_cast<unsigned long long>(file.file_bytes()));
  for (const MetadataEntry& entry : header.metadata) {
    std::printf("%-44s %-14s %s\n", printable(entry.key).c_str(), type_text(entry.value).c_str(),
                entry_text(entry).c_str());
  }
  if (!header.tensors.empty()) std::printf("\n");
  for (const TensorInfo& tensor : header.tensors) {
    const std::string place = cat(tensor.bytes, " bytes at ", header.data_offset + tensor.offset);
    std::printf("%-44s %-6s %-20s %s\n", printable(tensor.name).c_str(),
                std::string(dtype_info(tensor.type).name).c_str(), shape_text(tensor.shape).c_str(),
                place.c_str());
  }
  print_plan(std::move(file));
  return {};
}

}  // namespace kinglet::cli
