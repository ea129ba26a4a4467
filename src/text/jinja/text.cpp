#include "text/jinja/text.h"

#include <algorithm>

namespace kinglet::jinja {

Text::Text() = default;
Text::Text(const Text& other) = default;
Text::Text(Text&& other) noexcept = default;
Text& Text::operator=(const Text& other) = default;
Text& Text::operator=(Text&& other) noexcept = default;
Text::~Text() = default;

Text::Text(std::string_view bytes, bool is_said) : bytes_(bytes) {
  if (is_said && !bytes_.empty()) said_.push_back({0, bytes_.size()});
}

std::vector<TextRange>::const_iterator Text::first_behind(size_t at) const {
  return std::partition_point(said_.begin(), said_.end(),
                              [at](const TextRange& range) { return range.end <= at; });
}

bool Text::is_said(size_t at) const {
  const auto range = first_behind(at);
  return range != said_.end() && range->begin <= at;
}

void Text::add_range(size_t begin, size_t end) {
  if (begin == end) return;
  if (!said_.empty() && said_.back().end == begin) {
    said_.back().end = end;
  } else {
    said_.push_back({begin, end});
  }
}

void Text::append(const Text& other) {
  if (other.size() > kMostBytes - std::min(size(), kMostBytes)) {
    return append(other.cut(0, kMostBytes - std::min(size(), kMostBytes)));
  }
  const size_t offset = bytes_.size();
  for (const TextRange& range : other.said_) add_range(offset + range.begin, offset + range.end);
  bytes_ += other.bytes_;
  has_address_ = has_address_ || other.has_address_;
}

void Text::append(std::string_view bytes, bool is_said) {
  bytes = bytes.substr(0, kMostBytes - std::min(size(), kMostBytes));
  if (is_said) add_range(bytes_.size(), bytes_.size() + bytes.size());
  bytes_ += bytes;
}

Text Text::cut(size_t begin, size_t end) const {
  Text part(bytes_.substr(begin, end - begin));
  for (auto range = first_behind(begin); range != said_.end() && range->begin < end; ++range) {
    part.add_range(std::max(range->begin, begin) - begin, std::min(range->end, end) - begin);
  }
  part.has_address_ = has_address_;
  return part;
}

}  // namespace kinglet::jinja
