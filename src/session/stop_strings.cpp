#include "session/stop_strings.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/utf8.h"

namespace kinglet {

StopStrings::Search::Search(std::string_view sought) : text(sought), borders(text.size()) {
  for (size_t i = 1; i < text.size(); ++i) {
    size_t n = borders[i - 1];
    while (n > 0 && text[n] != text[i]) n = borders[n - 1];
    borders[i] = static_cast<uint32_t>(text[n] == text[i] ? n + 1 : 0);
  }
}

bool StopStrings::Search::push(char c) {
  while (n_found > 0 && text[n_found] != c) n_found = borders[n_found - 1];
  if (text[n_found] == c) ++n_found;
  return n_found == text.size();
}

Result<StopStrings> StopStrings::create(const std::vector<std::string>& strings) {
  KINGLET_TRY(check(strings));
  StopStrings made;
  for (const std::string& string : strings) made.searches_.emplace_back(string);
  return made;
}

Status StopStrings::check(const std::vector<std::string>& strings) {
  if (strings.size() > kMostStops) {
    return Error{ErrorCode::invalid_argument,
                 cat("there are ", strings.size(), " stop strings, expected at most ", kMostStops)};
  }
  for (size_t i = 0; i < strings.size(); ++i) {
    const bool is_utf8 = find_ill_formed(strings[i]) == std::string_view::npos;
    if (!strings[i].empty() && is_utf8) continue;
    return Error{ErrorCode::invalid_argument,
                 cat("stop string ", i, strings[i].empty() ? " is empty" : " is not valid UTF-8")};
  }
  return {};
}

std::string StopStrings::next(std::string_view text) {
  if (found_) return {};
  size_t at = held_.size();
  held_ += text;
  size_t n_stop = 0;  // bytes of the stop string that was found
  for (; at < held_.size() && n_stop == 0; ++at) {
    for (Search& search : searches_) {
      if (search.push(held_[at])) n_stop = std::max(n_stop, search.text.size());
    }
  }
  found_ = n_stop > 0;
  size_t n_possible = 0;
  for (const Search& search : searches_) n_possible = std::max(n_possible, search.n_found);
  const size_t n_certain = found_ ? at - n_stop : held_.size() - n_possible;
  std::string certain = held_.substr(0, n_certain);
  held_.erase(0, found_ ? held_.size() : n_certain);
  return certain;
}

std::string StopStrings::finish() { return std::exchange(held_, {}); }

}  // namespace kinglet
