#include "hub/repository.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/utf8.h"
#include "gguf/header.h"
#include "gguf/split.h"
#include "json/json.h"

namespace kinglet {
namespace {

// The types to choose if none is named, the first that exists: good quality at a small size.
constexpr std::array<std::string_view, 3> kUsualTypes = {"Q4_K_M", "Q4_0", "Q8_0"};

constexpr std::array<std::string_view, 2> kUsualReaderTypes = {"Q8_0", "F16"};

constexpr size_t kMostListed = 20;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), to_lower);
  return text;
}

std::string lower_name(const std::string& path) { return lower(path.substr(path.rfind('/') + 1)); }

bool is_reader(const std::string& path) {
  return is_gguf_name(path) && lower_name(path).find("mmproj") != std::string::npos;
}

// Whether a path is that of a model or of the first part of a split model, not of an mmproj file or
// an importance matrix. A file that has the name of a later part is one if there is a first part
// among `paths`, which are sorted.
bool is_model(const std::string& path, const std::vector<std::string>& paths) {
  if (!is_gguf_name(path) || is_reader(path)) return false;
  if (lower_name(path).find("imatrix") != std::string::npos) return false;
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

// Returns the files whose paths contain the type. If several do, returns those with the shortest
// path: longer ones name a variant.
std::vector<std::string> matching(const std::vector<std::string>& files, std::string_view type) {
  std::vector<std::string> found;
  const std::string wanted = lower(std::string(type));
  for (const std::string& path : files) {
    const std::string stem = lower(path.substr(0, path.size() - kGgufExtension.size()));
    if (names_type(stem, wanted)) found.push_back(path);
  }
  size_t shortest = SIZE_MAX;
  for (const std::string& path : found) shortest = std::min(shortest, path.size());
  std::erase_if(found, [&](const std::string& path) { return path.size() > shortest; });
  return found;
}

std::string list_of(const std::vector<std::string>& files) {
  std::string list;
  for (size_t i = 0; i < std::min(files.size(), kMostListed); ++i) {
    list += (i > 0 ? ", " : "") + files[i];
  }
  return files.size() > kMostListed ? list + ", …" : list;
}

// Returns the files of the type, or of the first of the usual types that is there. If there are
// none of these, but no type is named, returns the only file.
std::vector<std::string> matching_any(const std::vector<std::string>& files, std::string_view type,
                                      std::span<const std::string_view> usual) {
  for (const std::string_view name : type.empty() ? usual : std::span(&type, 1)) {
    std::vector<std::string> found = matching(files, name);
    if (!found.empty()) return found;
  }
  return type.empty() && files.size() == 1 ? files : std::vector<std::string>();
}

Error not_found(std::string message) { return {ErrorCode::not_found, std::move(message)}; }

}  // namespace

bool is_gguf_name(std::string_view path) {
  return path.size() >= kGgufExtension.size() &&
         equal_ignoring_case(path.substr(path.size() - kGgufExtension.size()), kGgufExtension);
}

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

Result<std::vector<std::string>> hub_paths(std::string_view json) {
  const auto answer = parse_json(json);
  const Json* siblings = answer.ok() ? answer.value().find("siblings") : nullptr;
  if (siblings == nullptr || !siblings->is_array()) {
    return Error{ErrorCode::io, "the server did not answer with a list of files, as the hub does"};
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
  const std::vector<std::string> found = matching_any(models, type, kUsualTypes);
  if (found.size() == 1) return found[0];
  return not_found(
      cat(repository, found.empty() ? " has no such file" : " has several files", " for a model",
          type.empty() ? "" : " of type ", type,
          models.empty() ? "; it has no GGUF file" : "; name one of: " + list_of(models)));
}

Result<std::string> pick_reader(const std::vector<std::string>& paths, std::string_view type,
                                std::string_view repository) {
  std::vector<std::string> readers;
  std::copy_if(paths.begin(), paths.end(), std::back_inserter(readers), is_reader);
  const std::vector<std::string> found = matching_any(readers, type, kUsualReaderTypes);
  if (found.size() == 1) return found[0];
  if (readers.empty()) {
    return not_found(cat(repository,
                         " has no mmproj file: if this model can read pictures, set the option "
                         "mmproj to its mmproj file"));
  }
  return not_found(cat(repository, " has several mmproj files; set the option mmproj to one of: ",
                       list_of(readers)));
}

}  // namespace kinglet
