#include "server/request_head.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/format.h"
#include "base/in_quotes.h"

namespace kinglet::server {
namespace {

constexpr std::string_view kLength = "Content-Length";
constexpr std::string_view kCoding = "Transfer-Encoding";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r";
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

bool is_length(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit) &&
         parse_decimal<int64_t>(text).has_value();
}

}  // namespace

RequestHead::RequestHead(std::string_view text) {
  const size_t end = std::min(text.find('\n'), text.size());
  request_line_ = trimmed(text.substr(0, end));
  while (text.find('\n') != text.npos) {
    text.remove_prefix(text.find('\n') + 1);
    const std::string_view line = text.substr(0, text.find('\n'));
    const size_t colon = line.find(':');
    if (colon == line.npos) continue;
    headers_.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  }
}

std::string_view RequestHead::header(std::string_view name) const {
  for (const auto& [known, value] : headers_) {
    if (equal_ignoring_case(known, name)) return value;
  }
  return {};
}

size_t RequestHead::count(std::string_view name) const {
  return static_cast<size_t>(
      std::count_if(headers_.begin(), headers_.end(),
                    [&](const auto& header) { return equal_ignoring_case(header.first, name); }));
}

bool RequestHead::is_chunked() const { return equal_ignoring_case(header(kCoding), "chunked"); }

bool RequestHead::is_http_1_0() const { return request_line_.ends_with(" HTTP/1.0"); }

std::optional<std::string> RequestHead::problem() const {
  const size_t n_hosts = count("Host");
  if (n_hosts > 1 || (n_hosts == 0 && !is_http_1_0())) {
    return cat("the request has ", n_hosts, " Host headers, expected one");
  }
  const size_t n_lengths = count(kLength);
  if (n_lengths > 1) {
    return cat("the request has ", n_lengths, " Content-Length headers, expected one");
  }
  if (n_lengths == 1 && !is_length(header(kLength))) {
    return cat("the Content-Length is ", in_quotes(std::string(header(kLength))),
               ", expected a number of bytes");
  }
  if (count(kCoding) == 0) return std::nullopt;
  if (n_lengths > 0) return "the request has both a Content-Length and a Transfer-Encoding";
  if (count(kCoding) > 1 || !is_chunked()) {
    return cat("the Transfer-Encoding is ", in_quotes(std::string(header(kCoding))),
               ", expected \"chunked\", once");
  }
  return std::nullopt;
}

std::string RequestHead::for_library() const {
  constexpr std::string_view kHidden[] = {"Accept-Encoding", "Range", "If-Range"};
  std::string text = cat(request_line_, "\r\n");
  for (const auto& [name, value] : headers_) {
    const bool is_hidden =
        std::any_of(std::begin(kHidden), std::end(kHidden),
                    [&](std::string_view hidden) { return equal_ignoring_case(name, hidden); });
    if (!is_hidden) text += cat(name, ": ", value, "\r\n");
  }
  if (count(kLength) == 0 && count(kCoding) == 0) text += cat(kLength, ": 0\r\n");
  return text + "\r\n";
}

bool may_be_head(std::string_view text) {
  const size_t end = text.find('\n');
  if (end == text.npos) return true;
  const std::string_view line = trimmed(text.substr(0, end));
  return line.ends_with(" HTTP/1.1") || line.ends_with(" HTTP/1.0");
}

size_t TrailerFilter::filter(char* bytes, size_t n) {
  char* end = bytes;
  for (size_t i = 0; i < n; ++i) {
    if (place_ == Place::data) {
      const auto n_data = static_cast<size_t>(std::min<uint64_t>(n_left_, n - i));
      std::copy_n(bytes + i, n_data, end);
      end += n_data;
      i += n_data - 1;
      n_left_ -= n_data;
      if (n_left_ == 0) place_ = Place::end_of_data;
    } else if (keeps(bytes[i])) {
      *end++ = bytes[i];
    }
  }
  return static_cast<size_t>(end - bytes);
}

bool TrailerFilter::keeps(char c) {
  switch (place_) {
    case Place::size:
      if (const auto digit = hex_digit(c)) {
        n_left_ = std::min(n_left_, UINT64_MAX >> 8) * 16 + *digit;
        return true;
      }
      place_ = Place::rest_of_size;
      [[fallthrough]];
    case Place::rest_of_size:
      if (c == '\n') place_ = n_left_ == 0 ? Place::trailer : Place::data;
      return true;
    case Place::end_of_data:
      if (c == '\n') place_ = Place::size;
      return true;
    case Place::trailer:
      place_ = c == '\r' ? Place::end : Place::in_trailer;
      [[fallthrough]];
    case Place::in_trailer:
      if (place_ == Place::in_trailer && c == '\n') place_ = Place::trailer;
      return place_ == Place::end;
    case Place::data:
    case Place::end:
      return true;
  }
  return true;
}

}  // namespace kinglet::server
