// Who may ask the server for what: the host that a request names, the page that it comes from, and
// the key that it brings.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/api_error.h"

namespace kinglet::server {

struct GuardOptions {
  std::string host;       // that the server listens at
  std::string api_key;    // "": none is needed
  std::string page_from;  // origin whose pages may ask, beside the server's own; "*": any
};

// What the headers of a request say; "" where there is no such header.
struct Caller {
  std::string path;
  std::string host;
  std::string origin;
  std::string authorization;
};

// Whether pages of that origin may read answers.
bool may_read(const GuardOptions& options, std::string_view origin);

// Why the caller is refused. A server for this machine alone answers to this machine's names only,
// so that no name that a page brings along can be made to mean it; and no page of another origin
// makes it work, even where it could not read the answer.
std::optional<ApiError> refuse(const GuardOptions& options, const Caller& caller);

}  // namespace kinglet::server
