#include "cli/hub.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <regex>

#include "base/ascii.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "gguf/split.h"
#include "text/jinja/json.h"

namespace kinglet::cli {

namespace {

// The types to choose if none is named, the first that exists: good quality at a small size.
constexpr std::array<std::string_view, 3> kUsualTypes = {"Q4_K_M", "Q4_0", "Q8_0"};

constexpr size_t kMostListed = 20;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), to_lower);
  return text;
}

// Encodes a part of a URL: all but RFC 3986's unreserved characters and those in `kept`.
std::string percent_encoded(std::string_view text, std::string_view kept) {
  constexpr std::string_view kUnreserved = "-._~";
  std::string out;
  for (const char c : text) {
    const bool stays = is_letter(c) || is_digit(c) || kUnreserved.find(c) != kUnreserved.npos ||
                       kept.find(c) != kept.npos;
    const auto byte = static_cast<unsigned char>(c);
    if (stays) {
      out += c;
    } else {
      out += {'%', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
    }
  }
  return out;
}

// Whether a path is that of a model or of the first part of a split model, not of an mmproj file or
// an importance matrix.
bool is_model(const std::string& path) {
  const std::string name = lower(path.substr(path.rfind('/') + 1));
  return name.ends_with(".gguf") && name.find("mmproj") == name.npos &&
         name.find("imatrix") == name.npos && split_paths(path)[0] == path;
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

// Whether a path stays in the folder that it is joined to: it does not go up, and has no root and
// no drive or stream of Windows.
bool stays_below(std::string_view path) {
  return path.find("..") == path.npos && path.find_first_of("\\:") == path.npos &&
         !path.starts_with('/');
}

// Returns the models whose paths contain the type. If several do, returns those with the shortest
// path: longer ones name a variant.
std::vector<std::string> matching(const std::vector<std::string>& models, std::string_view type) {
  std::vector<std::string> found;
  const std::string wanted = lower(std::string(type));
  for (const std::string& path : models) {
    if (names_type(lower(path), wanted)) found.push_back(path);
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

bool is_hub_address(std::string_view text) { return text.starts_with("hf:"); }

Result<HubAddress> parse_hub_address(std::string_view text) {
  static const std::regex pattern(
      R"(hf:(?://)?([\w.-]+/[\w.-]+)(?:@([^/:]+))?(?:/([^?#]*[^/?#])|:([\w.-]+))?)");
  std::cmatch parts;
  if (!std::regex_match(text.data(), text.data() + text.size(), parts, pattern) ||
      text.find("..") != text.npos || !stays_below(parts[3].str())) {
    return Error{ErrorCode::invalid_argument,
                 cat(in_quotes(text),
                     " is not of the form hf:owner/repo/file.gguf, hf:owner/repo:TYPE or "
                     "hf:owner/repo@revision/file.gguf")};
  }
  HubAddress address = {.repository = parts[1], .path = parts[3], .type = parts[4]};
  if (parts[2].matched) address.revision = parts[2];
  return address;
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
  const auto answer = jinja::parse_json(json);
  const jinja::Value* siblings = answer.ok() && answer.value().is(jinja::Kind::dict)
                                     ? answer.value().entries().find("siblings")
                                     : nullptr;
  if (siblings == nullptr || !siblings->is(jinja::Kind::list)) {
    return Error{ErrorCode::io, "the server does not answer as the hub does: no list of files"};
  }
  std::vector<std::string> paths;
  for (const jinja::Value& file : siblings->items()) {
    const jinja::Value* path =
        file.is(jinja::Kind::dict) ? file.entries().find("rfilename") : nullptr;
    if (path == nullptr || !path->is(jinja::Kind::text)) continue;
    // A path that leads out of the repository's folder is not a file of the repository.
    if (stays_below(path->as_bytes())) paths.push_back(path->as_bytes());
  }
  return paths;
}

Result<std::string> pick_file(const std::vector<std::string>& paths, std::string_view type,
                              std::string_view repository) {
  std::vector<std::string> models;
  std::copy_if(paths.begin(), paths.end(), std::back_inserter(models), is_model);
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
