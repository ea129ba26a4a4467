#include "model/preparation.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace kinglet {
namespace {

// Weights are prepared when at least this many bytes of them have arrived.
constexpr size_t kRoundBytes = size_t{1} << 20;

// The system provides a page of memory at the first write to it, which takes longer than the write
// itself. Pages are therefore touched ahead of the thread that reads the file: kAheadBytes ahead,
// in pieces of kTouchBytes.
constexpr size_t kAheadBytes = size_t{1} << 25;
constexpr size_t kTouchBytes = size_t{1} << 20;

// Touches the pages and does not change their bytes, to which another thread may be writing.
// Natively does nothing: there the system provides large pages quickly.
void touch([[maybe_unused]] const std::byte* begin, [[maybe_unused]] const std::byte* end) {
#if defined(__EMSCRIPTEN__)
  constexpr ptrdiff_t kPage = 4096;  // larger pages are touched more than once
  for (; begin < end; begin += kPage) {
    auto* byte = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(begin));
    __atomic_fetch_or(byte, 0, __ATOMIC_RELAXED);
  }
#endif
}

}  // namespace

void Preparation::advance(GgufLoader& loader) {
  if (!pool_.is_done() || !begin(loader)) return;
  end_round();
  begin_round(loader, kRoundBytes);
}

void Preparation::finish(GgufLoader& loader) {
  end_round();
  if (begin(loader)) {
    begin_round(loader, 0);
    end_round();
  }
}

// Plans the preparation once the header has arrived. Returns whether there is anything to prepare.
bool Preparation::begin(GgufLoader& loader) {
  if (file_ != nullptr) return true;
  file_ = loader.file();
  if (file_ == nullptr) return false;
  WeightFill* fill = model_.bind(*file_);
  if (fill == nullptr) return true;
  auto room =
      AlignedBuffer::allocate(pool_.n_threads() * fill->room_bytes(), "packing the weights");
  if (!room.ok()) return true;  // loading may still find memory for one thread
  room_ = std::move(room.value());
  fill_ = fill;
  return true;
}

void Preparation::begin_round(GgufLoader& loader, size_t bytes) {
  reads_now_ = !has_read_;
  has_read_ = true;
  if (fill_ != nullptr) parts_ = fill_->next_parts(loader.arrived(), bytes);
  plan_touching(loader.arrived());
  const size_t n = n_touched_ + (reads_now_ ? 1 : 0) + parts_.size();
  if (n > 0) pool_.begin(n, run_);
}

void Preparation::plan_touching(std::span<const std::byte> arrived) {
  n_touched_ = 0;
  if (pool_.n_threads() == 1) return;
  data_ = arrived.data();
  touched_ = std::max(touched_, arrived.size());
  const auto data_bytes = static_cast<size_t>(file_->bytes_in_memory());
  const size_t end = std::min(data_bytes, arrived.size() + kAheadBytes);
  if (end > touched_) n_touched_ = (end - touched_ + kTouchBytes - 1) / kTouchBytes;
}

void Preparation::end_round() {
  pool_.finish();
  touched_ += n_touched_ * kTouchBytes;
  n_touched_ = 0;
  for (const WeightFill::Part& part : parts_) fill_->note(part);
  parts_.clear();
}

void Preparation::run(size_t i, size_t thread) {
  if (i < n_touched_) {
    const size_t begin = touched_ + i * kTouchBytes;
    const auto data_bytes = static_cast<size_t>(file_->bytes_in_memory());
    touch(data_ + begin, data_ + std::min(data_bytes, begin + kTouchBytes));
    return;
  }
  i -= n_touched_;
  if (reads_now_ && i == 0) return model_.read(file_->header());
  std::byte* room = room_.data() + thread * fill_->room_bytes();
  fill_->run(parts_[i - (reads_now_ ? 1 : 0)], room);
}

}  // namespace kinglet
