#include "cli/hub.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "base/percent.h"
#include "hub/repository.h"

namespace kinglet::cli {

namespace {

constexpr std::string_view kPrefix = "hf:";

// Encodes a part of a URL: all but RFC 3986's unreserved characters and those in `kept`.
std::string percent_encoded(std::string_view text, std::string_view kept) {
  constexpr std::string_view kUnreserved = "-._~";
  constexpr std::string_view kDigits = "0123456789ABCDEF";  // in capitals, as the hub's own
  std::string out;
  for (const char c : text) {
    const bool stays = is_letter(c) || is_digit(c) || kUnreserved.find(c) != kUnreserved.npos ||
                       kept.find(c) != kept.npos;
    const auto byte = static_cast<unsigned char>(c);
    if (stays) {
      out += c;
    } else {
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

bool is_name_character(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '-';
}

// Takes the longest name from the front of `text`.
std::string_view take_name(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_name_character);
  const std::string_view name = text.substr(0, static_cast<size_t>(end - text.begin()));
  text.remove_prefix(name.size());
  return name;
}

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

// Returns nothing if the text has another form.
std::optional<HubAddress> parse_address(std::string_view text) {
  if (!take(text, kPrefix)) return std::nullopt;
  take(text, "//");
  HubAddress address;
  const std::string_view owner = take_name(text);
  if (!take(text, "/")) return std::nullopt;
  address.repository = cat(owner, "/", take_name(text));
  if (!is_plain_path(address.repository)) return std::nullopt;
  if (take(text, "@")) {
    const std::string_view revision = text.substr(0, text.find_first_of("/:"));
    const auto decoded = percent_decoded(revision);
    if (!decoded || !is_plain_path(*decoded)) return std::nullopt;
    address.revision = *decoded;
    text.remove_prefix(revision.size());
  }
  if (text.empty()) return address;
  if (take(text, ":")) {
    address.type = take_name(text);
    return text.empty() && !address.type.empty() ? std::optional(address) : std::nullopt;
  }
  if (!take(text, "/") || text.find_first_of("?#") != text.npos || !is_plain_path(text)) {
    return std::nullopt;
  }
  address.path = text;
  return address;
}

// Returns the hub address of what a page of the hub shows; other texts as they are.
std::string without_page(std::string_view text) {
  std::string_view rest = text;
  if (!take(rest, "https://")) return std::string(text);
  take(rest, "www.");
  if (!take(rest, "huggingface.co/") && !take(rest, "hf.co/")) return std::string(text);
  rest = rest.substr(0, rest.find_first_of("?#"));
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const std::string_view owner = take_name(rest);
  take(rest, "/");
  std::string address = cat(kPrefix, owner, "/", take_name(rest));
  if (rest.empty()) return address;
  const bool is_folder = take(rest, "/tree/");
  if (!is_folder && !take(rest, "/blob/") && !take(rest, "/resolve/") && !take(rest, "/raw/")) {
    return std::string(text);
  }
  const std::string_view revision = rest.substr(0, rest.find('/'));
  if (revision != kMainRevision) address += cat("@", revision);
  if (is_folder) return address;
  const auto path = percent_decoded(rest.substr(revision.size()));
  return path ? cat(address, *path) : std::string(text);
}

}  // namespace

bool is_hub_address(std::string_view text) { return without_page(text).starts_with(kPrefix); }

bool lacks_prefix(std::string_view text) { return parse_address(cat(kPrefix, text)).has_value(); }

Result<HubAddress> parse_hub_address(std::string_view text) {
  auto address = parse_address(without_page(text));
  if (address) return std::move(*address);
  return Error{ErrorCode::invalid_argument,
               cat(in_quotes(text),
                   " is not of the form hf:owner/repo/file.gguf, hf:owner/repo:TYPE or "
                   "hf:owner/repo@revision/file.gguf")};
}

std::string hub_folder(const HubAddress& address) {
  if (address.revision == kMainRevision) return address.repository;
  return cat(address.repository, "@", percent_encoded(address.revision, ""));
}

std::string hub_base() {
  const char* base = std::getenv("HF_ENDPOINT");
  std::string url = base != nullptr && *base != '\0' ? base : "https://huggingface.co";
  while (url.ends_with('/')) url.pop_back();
  return url;
}

std::string hub_file_url(const HubAddress& address, std::string_view path) {
  return cat(hub_base(), "/", address.repository, "/resolve/",
             percent_encoded(address.revision, ""), "/", percent_encoded(path, "/"));
}

std::string hub_listing_url(const HubAddress& address) {
  return cat(hub_base(), "/api/models/", address.repository, "/revision/",
             percent_encoded(address.revision, ""));
}

}  // namespace kinglet::cli
