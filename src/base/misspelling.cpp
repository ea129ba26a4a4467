#include "base/misspelling.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/ascii.h"

namespace kinglet {
namespace {

constexpr size_t kShortest = 4;
constexpr size_t kShort = 5;
constexpr size_t kLong = 24;

// Returns how many letters were added, left out, replaced or swapped.
size_t edit_distance(std::string_view a, std::string_view b) {
  const auto are_same = [&](size_t i, size_t j) { return to_lower(a[i]) == to_lower(b[j]); };
  std::vector<size_t> before;
  std::vector<size_t> last(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::vector<size_t> row = {i};
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (are_same(i - 1, j - 1) ? 0 : 1);
      row.push_back(std::min({replaced, last[j] + 1, row[j - 1] + 1}));
      const bool are_swapped = i > 1 && j > 1 && are_same(i - 1, j - 2) && are_same(i - 2, j - 1);
      if (are_swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(last, std::move(row));
  }
  return last[b.size()];
}

}  // namespace

std::string_view meant_by(std::string_view name, std::span<const std::string_view> known) {
  if (name.size() > kLong) return {};
  std::string_view meant;
  size_t least = 3;
  for (const std::string_view candidate : known) {
    if (candidate.size() < kShortest) continue;
    const size_t n = edit_distance(name, candidate);
    const bool is_near =
        n < least && n <= (std::min(candidate.size(), name.size()) > kShort ? 2u : 1u);
    if (!is_near) continue;
    least = n;
    meant = candidate;
  }
  return meant;
}

}  // namespace kinglet
