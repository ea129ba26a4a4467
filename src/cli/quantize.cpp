#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/in_quotes.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/models.h"
#include "cli/new_file.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "gguf/file.h"
#include "gguf/importance.h"
#include "gguf/recipe.h"
#include "gguf/split.h"
#include "gguf/writer.h"
#include "tensor/quantizer.h"

namespace kinglet::cli {
namespace {

constexpr uint32_t kQuantizationVersion = 2;  // of the block types' layouts, see ggml.h

// The largest scale of NVFP4 that is rounded like all others, times the largest value.
constexpr float kLargestNvfp4 = 240.0f * 6.0f;

std::string beside(const TensorInfo& tensor, std::string_view suffix) {
  constexpr std::string_view kWeight = ".weight";
  std::string_view stem = tensor.name;
  if (stem.ends_with(kWeight)) stem.remove_suffix(kWeight.size());
  return cat(stem, suffix);
}

// A tensor of the new file. A tensor can have a second one, .scale: one factor for each matrix, by
// which its products are multiplied. A tensor that changes its type loses its scale, and gets a new
// one if its new type is NVFP4.
struct Conversion {
  const TensorInfo* source;
  DType type;

  bool changes_type() const { return source->type != type; }
  bool gets_scale() const { return changes_type() && type == DType::nvfp4; }
  Shape scale_shape() const { return {source->shape[2], 1, 1, 1}; }
};

// Returns the tensors that go into the new file.
std::vector<Conversion> plan(const GgufHeader& header, std::span<const DType> types) {
  std::vector<std::string> dropped;
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorInfo& tensor = header.tensors[i];
    if (tensor.type == types[i]) continue;
    dropped.push_back(beside(tensor, ".scale"));
    dropped.push_back(beside(tensor, ".input_scale"));
  }
  std::vector<Conversion> conversions;
  for (size_t i = 0; i < types.size(); ++i) {
    if (std::find(dropped.begin(), dropped.end(), header.tensors[i].name) == dropped.end()) {
      conversions.push_back({&header.tensors[i], types[i]});
    }
  }
  return conversions;
}

// Reads rows of a tensor as floats, multiplied by the tensor's .scale if it has one.
class Rows {
 public:
  Rows(GgufFile& file, const TensorInfo& info)
      : tensor_(file.tensor(info)), scales_(static_cast<size_t>(info.shape[2]), 1.0f) {
    const TensorInfo* scale = file.header().find_tensor(beside(info, ".scale"));
    const bool fits = scale != nullptr && scale != &info && scale->type == DType::f32 &&
                      scale->shape == Shape{info.shape[2], 1, 1, 1};
    if (fits) std::memcpy(scales_.data(), file.tensor(*scale).bytes.data(), scale->bytes);
  }

  size_t n_columns() const { return static_cast<size_t>(tensor_.n_columns()); }
  size_t n_rows() const { return static_cast<size_t>(tensor_.n_rows()); }
  size_t n_matrices() const { return scales_.size(); }
  size_t matrix_of(size_t row) const { return row / static_cast<size_t>(tensor_.shape[1]); }

  void read(size_t row, float factor, float* out) const {
    const DTypeInfo& type = dtype_info(tensor_.type);
    const size_t row_bytes = type.row_bytes(n_columns());
    type.dequantize(tensor_.bytes.data() + row * row_bytes, out, n_columns());
    factor *= scales_[matrix_of(row)];
    if (factor == 1) return;
    for (size_t i = 0; i < n_columns(); ++i) out[i] *= factor;
  }

