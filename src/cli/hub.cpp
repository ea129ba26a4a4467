#include "cli/hub.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "base/percent.h"
#include "base/utf8.h"
#include "gguf/header.h"
#include "gguf/split.h"
#include "json/json.h"

namespace kinglet::cli {

namespace {

// The types to choose if none is named, the first that exists: good quality at a small size.
constexpr std::array<std::string_view, 3> kUsualTypes = {"Q4_K_M", "Q4_0", "Q8_0"};

constexpr size_t kMostListed = 20;

constexpr std::string_view kPrefix = "hf:";

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), to_lower);
  return text;
}

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

// Whether a path is that of a model or of the first part of a split model, not of an mmproj file or
// an importance matrix. A file that has the name of a later part is one if there is a first part
// among `paths`, which are sorted.
bool is_model(const std::string& path, const std::vector<std::string>& paths) {
  const std::string name = lower(path.substr(path.rfind('/') + 1));
  if (!is_gguf_name(path) || name.find("mmproj") != name.npos ||
      name.find("imatrix") != name.npos) {
    return false;
  }
  const std::string first = first_part(path);
  return first == path || !std::binary_search(paths.begin(), paths.end(), first);
}

// Whether a path contains the type as a whole word: "UD-Q4_K_M" contains Q4_K_M too.
bool names_type(const std::string& path, const std::string& type) {
  constexpr std::string_view kBefore = "-._/";
  constexpr std::string_view kAfter = "-./";
  for (size_t at = path.find(type); at != path.npos; at = path.find(type, at + 1)) {
    const size_t end = at + type.size();
    if ((at == 0 || kBefore.find(path[at - 1]) != kBefore.npos) &&
        (end == path.size() || kAfter.find(path[end]) != kAfter.npos)) {
      return true;
    }
  }
  return false;
}

// Whether a path is harmless as a file's name and on a terminal: it stays in the folder that it is
// joined to, has no root, no drive or stream of Windows, and no character that controls a terminal.
bool is_plain_path(std::string_view path) {
  for (size_t at = 0; at < path.size();) {
    const Utf8Char character = decode_utf8(path.substr(at));
    const char32_t code = character.code_point;
    if (character.state != Utf8State::well_formed || code < 0x20 || (code >= 0x7f && code < 0xa0) ||
        code == '\\' || code == ':') {
      return false;
    }
    at += character.n_bytes;
  }
  while (true) {
    const std::string_view name = path.substr(0, path.find('/'));
    if (name.find_first_not_of('.') == name.npos) return false;
    if (name.size() == path.size()) return true;
    path.remove_prefix(name.size() + 1);
  }
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

// Returns the models whose paths contain the type. If several do, returns those with the shortest
// path: longer ones name a variant.
std::vector<std::string> matching(const std::vector<std::string>& models, std::string_view type) {
  std::vector<std::string> found;
  const std::string wanted = lower(std::string(type));
  for (const std::string& path : models) {
    const std::string stem = lower(path.substr(0, path.size() - kGgufExtension.size()));
    if (names_type(stem, wanted)) found.push_back(path);
  }
  size_t shortest = SIZE_MAX;
  for (const std::string& path : found) shortest = std::min(shortest, path.size());
  std::erase_if(found, [&](const std::string& path) { return path.size() > shortest; });
  return found;
}

Error not_one(std::string_view found, const std::vector<std::string>& models, std::string_view type,
              std::string_view repository) {
  std::string list;
  for (size_t i = 0; i < std::min(models.size(), kMostListed); ++i) {
    list += (i > 0 ? ", " : "") + models[i];
  }
  if (models.empty()) list = "no GGUF file";
  if (models.size() > kMostListed) list += ", …";
  const std::string asked = type.empty() ? "a model" : cat("a model of type ", type);
  return Error{ErrorCode::invalid_argument,
               cat(repository, " has ", found, " for ", asked, "; name one of: ", list)};
}

}  // namespace

bool is_gguf_name(std::string_view path) {
  return path.size() >= kGgufExtension.size() &&
         equal_ignoring_case(path.substr(path.size() - kGgufExtension.size()), kGgufExtension);
}

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

Result<std::vector<std::string>> hub_paths(std::string_view json) {
  const auto answer = parse_json(json);
  const Json* siblings = answer.ok() ? answer.value().find("siblings") : nullptr;
  if (siblings == nullptr || !siblings->is_array()) {
    return Error{ErrorCode::io, "the server does not answer as the hub does: no list of files"};
  }
  std::vector<std::string> paths;
  for (const Json& file : siblings->as_array()) {
    const std::string* path = file.find_string("rfilename");
    if (path != nullptr && is_plain_path(*path)) paths.push_back(*path);
  }
  return paths;
}

Result<std::string> pick_file(const std::vector<std::string>& paths, std::string_view type,
                              std::string_view repository) {
  std::vector<std::string> sorted = paths;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> models;
  std::copy_if(paths.begin(), paths.end(), std::back_inserter(models),
               [&](const std::string& path) { return is_model(path, sorted); });
  std::vector<std::string_view> wanted(kUsualTypes.begin(), kUsualTypes.end());
  if (!type.empty()) wanted = {type};
  for (const std::string_view name : wanted) {
    const std::vector<std::string> found = matching(models, name);
    if (found.size() == 1) return found[0];
    if (found.size() > 1) return not_one("several files", models, type, repository);
  }
  if (type.empty() && models.size() == 1) return models[0];
  return not_one("no such file", models, type, repository);
}

}  // namespace kinglet::cli
