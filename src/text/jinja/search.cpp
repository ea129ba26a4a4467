#include "text/jinja/search.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "text/jinja/work.h"

namespace kinglet::jinja {
namespace {

// For parts up to this size, the plain search is at most this many times slower.
constexpr size_t kShort = 4;

// Returns where the first occurrence of the part ends in the whole. `whole(i)` and `part(i)` return
// their characters. Source: Knuth, Morris and Pratt, "Fast pattern matching in strings".
template <class Whole, class Part>
size_t find_end(const Whole& whole, size_t n_whole, const Part& part, size_t n_part) {
  // For each prefix of the part: the length of its longest proper prefix that is also its suffix.
  std::vector<uint32_t> borders(n_part + 1);
  for (uint32_t i = 1, n = 0; i < n_part; ++i) {
    while (n > 0 && part(i) != part(n)) n = borders[n];
    n += part(i) == part(n) ? 1 : 0;
    borders[i + 1] = n;
  }
  for (size_t i = 0, n = 0; i < n_whole; ++i) {
    while (n > 0 && whole(i) != part(n)) n = borders[n];
    n += whole(i) == part(n) ? 1 : 0;
    if (n == n_part) return i + 1;
  }
  return std::string_view::npos;
}

}  // namespace

size_t find_text(std::string_view whole, std::string_view part, size_t from) {
  if (!Work::spend(0)) return std::string_view::npos;
  if (from >= whole.size()) return whole.find(part, from);
  size_t found = std::string_view::npos;
  if (part.size() <= kShort) {
    found = whole.find(part, from);
  } else if (whole.size() - from >= part.size()) {
    const size_t end = find_end([&](size_t i) { return whole[from + i]; }, whole.size() - from,
                                [&](size_t i) { return part[i]; }, part.size());
    if (end != std::string_view::npos) found = from + end - part.size();
  }
  Work::spend((std::min(found, whole.size()) - from + part.size()) * kOfSearching);
  return found;
}

size_t find_last_text(std::string_view whole, std::string_view part, size_t last) {
  if (whole.size() < part.size() || !Work::spend(0)) return std::string_view::npos;
  const size_t n = std::min(last, whole.size() - part.size()) + part.size();
  size_t found = std::string_view::npos;
  if (part.size() <= kShort) {
    found = whole.rfind(part, last);
  } else {
    const size_t end = find_end([&](size_t i) { return whole[n - 1 - i]; }, n,
                                [&](size_t i) { return part[part.size() - 1 - i]; }, part.size());
    if (end != std::string_view::npos) found = n - end;
  }
  Work::spend((found == std::string_view::npos ? n : n - found) * kOfSearching);
  return found;
}

}  // namespace kinglet::jinja
