#include "model/weight_fill.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/format.h"
#include "base/hash.h"
#include "kernels/packing.h"
#include "tensor/finite.h"

namespace kinglet {
namespace {

// Large compared to the cost of starting a part, and small enough that a part stays in the
// second-level cache between checking and packing.
constexpr size_t kPartBytes = size_t{1} << 17;

// How many rows of a table are hashed, about.
constexpr size_t kSampledRows = 64;

size_t sample_step(size_t n_rows) { return std::max<size_t>(n_rows / kSampledRows, 1); }

uint64_t hash_name(std::string_view name) {
  return hash_bytes(std::as_bytes(std::span(name.data(), name.size())));
}

// The hashes of rows are added, in any order, so each depends on where its row belongs: `begin` is
// the offset of its first byte in the tensor.
uint64_t hash_row(uint64_t name, uint64_t begin, std::span<const std::byte> row) {
  return hash_bytes(row, name + begin);
}

}  // namespace

void WeightFill::add(const TensorView& tensor, const PackedMatrix& form) {
  matrices_.push_back({.form = form,
                       .name = tensor.name,
                       .name_hash = hash_name(tensor.name),
                       .tensor = tensor.bytes.data(),
                       .hash_step = 1,
                       .bad_block = std::nullopt});
  room_bytes_ = std::max(room_bytes_, packed_group_bytes(form));
}

void WeightFill::add_table(const TensorView& tensor, const PackedMatrix& form) {
  add(tensor, form);
  matrices_.back().hash_step = sample_step(form.n_rows);
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
  const size_t step = matrix.hash_step;
  for (size_t row = (part.begin + step - 1) / step * step; row < part.end; row += step) {
    const std::byte* data = matrix.form.data + row * width;
    const auto begin = static_cast<uint64_t>(data - matrix.tensor);
    part.hash += hash_row(matrix.name_hash, begin, {data, width});
  }
  pack_rows(matrix.form, part.begin, part.end, room);
}

void WeightFill::note(const Part& part) {
  std::optional<size_t>& first = matrices_[part.matrix].bad_block;
  if (part.bad_block) first = std::min(first.value_or(*part.bad_block), *part.bad_block);
  hash_ += part.hash;
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
  for (const StoredRows& rows : stored_) KINGLET_TRY(hash_stored(rows));
  const auto bad = std::find_if(matrices_.begin(), matrices_.end(),
                                [](const Matrix& matrix) { return matrix.bad_block.has_value(); });
  if (bad == matrices_.end()) return {};
  return Error{ErrorCode::not_finite, cat("tensor ", bad->name, " holds NaN or infinity at weight ",
                                          *bad->bad_block * dtype_info(bad->form.type).block_size,
                                          ": the file is damaged")};
}

Status WeightFill::hash_stored(const StoredRows& rows) {
  std::vector<std::byte> row(rows.row_bytes);
  for (size_t i = 0; i < rows.n_rows; i += sample_step(rows.n_rows)) {
    const uint64_t begin = uint64_t{i} * rows.row_bytes;
    KINGLET_TRY(rows.tensor.file->read(rows.tensor.offset + begin, row));
    hash_ += hash_row(hash_name(rows.name), begin, row);
  }
  return {};
}

}  // namespace kinglet
