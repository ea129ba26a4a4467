#include "session/stop_strings.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/utf8.h"

namespace kinglet {

Result<StopStrings> StopStrings::create(std::vector<std::string> strings) {
  for (size_t i = 0; i < strings.size(); ++i) {
    const bool is_utf8 = find_ill_formed(strings[i]) == std::string_view::npos;
    if (!strings[i].empty() && is_utf8) continue;
    return Error{ErrorCode::invalid_argument,
                 cat("stop string ", i, strings[i].empty() ? " is empty" : " is not valid UTF-8")};
  }
  return StopStrings(std::move(strings));
}

std::string StopStrings::next(std::string_view text) {
  if (found_) return {};
  held_ += text;
  size_t begin = std::string::npos;
  size_t end = std::string::npos;
  for (const std::string& stop : strings_) {
    const size_t at = held_.find(stop);
    if (at == std::string::npos || at + stop.size() > end) continue;
    begin = at + stop.size() == end ? std::min(begin, at) : at;
    end = at + stop.size();
  }
  found_ = end != std::string::npos;
  const size_t n_certain = found_ ? begin : held_.size() - n_possible();
  std::string certain = held_.substr(0, n_certain);
  held_.erase(0, found_ ? held_.size() : n_certain);
  return certain;
}

// The number of bytes at the end of held_ that may be the beginning of a stop string.
size_t StopStrings::n_possible() const {
  size_t most = 0;
  for (const std::string& stop : strings_) {
    for (size_t n = std::min(stop.size() - 1, held_.size()); n > most; --n) {
      if (held_.ends_with(std::string_view(stop).substr(0, n))) most = n;
    }
  }
  return most;
}

std::string StopStrings::finish() { return std::exchange(held_, {}); }

}  // namespace kinglet
