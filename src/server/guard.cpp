#include "server/guard.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "base/ascii.h"
#include "base/format.h"
#include "server/sockets.h"

namespace kinglet::server {
namespace {

using Address =
    std::array<uint8_t, 16>;  // of IPv6; an address of IPv4 is mapped (::ffff:127.0.0.1)

// Parses an IP address in its full form, an IPv6 address with or without brackets. Returns nullopt
// for a name, such as "127.evil.example".
std::optional<Address> address_of(std::string_view host) {
  if (host.find('\0') != host.npos) return std::nullopt;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string text(host);
  Address v6{};
  if (inet_pton(AF_INET6, text.c_str(), v6.data()) == 1) return v6;
  Address v4{};
  v4[10] = v4[11] = 0xFF;
  if (inet_pton(AF_INET, text.c_str(), &v4[12]) == 1) return v4;
  return std::nullopt;
}

bool is_loopback(const Address& address) {
  static const Address kV6 = *address_of("::1");
  static const Address kV4 = *address_of("127.0.0.0");
  return address == kV6 || std::equal(address.begin(), address.begin() + 13, kV4.begin());
}

bool is_loopback(std::string_view host) {
  const auto address = address_of(host);
  return address ? is_loopback(*address) : equal_ignoring_case(host, "localhost");
}

// Whether the server knows that this is its own name. A page's own domain name may resolve to this
// machine; an address cannot be made to mean another one.
bool is_own_name(std::string_view name, std::string_view host) {
  if (is_loopback(name) || equal_ignoring_case(name, host)) return true;
  return !is_loopback(host) && address_of(name).has_value();
}

// Whether the server listens at an address of a network, where it may have names that it does not
// know.
bool may_have_other_names(std::string_view host) {
  const auto address = address_of(host);
  return address && !is_loopback(*address);
}

// The host without its port.
std::string_view name_of(std::string_view host) {
  const size_t colon = host.find_last_not_of("0123456789");
  const bool has_port = colon != host.npos && host[colon] == ':' && !host.ends_with(']');
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

// The token of an Authorization header of the scheme Bearer, which has no case; spaces follow it
// (RFC 9110, section 11.4). "" for others.
std::string_view bearer_of(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer";
  if (!equal_ignoring_case(authorization.substr(0, kScheme.size()), kScheme)) return {};
  const std::string_view rest = authorization.substr(kScheme.size());
  const size_t begin = rest.find_first_not_of(' ');
  return begin == 0 || begin == rest.npos ? std::string_view() : rest.substr(begin);
}

// Whether the path is that endpoint, or below it.
bool is_within(std::string_view path, std::string_view endpoint) {
  return path.starts_with(endpoint) &&
         (path.size() == endpoint.size() || path[endpoint.size()] == '/');
}

bool needs_key(std::string_view path) {
  constexpr std::string_view kLocked[] = {"/v1",        "/chat/completions", "/completions",
                                          "/responses", "/embeddings",       "/rerank",
                                          "/models",    "/metrics"};
  return std::any_of(std::begin(kLocked), std::end(kLocked),
                     [&](std::string_view endpoint) { return is_within(path, endpoint); });
}

ApiError forbidden(std::string message, std::string code) {
  return {.status = 403, .message = std::move(message), .code = std::move(code)};
}

}  // namespace

std::string_view endpoint_of(std::string_view path) {
  constexpr std::string_view kVersion = "/v1";
  return is_within(path, kVersion) ? path.substr(kVersion.size()) : path;
}

bool can_be_page_from(std::string_view text) {
  constexpr std::string_view kMark = "://";
  const size_t mark = text.find(kMark);
  if (mark == 0 || mark == text.npos) return text == "*";
  const std::string_view host = text.substr(mark + kMark.size());
  return !host.empty() && host.find_first_of("/?#, ") == host.npos;
}

bool may_read(const GuardOptions& options, std::string_view origin) {
  return !origin.empty() && (options.page_from == "*" || options.page_from == origin);
}

std::optional<ApiError> refuse(const GuardOptions& options, const Caller& caller) {
  const bool is_own = caller.host && is_own_name(name_of(*caller.host), options.host);
  if (caller.host && !is_own && !may_have_other_names(options.host)) {
    return forbidden(
        "the Host header names another server: this one answers only to localhost, its machine's "
        "addresses and the name given with --host",
        "wrong_host");
  }
  // A proxy in front of the server may have removed TLS.
  const bool is_own_page = is_own && (caller.origin == cat("http://", *caller.host) ||
                                      caller.origin == cat("https://", *caller.host));
  if (!caller.origin.empty() && !is_own_page && !may_read(options, caller.origin)) {
    return forbidden("pages of this origin may not send requests to this server: see --cors",
                     "wrong_origin");
  }
  if (options.api_key.empty() || !needs_key(caller.path)) return std::nullopt;
  const std::string_view given = caller.authorization;
  if (equals(options.api_key, bearer_of(given))) return std::nullopt;
  return ApiError{.status = 401,
                  .message = given.empty() ? "an API key is needed: Authorization: Bearer KEY"
                                           : "the API key is wrong",
                  .code = "invalid_api_key"};
}

}  // namespace kinglet::server
