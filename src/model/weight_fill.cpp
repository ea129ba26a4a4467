#include "model/weight_fill.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/format.h"
#include "base/hash.h"
#include "kernels/packing.h"
#include "model/embedding_table.h"
#include "tensor/finite.h"

namespace kinglet {
namespace {

// Large compared to the cost of starting a part, and small enough that a part stays in the
// second-level cache between checking and packing.
constexpr size_t kPartBytes = size_t{1} << 17;

// How many rows of a large table are hashed, about: to read all of them would cost what leaving the
// table in its file saves.
constexpr size_t kSampledRows = 64;

// Every row of a table whose index is a multiple of this is hashed.
size_t sample_step(size_t n_rows, size_t row_bytes) {
  const bool is_large = uint64_t{n_rows} * row_bytes >= kLargeTableBytes;
  return is_large ? std::max<size_t>(n_rows / kSampledRows, 1) : 1;
}

// The hashes of rows are added, in any order, so each depends on where its row belongs: `begin` is
// the offset of its first byte in the tensor.
uint64_t hash_row(uint64_t name, uint64_t begin, std::span<const std::byte> row) {
  return hash_bytes(row, name + begin);
}

}  // namespace

void WeightFill::add(const TensorView& tensor, const std::byte* rows, const PackedMatrix& form) {
  matrices_.push_back({.form = form,
                       .rows = {rows, tensor.type},
                       .name = tensor.name,
                       .name_hash = hash_text(tensor.name),
                       .tensor = tensor.bytes.data(),
                       .hash_step = 1,
                       .bad_block = std::nullopt});
  if (form.interleave > 1 || form.type != tensor.type) {
    room_bytes_ = std::max(room_bytes_, packed_group_bytes(form));
  }
}

void WeightFill::add_table(const TensorView& tensor, const PackedMatrix& form) {
  add(tensor, tensor.bytes.data(), form);
  Matrix& table = matrices_.back();
  table.hash_step = sample_step(form.n_rows, table.row_bytes());
  table.is_table = true;
}

void WeightFill::sort() {
  std::sort(matrices_.begin(), matrices_.end(),
            [](const Matrix& a, const Matrix& b) { return a.rows.data < b.rows.data; });
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
  bool is_full = false;
  const std::byte* tensor = nullptr;
  const std::byte* unread = nullptr;  // the first row of that tensor that is read by these parts
  for (; index < matrices_.size(); ++index, row = 0) {
    const Matrix& matrix = matrices_[index];
    const PackedMatrix& form = matrix.form;
    const size_t group = form.interleave;
    const size_t step = std::max<size_t>(kPartBytes / (group * matrix.row_bytes()), 1) * group;
    if (matrix.tensor != tensor) {
      tensor = matrix.tensor;
      unread = nullptr;
    }
    while (row < form.n_rows) {
      const size_t last = std::min(row + step, form.n_rows);
      if (matrix.row(last) > end) break;
      if (unread == nullptr) {
        unread = matrix.row(row);
      } else if (form.type != matrix.rows.type && matrix.packed_row(last) > unread) {
        is_full = true;
        break;
      }
      parts.push_back({index, row, last, std::nullopt});
      n_bytes += (last - row) * matrix.row_bytes();
      row = last;
    }
    if (row < form.n_rows) break;
  }
  if (n_bytes < bytes && index < matrices_.size() && !is_full) return {};
  next_matrix_ = index;
  next_row_ = row;
  return parts;
}

void WeightFill::run(Part& part, std::byte* room) const {
  const Matrix& matrix = matrices_[part.matrix];
  const std::byte* first = matrix.row(part.begin);
  const std::span<const std::byte> rows(first, matrix.row(part.end));
  if (const auto block = find_not_finite(matrix.rows.type, rows)) {
    const auto n_before = static_cast<size_t>(first - matrix.tensor);
    part.bad_block = n_before / dtype_info(matrix.rows.type).block_bytes + *block;
  }
  const size_t step = matrix.hash_step;
  for (size_t row = (part.begin + step - 1) / step * step; row < part.end; row += step) {
    const std::byte* data = matrix.row(row);
    const auto begin = static_cast<uint64_t>(data - matrix.tensor);
    part.hash += hash_row(matrix.name_hash, begin, {data, matrix.row_bytes()});
  }
  pack_rows(matrix.form, matrix.rows, part.begin, part.end, room);
}

void WeightFill::note(const Part& part) {
  std::optional<size_t>& first = matrices_[part.matrix].bad_block;
  if (part.bad_block) first = std::min(first.value_or(*part.bad_block), *part.bad_block);
  hash_ += part.hash;
}

Status WeightFill::finish() {
  if (!is_done()) {
    KINGLET_ASSIGN(AlignedBuffer room, AlignedBuffer::allocate(room_bytes_, "packing the weights"));
    const std::byte* end = matrices_.back().row(matrices_.back().form.n_rows);
    while (!is_done()) {
      for (Part& part : parts_before(end, 0)) {
        run(part, room.data());
        note(part);
      }
    }
  }
  for (const StoredRows& rows : stored_) KINGLET_TRY(hash_stored(rows));
  const auto bad = std::find_if(matrices_.begin(), matrices_.end(),
                                [](const Matrix& matrix) { return matrix.bad_block.has_value(); });
  if (bad == matrices_.end()) return {};
  return Error{
      ErrorCode::not_finite,
      cat("tensor ", bad->name, " contains NaN or infinity at weight ",
          *bad->bad_block * dtype_info(bad->rows.type).block_size, ": the file is damaged")};
}

Status WeightFill::hash_stored(const StoredRows& rows) {
  const uint64_t name = hash_text(rows.name);
  const size_t step = sample_step(rows.n_rows, rows.row_bytes);
  const size_t n_together = step > 1 ? 1 : std::max<size_t>(kPartBytes / rows.row_bytes, 1);
  std::vector<std::byte> bytes(n_together * rows.row_bytes);
  for (size_t i = 0; i < rows.n_rows; i += step * n_together) {
    const size_t n = std::min(n_together, rows.n_rows - i);
    const std::span<std::byte> read(bytes.data(), n * rows.row_bytes);
    const uint64_t begin = uint64_t{i} * rows.row_bytes;
    KINGLET_TRY(rows.tensor.file->read(rows.tensor.offset + begin, read));
    for (size_t at = 0; at < read.size(); at += rows.row_bytes) {
      hash_ += hash_row(name, begin + at, read.subspan(at, rows.row_bytes));
    }
  }
  return {};
}

}  // namespace kinglet
