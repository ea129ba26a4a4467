#include "server/guard.h"

#include <algorithm>
#include <array>

#include "base/format.h"

namespace kinglet::server {
namespace {

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

// The host without its port.
std::string_view name_of(std::string_view host) {
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos && host.find(']', colon) == host.npos;
  return has_port ? host.substr(0, colon) : host;
}

// Compares in a time that does not depend on the key's characters.
bool equals(std::string_view key, std::string_view given) {
  unsigned difference = key.size() != given.size();
  for (size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<unsigned char>(given[i]) ^
                  static_cast<unsigned char>(key[i % std::max<size_t>(key.size(), 1)]);
  }
  return difference == 0;
}

bool needs_key(std::string_view path) {
  return path == "/v1" || path.starts_with("/v1/") || path == "/metrics";
}

ApiError forbidden(std::string message, std::string code) {
  return {.status = 403, .message = std::move(message), .code = std::move(code)};
}

}  // namespace

bool may_read(const GuardOptions& options, std::string_view origin) {
  return !origin.empty() && (options.page_from == "*" || options.page_from == origin);
}

std::optional<ApiError> refuse(const GuardOptions& options, const Caller& caller) {
  if (is_loopback(options.host) && !is_loopback(name_of(caller.host))) {
    return forbidden("this server answers to the names of this machine only, such as localhost",
                     "wrong_host");
  }
  // A proxy in front of the server may have removed TLS.
  const bool is_own_page =
      caller.origin == cat("http://", caller.host) || caller.origin == cat("https://", caller.host);
  if (!caller.origin.empty() && !is_own_page && !may_read(options, caller.origin)) {
    return forbidden("pages of this origin may not ask here: see --cors", "wrong_origin");
  }
  if (options.api_key.empty() || !needs_key(caller.path)) return std::nullopt;
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view given = caller.authorization;
  if (given.starts_with(kBearer) && equals(options.api_key, given.substr(kBearer.size()))) {
    return std::nullopt;
  }
  return ApiError{.status = 401,
                  .message = given.empty() ? "an API key is needed: Authorization: Bearer KEY"
                                           : "the API key is wrong",
                  .code = "invalid_api_key"};
}

}  // namespace kinglet::server
