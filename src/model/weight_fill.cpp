#include "model/weight_fill.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/format.h"
#include "kernels/packing.h"
#include "tensor/finite.h"

namespace kinglet {
namespace {

// Large compared to the cost of starting a part, and small enough that a part stays in the
// second-level cache between checking and packing.
constexpr size_t kPartBytes = size_t{1} << 17;

}  // namespace

void WeightFill::add(const TensorView& tensor, const PackedMatrix& form) {
  matrices_.push_back({form, tensor.name, tensor.bytes.data(), std::nullopt});
  room_bytes_ = std::max(room_bytes_, packed_group_bytes(form));
}

void WeightFill::sort() {
  std::sort(matrices_.begin(), matrices_.end(),
            [](const Matrix& a, const Matrix& b) { return a.form.data < b.form.data; });
}

size_t WeightFill::row_bytes(const Matrix& matrix) const {
  return dtype_info(matrix.form.type).row_bytes(matrix.form.n_columns);
}

std::vector<WeightFill::Part> WeightFill::next_parts(std::span<const std::byte> arrived,
                                                     size_t bytes) {
  return parts_before(arrived.data() + arrived.size(), bytes);
}

std::vector<WeightFill::Part> WeightFill::parts_before(const std::byte* end, size_t bytes) {
  std::vector<Part> parts;
  size_t n_bytes = 0;
  size_t index = next_matrix_;
  size_t row = next_row_;
  for (; index < matrices_.size(); ++index, row = 0) {
    const PackedMatrix& form = matrices_[index].form;
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

void WeightFill::run(Part& part, std::byte* room) const {
  const Matrix& matrix = matrices_[part.matrix];
  const size_t width = row_bytes(matrix);
  const std::byte* first = matrix.form.data + part.begin * width;
  const std::span<const std::byte> rows(first, (part.end - part.begin) * width);
  if (const auto block = find_not_finite(matrix.form.type, rows)) {
    const auto n_before = static_cast<size_t>(first - matrix.tensor);
    part.bad_block = n_before / dtype_info(matrix.form.type).block_bytes + *block;
  }
  pack_rows(matrix.form, part.begin, part.end, room);
}

void WeightFill::note(const Part& part) {
  std::optional<size_t>& first = matrices_[part.matrix].bad_block;
  if (part.bad_block) first = std::min(first.value_or(*part.bad_block), *part.bad_block);
}

Status WeightFill::finish() {
  if (!is_done()) {
    KINGLET_ASSIGN(AlignedBuffer room, AlignedBuffer::allocate(room_bytes_, "packing the weights"));
    const Matrix& last = matrices_.back();
    const std::byte* end = last.form.data + last.form.n_rows * row_bytes(last);
    for (Part& part : parts_before(end, 0)) {
      run(part, room.data());
      note(part);
    }
  }
  const auto bad = std::find_if(matrices_.begin(), matrices_.end(),
                                [](const Matrix& matrix) { return matrix.bad_block.has_value(); });
  if (bad == matrices_.end()) return {};
  return Error{ErrorCode::not_finite, cat("tensor ", bad->name, " holds NaN or infinity at weight ",
                                          *bad->bad_block * dtype_info(bad->form.type).block_size,
                                          ": the file is damaged")};
}

}  // namespace kinglet
