// Decides which requests the server accepts, by the host that a request names, the origin of the
// page that sends it, and its API key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/api.h"

namespace kinglet::server {

struct GuardOptions {
  std::string host;       // address or name that the server listens at; not empty
  std::string api_key;    // "": none is needed
  std::string page_from;  // origin whose pages may send requests, as its own may; "*": any
};

// The path and headers of a request; "" for a header that is missing.
struct Caller {
  std::string path;
  std::optional<std::string> host;  // nullopt: the request has no such header (HTTP/1.0)
  std::string origin;
  std::string authorization;
};

// The path of an endpoint of OpenAI's API without "/v1", which clients may leave out.
std::string_view endpoint_of(std::string_view path);

// Whether a text can be GuardOptions::page_from: "*", or an origin as browsers send it, such as
// https://example.com:8080 (RFC 6454, section 6.2).
bool can_be_page_from(std::string_view text);

// Whether pages of that origin may read answers.
bool may_read(const GuardOptions& options, std::string_view origin);

// Returns why the caller is refused, or nullopt. A page can have a domain name of its own that
// resolves to this machine (DNS rebinding). So a server that listens at a loopback address or at a
// name is reached only by "localhost", by IP addresses (a loopback one: by loopback ones) and by
// the name that it listens at. Browsers always name the host, so a request that names none is not a
// page's. At any other address, such as 0.0.0.0, programs reach it by every name, but pages only by
// those, or if page_from allows their origin. A page of another origin is refused even if it could
// not read the answer, so that it cannot make the server work.
std::optional<ApiError> refuse(const GuardOptions& options, const Caller& caller);

}  // namespace kinglet::server
