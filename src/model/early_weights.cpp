#include "model/early_weights.h"

#include <algorithm>

#include "kernels/packing.h"
#include "model/config.h"
#include "model/weights.h"
#include "tensor/finite.h"

namespace kinglet {
namespace {

// Large compared to the cost of starting a part, and small enough that a part stays in the
// second-level cache between checking and packing.
constexpr size_t kPartBytes = size_t{1} << 17;

}  // namespace

EarlyWeights EarlyWeights::plan(GgufFile& file, const KernelSet& kernels) {
  EarlyWeights early;
  early.is_planning_ = true;
  auto config = read_config(file.header());
  // The tensors' bytes have not arrived yet, so the weights that this makes are discarded.
  if (!config.ok() || !take_weights(file, kernels, config.value(), &early).ok()) {
    early.matrices_.clear();
  }
  early.is_planning_ = false;
  std::sort(early.matrices_.begin(), early.matrices_.end(),
            [](const Matrix& a, const Matrix& b) { return a.form.data < b.form.data; });
  for (const Matrix& matrix : early.matrices_) {
    early.room_bytes_ = std::max(early.room_bytes_, packed_group_bytes(matrix.form));
  }
  return early;
}

void EarlyWeights::add(const TensorView& tensor, const PackedMatrix& matrix) {
  matrices_.push_back({matrix, tensor.bytes.data(), std::nullopt});
}

size_t EarlyWeights::row_bytes(const Matrix& matrix) const {
  return dtype_info(matrix.form.type).row_bytes(matrix.form.n_columns);
}

std::vector<EarlyWeights::Part> EarlyWeights::next_parts(std::span<const std::byte> arrived,
                                                         size_t bytes) {
  const std::byte* end = arrived.data() + arrived.size();
  std::vector<Part> parts;
  size_t n_bytes = 0;
  size_t index = next_matrix_;
  size_t row = next_row_;
  for (; index < matrices_.size(); ++index, row = 0) {
    const auto& [form, tensor, bad_block] = matrices_[index];
    const size_t width = row_bytes(matrices_[index]);
    const size_t group = form.interleave;
    const size_t step = std::max<size_t>(kPartBytes / (group * width), 1) * group;
    while (row < form.n_rows) {
      const size_t last = std::min(row + step, form.n_rows);
      if (form.data + last * width > end) break;
      parts.push_back({index, row, last, std::nullopt});
      n_bytes += (last - row) * width;
      row = last;
    }
    if (row < form.n_rows) break;
  }
  if (n_bytes < bytes && index < matrices_.size()) return {};
  next_matrix_ = index;
  next_row_ = row;
  return parts;
}

void EarlyWeights::run(Part& part, std::byte* room) const {
  const auto& [form, tensor, bad_block] = matrices_[part.matrix];
  const size_t width = row_bytes(matrices_[part.matrix]);
  const std::byte* first = form.data + part.begin * width;
  const std::span<const std::byte> rows(first, (part.end - part.begin) * width);
  if (const auto block = kinglet::find_not_finite(form.type, rows)) {
    const auto n_before = static_cast<size_t>(first - tensor);
    part.bad_block = n_before / dtype_info(form.type).block_bytes + *block;
  }
  pack_rows(form, part.begin, part.end, room);
}

void EarlyWeights::note(const Part& part) {
  std::optional<size_t>& first = matrices_[part.matrix].bad_block;
  if (part.bad_block) first = std::min(first.value_or(*part.bad_block), *part.bad_block);
}

std::vector<EarlyWeights::Matrix>::const_iterator EarlyWeights::first_at(
    const std::byte* data) const {
  return std::lower_bound(
      matrices_.begin(), matrices_.end(), data,
      [](const Matrix& matrix, const std::byte* at) { return matrix.form.data < at; });
}

bool EarlyWeights::has(const TensorView& tensor) const {
  const auto matrix = first_at(tensor.bytes.data());
  return matrix != matrices_.end() && matrix->tensor == tensor.bytes.data() &&
         next_matrix_ == matrices_.size();
}

std::optional<size_t> EarlyWeights::find_not_finite(const TensorView& tensor) const {
  const std::byte* begin = tensor.bytes.data();
  for (auto matrix = first_at(begin); matrix != matrices_.end() && matrix->tensor == begin;
       ++matrix) {
    if (matrix->bad_block) return matrix->bad_block;
  }
  return std::nullopt;
}

}  // namespace kinglet
