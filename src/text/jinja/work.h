// Counts the work of the template that a thread runs, and the memory of what it makes: what takes
// time and memory in functions that cannot fail, such as comparing two values.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace kinglet::jinja {

// The most work of a run. A unit takes at most about a fifth of a nanosecond: a byte is read.
constexpr uint64_t kMostWork = 1ULL << 31;

// The most bytes of all texts and lists that a run makes.
constexpr uint64_t kMostMade = 1ULL << 28;

class Work {
 public:
  // Counts the work of this thread until the object ends.
  Work() : before_(current_) { current_ = this; }
  ~Work() { current_ = before_; }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // Returns false once there has been too much. Then the caller returns at once, with any result:
  // the interpreter looks at is_too_much() after each operation, and fails.
  static bool spend(size_t n) {
    if (current_ == nullptr) return true;
    current_->n_ += n;
    return !current_->is_too_much();
  }

  // Counts a value that was made. Returns false as spend() does.
  static bool make(size_t n_bytes) {
    if (current_ == nullptr) return true;
    current_->n_made_ += n_bytes;
    return !current_->is_too_much();
  }

  bool is_too_much() const { return n_ > kMostWork || n_made_ > kMostMade; }

 private:
  static thread_local Work* current_;

  Work* before_;
  uint64_t n_ = 0;
  uint64_t n_made_ = 0;
};

inline thread_local Work* Work::current_ = nullptr;

// The work of comparing two values, of copying or looking at an item of a list, of a character that
// is looked up in a table, and of a byte that is searched.
constexpr size_t kOfComparing = 16;
constexpr size_t kOfItem = 256;
constexpr size_t kOfCharacter = 64;
constexpr size_t kOfSearching = 8;

// The work of spelling or reading a real number with this many decimals. It grows with the digits
// that the number has when all are written: hundreds, if it is very large or small.
inline size_t work_of_real(double number, size_t n_decimals = 0) {
  const size_t exponent =
      number != 0 && std::isfinite(number) ? static_cast<size_t>(std::abs(std::ilogb(number))) : 0;
  return kOfItem + exponent * exponent / 4 + n_decimals * n_decimals / 4;
}

}  // namespace kinglet::jinja