 private:
  TensorView tensor_;
  std::vector<float> scales_;
};

// Returns the scale of each matrix: its largest weight divided by it is the largest value that
// NVFP4 represents well.
std::vector<float> nvfp4_scales(const Rows& rows) {
  std::vector<float> scales(rows.n_matrices(), 0.0f);
  std::vector<float> row(rows.n_columns());
  for (size_t i = 0; i < rows.n_rows(); ++i) {
    rows.read(i, 1.0f, row.data());
    float& largest = scales[rows.matrix_of(i)];
    for (const float weight : row) largest = std::max(largest, std::fabs(weight));
  }
  for (float& scale : scales)
    scale = std::isnormal(scale / kLargestNvfp4) ? scale / kLargestNvfp4 : 1.0f;
  return scales;
}

// Converts rows on all threads, so that only the tensor's result and a row of floats for each
// thread are in memory. `entry`: how much the tensor's columns matter, or null.
std::vector<std::byte> convert(const Rows& rows, DType to, std::span<const float> scales,
                               const ImportanceMatrix::Entry* entry, ThreadPool& pool) {
  constexpr size_t kGrain = 8;  // rows
  const Quantizer quantizer = find_quantizer(to);
  const ImportanceQuantizer by_importance =
      entry == nullptr ? nullptr : find_importance_quantizer(to);
  const size_t row_bytes = dtype_info(to).row_bytes(rows.n_columns());
  std::vector<std::byte> out(rows.n_rows() * row_bytes);
  pool.for_range(rows.n_rows(), kGrain, [&](size_t begin, size_t end, size_t /*thread*/) {
    std::vector<float> row(rows.n_columns());
    std::vector<float> importance;
    for (size_t i = begin; i < end; ++i) {
      const size_t matrix = rows.matrix_of(i);
      rows.read(i, scales.empty() ? 1.0f : 1.0f / scales[matrix], row.data());
      std::byte* const blocks = out.data() + i * row_bytes;
      if (by_importance == nullptr) {
        quantizer(row.data(), blocks, row.size());
        continue;
      }
      if (i == begin || rows.matrix_of(i - 1) != matrix) importance = entry->of_matrix(matrix);
      by_importance(row.data(), importance.data(), blocks, row.size());
    }
  });
  return out;
}

// Reads the importance matrix of a model; errors name its file.
Result<ImportanceMatrix> read_importance(const std::string& path, const GgufHeader& model) {
  KINGLET_ASSIGN(GgufFile file, read_gguf_file(path));
  auto matrix = ImportanceMatrix::read(file);
  const Status status = matrix.ok() ? matrix.value().check_model(model) : Status(matrix.error());
  if (status.ok()) return matrix;
  return Error{status.error().code, cat(path, ": ", status.error().message)};
}

// The number of the model's last layers that only guess tokens ahead. Texts do not reach them.
Result<uint32_t> count_guessing_layers(const GgufHeader& header) {
  KINGLET_ASSIGN(const std::string_view architecture,
                 header.require_string("general.architecture"));
  return header.get_uint(cat(architecture, ".nextn_predict_layers"), 0);
}

// Says on standard error how many of the layers' matrices are quantized without their importance.
// n_reached: the number of first layers that texts reach. Errors: missing_tensor (nothing is known
// of one of these, or of a matrix whose new type needs it).
Status check_layers(std::span<const Conversion> conversions, const ImportanceMatrix& matrix,
                    uint32_t n_reached, const std::string& path) {
  std::set<std::optional<uint32_t>> known;
  for (const auto& [name, entry] : matrix.entries) known.insert(layer_of(name));
  size_t n_missing = 0;
  for (const Conversion& conversion : conversions) {
    const std::string_view name = conversion.source->name;
    const std::optional<uint32_t> layer = layer_of(name);
    const bool can_use =
        conversion.changes_type() && find_importance_quantizer(conversion.type) != nullptr;
    if (!layer || !can_use || matrix.find(name) != nullptr) continue;
    ++n_missing;
    if (*layer >= n_reached) continue;
    if (known.count(layer) == 0) {
      return Error{ErrorCode::missing_tensor,
                   cat(path, ": has no entry for ", in_quotes(name),
                       " or another matrix of its layer: it is the importance matrix of another "
                       "model")};
    }
    if (needs_importance(name, conversion.type)) {
      return Error{ErrorCode::missing_tensor,
                   cat(path, ": has no entry for ", in_quotes(name), ", which ",
                       dtype_info(conversion.type).name, " needs: make another matrix")};
    }
  }
  if (n_missing > 0) {
    std::fprintf(stderr,
                 "%zu matrices are not in the importance matrix: all their columns count alike\n",
                 n_missing);
  }
  return {};
}

// Fails with ErrorCode::invalid_argument if a new type needs an importance matrix.
Status check_without_importance(std::span<const Conversion> conversions) {
  for (const Conversion& conversion : conversions) {
    const std::string_view name = conversion.source->name;
    if (!conversion.changes_type() || !needs_importance(name, conversion.type)) continue;
    return Error{ErrorCode::invalid_argument,
                 cat(in_quotes(name), " in ", dtype_info(conversion.type).name,
                     " needs an importance matrix: \"kinglet imatrix -m MODEL -f TEXT\" makes "
                     "one, and --imatrix reads it")};
  }
  return {};
}

// The keys are llama.cpp's.
void describe_importance(const ImportanceMatrix& matrix, const std::string& path, GgufWriter& out) {
  out.set("quantize.imatrix.file", std::string_view(path));
  if (!matrix.datasets.empty()) {
    out.set("quantize.imatrix.dataset", std::string_view(matrix.datasets.front()));
  }
  out.set("quantize.imatrix.entries_count", static_cast<uint32_t>(matrix.entries.size()));
  out.set("quantize.imatrix.chunks_count", matrix.n_chunks);
}

void set_metadata(const GgufHeader& header, const Recipe& recipe, std::span<const DType> types,
                  GgufWriter& out) {
  for (const MetadataEntry& entry : header.metadata) {
    // These describe how the old file was stored: its mix of types, why, and its padding.
    if (entry.key == "general.file_type" || entry.key == "general.quantization_version" ||
        entry.key == "general.alignment" || entry.key.starts_with("quantize.imatrix.")) {
      continue;
    }
    out.copy(entry);
  }
  out.set("general.file_type", recipe.file_type);
  const auto is_block = [](DType type) { return dtype_info(type).block_size > 1; };
  if (std::any_of(types.begin(), types.end(), is_block)) {
    out.set("general.quantization_version", kQuantizationVersion);
  }
}

Status write_tensor(GgufFile& file, const Conversion& conversion, const ImportanceMatrix& matrix,
                    ThreadPool& pool, GgufWriter& out) {
  if (!conversion.changes_type()) return out.write_tensor(file.tensor(*conversion.source).bytes);
  const Rows rows(file, *conversion.source);
  std::vector<float> scales;
  if (conversion.gets_scale()) scales = nvfp4_scales(rows);
  KINGLET_TRY(out.write_tensor(
      convert(rows, conversion.type, scales, matrix.find(conversion.source->name), pool)));
  return scales.empty() ? Status() : out.write_tensor(std::as_bytes(std::span(scales)));
}

// The bytes of a file's tensors, by type.
class Sizes {
 public:
  void add(DType type, uint64_t bytes) {
    total_ += bytes;
    const auto same = [type](const Share& share) { return share.type == type; };
    const auto share = std::find_if(shares_.begin(), shares_.end(), same);
    if (share == shares_.end()) {
      shares_.push_back({type, bytes});
    } else {
      share->bytes += bytes;
    }
  }

