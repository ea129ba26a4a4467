// The head of a request, as the client sent it. The library decodes escapes such as %20 in the
// values of headers, and reads some heads in other ways than a proxy in front of it may.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kinglet::server {

class RequestHead {
 public:
  RequestHead() = default;
  // `text`: up to the empty line, with it.
  explicit RequestHead(std::string_view text);

  // The first header with this name, in any case, without spaces around it; "" if there is none.
  std::string_view header(std::string_view name) const;
  size_t count(std::string_view name) const;

  bool is_chunked() const;

  // Whether the client knows neither chunks nor interim responses, and need not name the host.
  bool is_http_1_0() const;

  // What is wrong with the head (RFC 9112): without exactly one host, or one length of the body,
  // servers and proxies may disagree about where a request goes or ends. nullopt: nothing.
  std::optional<std::string> problem() const;

  // The head for the library: without ranges and encodings, so that it sends an answer as it is.
  // Compressing it would take longer than sending it. And the library would cut answers that are no
  // files, and put together any number of ranges in memory. A body without a length is empty: the
  // library would wait for its end.
  std::string for_library() const;

 private:
  std::string request_line_;
  std::vector<std::pair<std::string, std::string>> headers_;
};

// Whether the beginning of a request may be that of a head: its first line, if it is whole, ends as
// one of HTTP/1 does.
bool may_be_head(std::string_view text);

// Removes trailers from a chunked body (RFC 9112, section 7.1.2): the library refuses them.
class TrailerFilter {
 public:
  // Removes them from the next n bytes; returns the number of bytes that are left.
  size_t filter(char* bytes, size_t n);

 private:
  enum class Place : uint8_t { size, rest_of_size, data, end_of_data, trailer, in_trailer, end };

  bool keeps(char c);

  Place place_ = Place::size;
  uint64_t n_left_ = 0;  // bytes of the chunk; its size so far
};

}  // namespace kinglet::server