  // Prints to standard error, since the file may go to standard output: "before: 10.1 MB, F16 99 %,
  // F32 1 %", the largest share first.
  void print(const char* when) {
    std::sort(shares_.begin(), shares_.end(),
              [](const Share& a, const Share& b) { return a.bytes > b.bytes; });
    std::fprintf(stderr, "%s: %.1f MB", when, static_cast<double>(total_) / 1e6);
    for (const Share& share : shares_) {
      const double percent = 100 * static_cast<double>(share.bytes) / static_cast<double>(total_);
      std::fprintf(stderr, ", %s %.*f %%", std::string(dtype_info(share.type).name).c_str(),
                   percent < 1 ? 2 : 0, percent);
    }
    std::fprintf(stderr, "\n");
  }

 private:
  struct Share {
    DType type;
    uint64_t bytes;
  };
  uint64_t total_ = 0;
  std::vector<Share> shares_;
};

}  // namespace

Status quantize(const QuantizeOptions& options) {
  KINGLET_ASSIGN(Recipe recipe, find_recipe(options.mix));
  KINGLET_ASSIGN(const std::string input, model_path(options.input));
  std::vector<std::string> inputs = split_paths(input);
  if (!options.imatrix.empty()) inputs.push_back(options.imatrix);
  KINGLET_TRY(check_output(options.output, inputs, options.replaces));
  KINGLET_ASSIGN(GgufFile file, read_model(options.input));
  const GgufHeader& header = file.header();
  KINGLET_ASSIGN(const ModelTraits model, read_traits(header));
  ImportanceMatrix importance;
  const bool has_importance = !options.imatrix.empty();
  if (has_importance) {
    KINGLET_ASSIGN(importance, read_importance(options.imatrix, header));
    recipe = with_importance(recipe);
  }
  const std::vector<DType> types = recipe_types(recipe, model, header.tensors);
  const std::vector<Conversion> conversions = plan(header, types);
  if (has_importance) {
    KINGLET_ASSIGN(const uint32_t n_guessing, count_guessing_layers(header));
    KINGLET_TRY(check_layers(conversions, importance,
                             model.n_layers - std::min(n_guessing, model.n_layers),
                             options.imatrix));
  } else {
    KINGLET_TRY(check_without_importance(conversions));
  }
  Sizes before;
  Sizes after;
  for (const TensorInfo& tensor : header.tensors) before.add(tensor.type, tensor.bytes);

  GgufWriter out;
  set_metadata(header, recipe, types, out);
  if (has_importance) describe_importance(importance, options.imatrix, out);
  const auto add = [&](std::string_view name, DType type, const Shape& shape) {
    out.add_tensor(name, type, shape);
    after.add(type, tensor_bytes(type, shape[0], shape[1] * shape[2] * shape[3]).value_or(0));
  };
  for (const Conversion& conversion : conversions) {
    add(conversion.source->name, conversion.type, conversion.source->shape);
    if (conversion.gets_scale()) {
      add(beside(*conversion.source, ".scale"), DType::f32, conversion.scale_shape());
    }
  }
  KINGLET_ASSIGN(NewFile written, NewFile::create(options.output));
  KINGLET_TRY(out.open(written.path()));
  {
    ThreadPool pool(threads_for(0));
    ProgressBar bar("Converting");
    uint64_t n_done = 0;
    for (const Conversion& conversion : conversions) {
      KINGLET_TRY(write_tensor(file, conversion, importance, pool, out));
      bar.update(n_done += conversion.source->bytes, header.data_bytes);
    }
  }
  KINGLET_TRY(out.close());
  KINGLET_TRY(written.keep());
  before.print("before");
  after.print("after");
  return {};
}

}  // namespace kinglet::cli
