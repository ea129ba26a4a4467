#include "cli/models.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <span>
#include <vector>

#include "base/ascii.h"
#include "base/format.h"
#include "base/paths.h"
#include "base/printable.h"
#include "cli/file_lock.h"
#include "cli/http.h"
#include "cli/hub.h"
#include "cli/progress.h"
#include "cli/sha256.h"
#include "cli/terminal.h"
#include "gguf/cursor.h"
#include "gguf/header.h"
#include "gguf/split.h"
#include "gguf/unusable.h"
#include "hub/repository.h"

namespace kinglet::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartial = ".part";     // a file that is not complete yet
constexpr std::string_view kVersion = ".version";  // holds the ETag of the file that is downloaded

// Listings of large repositories have about 1 MB.
constexpr size_t kMostListingBytes = 8 << 20;

// A file of the hub that is stored here, and its address.
struct StoredFile {
  std::string address;
  fs::path path;
  bool is_complete;
};

// Returns KINGLET_MODELS, or kinglet/models in the folder of the user's data. Files in it have the
// paths that they have on the hub: owner/repo/path, or owner/repo@revision/path.
Result<fs::path> models_folder() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  if (const std::string own = variable("KINGLET_MODELS"); !own.empty()) return to_path(own);
  if (const std::string data = variable("XDG_DATA_HOME"); data.starts_with('/')) {
    return to_path(data) / "kinglet/models";
  }
  if (const std::string home = variable("HOME"); home.starts_with('/')) {
    return to_path(home) / ".local/share/kinglet/models";
  }
  if (const std::string windows = variable("LOCALAPPDATA"); !windows.empty()) {
    return to_path(windows) / "kinglet" / "models";
  }
  return Error{ErrorCode::io, "the folder of models is unknown: set KINGLET_MODELS or HOME"};
}

fs::path with_suffix(fs::path path, std::string_view suffix) { return path += suffix; }

Result<std::vector<StoredFile>> stored_files() {
  KINGLET_ASSIGN(const fs::path folder, models_folder());
  std::vector<StoredFile> files;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(folder, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const fs::path extension = it->path().extension();
    if (!it->is_regular_file() || extension == kVersion || extension == FileLock::kSuffix) continue;
    const bool is_complete = extension != kPartial;
    fs::path name = it->path().lexically_relative(folder);
    if (!is_complete) name.replace_extension();
    files.push_back({"hf:" + to_utf8(name.generic_u8string()), it->path(), is_complete});
  }
  std::sort(files.begin(), files.end(),
            [](const StoredFile& a, const StoredFile& b) { return a.address < b.address; });
  return files;
}

// Parses a hub address, which may lack its "hf:".
Result<HubAddress> parse_named(const std::string& text) {
  return parse_hub_address(lacks_prefix(text) ? "hf:" + text : text);
}

fs::path path_of(const fs::path& folder, const HubAddress& address, const std::string& path) {
  fs::path joined = folder / to_path(hub_folder(address)) / to_path(path);
  return joined.make_preferred();
}

// Returns the paths in their repository of its stored files.
Result<std::vector<std::string>> stored_paths(const HubAddress& address) {
  KINGLET_ASSIGN(const auto files, stored_files());
  const std::string prefix = cat("hf:", hub_folder(address), "/");
  std::vector<std::string> paths;
  for (const StoredFile& file : files) {
    if (file.address.starts_with(prefix)) paths.push_back(file.address.substr(prefix.size()));
  }
  return paths;
}

Result<std::string> stored_path(const HubAddress& address) {
  if (!address.path.empty()) return address.path;
  KINGLET_ASSIGN(const auto paths, stored_paths(address));
  return pick_file(paths, address.type, address.repository);
}

// Refuses an address that fits several stored models: of these, pick_file() would choose one.
Status check_is_one(const HubAddress& address) {
  if (!address.path.empty() || !address.type.empty()) return {};
  KINGLET_ASSIGN(auto paths, stored_paths(address));
  std::erase_if(paths, [](const std::string& path) { return split_paths(path).front() != path; });
  if (paths.size() < 2) return {};
  std::string list;
  for (const std::string& path : paths) list += (list.empty() ? "" : ", ") + path;
  return Error{ErrorCode::invalid_argument,
               cat(address.repository, " has several files; name one of: ", list)};
}

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool is_sha256(const std::string& version) {
  return version.size() == 64 && std::all_of(version.begin(), version.end(),
                                             [](char c) { return hex_digit(c).has_value(); });
}

// Returns the first bytes of a file; fewer if it is shorter.
std::vector<std::byte> first_bytes(const fs::path& path, size_t n) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::byte> bytes(n);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(n));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

Status check_begins_as_gguf(const fs::path& path) {
  const auto bytes = first_bytes(path, kRecognizableBytes);
  const std::string_view start = as_text(bytes);
  if (start.starts_with(kGgufMagic)) return {};
  return Error{ErrorCode::not_gguf, cat(explain_other_format(start), "; the download was deleted")};
}

// Checks that the download has the size and the SHA-256 that the server reported, and that a model
// is one: servers of clubs and hotels answer everything with a page of theirs. Errors: io (it is
// not complete), corrupt or not_gguf (it is worthless).
Status check_download(const fs::path& path, const std::string& name, const RemoteFile& remote) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error || (remote.bytes && size < *remote.bytes)) {
    return Error{ErrorCode::io,
                 cat("the download ended after ", error ? 0 : size, " of ",
                     remote.bytes.value_or(0), " bytes; another pull continues there")};
  }
  if (is_gguf_name(name)) KINGLET_TRY(check_begins_as_gguf(path));
  if (!is_sha256(remote.version)) return {};
  ProgressBar bar("Checking");
  const auto on_progress = [&](uint64_t n_done) { bar.update(n_done, size); };
  KINGLET_ASSIGN(const std::string found, sha256_of_file(to_utf8(path), on_progress));
  if (equal_ignoring_case(found, remote.version)) return {};
  return Error{ErrorCode::corrupt,
               cat("the SHA-256 of the download is ", found, ", expected ", remote.version,
                   " as the hub says; the download was deleted, pull it again")};
}

// A download that was begun. The caller holds the lock of its target.
struct Part {
  fs::path path;
  fs::path version;  // the file that holds the version

  explicit Part(const fs::path& target)
      : path(with_suffix(target, kPartial)), version(with_suffix(target, kVersion)) {}

  void remove() const {
    std::error_code error;
    fs::remove(path, error);
    fs::remove(version, error);
  }

  // Whether the rest of the file can be appended to it. That needs the same version.
  bool is_beginning_of(const RemoteFile& remote) const {
    std::error_code missing;
    const auto n_there = fs::file_size(path, missing);
    return !missing && remote.bytes && n_there <= *remote.bytes && !remote.version.empty() &&
           first_line(version) == remote.version;
  }
};

Status download(const std::string& url, const std::string& name, const Part& part) {
  KINGLET_ASSIGN(const RemoteFile remote, ask_about_file(url));
  if (remote.is_web_page && is_gguf_name(name)) {
    return Error{ErrorCode::not_gguf,
                 cat(url, ": the server answered with a web page, not a model")};
  }
  if (!part.is_beginning_of(remote)) part.remove();
  std::ofstream(part.version) << remote.version << '\n';
  std::error_code missing;
  const auto n_there = fs::file_size(part.path, missing);
  Status status;
  if (missing || n_there != remote.bytes) {
    ProgressBar bar(name);
    status = download_rest(url, to_utf8(part.path), remote.bytes,
                           [&](uint64_t n_done, uint64_t n_bytes) { bar.update(n_done, n_bytes); });
  }
  if (status.ok()) status = check_download(part.path, name, remote);
  // Otherwise the next attempt would continue with it, and fail again.
  const bool is_worthless = !status.ok() && (status.error().code == ErrorCode::corrupt ||
                                             status.error().code == ErrorCode::not_gguf);
  if (is_worthless) part.remove();
  return status;
}

Status pull_file(const HubAddress& address, const std::string& path, const fs::path& target) {
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  if (error) {
    return Error{ErrorCode::io,
                 cat("cannot create ", to_utf8(target.parent_path()), ": ", error.message())};
  }
  bool waits = false;
  KINGLET_ASSIGN(const FileLock lock, FileLock::take(to_utf8(target), [&] {
                   if (!waits)
                     std::fprintf(stderr, "waiting for another download of the same file\n");
                   return waits = true;
                 }));
  if (fs::exists(target, error)) {
    std::fprintf(stderr, "%s is downloaded\n", printable(path).c_str());
    return {};
  }
  const Part part(target);
  KINGLET_TRY(download(hub_file_url(address, path), path, part));
  fs::rename(part.path, target, error);
  if (error) {
    return Error{ErrorCode::io,
                 cat("cannot rename the download to ", to_utf8(target), ": ", error.message())};
  }
  fs::remove(part.version, error);
  show(to_utf8(target) + "\n");
  return {};
}

// Whether a file's header says that it is a part. If it cannot be read, the name decides.
bool is_split_file(const fs::path& path) {
  for (size_t n = size_t{1} << 16; n <= kMaxHeaderBytes; n *= 4) {
    const std::vector<std::byte> bytes = first_bytes(path, n);
    uint64_t n_needed = 0;
    const auto header = parse_gguf_header(bytes, std::nullopt, &n_needed);
    if (header.ok()) {
      const auto split = read_split(header.value());
      return !split.ok() || split.value().n_parts > 1;
    }
    if (n_needed == 0 || bytes.size() < n) break;
  }
  return true;
}

}  // namespace

Result<std::string> model_path(const std::string& model) {
  std::error_code error;
  const bool may_be_path = !is_hub_address(model);
  if (may_be_path && (!lacks_prefix(model) || fs::exists(to_path(model), error))) return model;
  KINGLET_ASSIGN(const HubAddress address, parse_named(model));
  // "folder/model.gguf" is a path, although a repository could have this name.
  if (may_be_path && address.path.empty() && is_gguf_name(model)) return model;
  KINGLET_ASSIGN(const fs::path folder, models_folder());
  const auto path = stored_path(address);
  const fs::path file = path.ok() ? path_of(folder, address, path.value()) : fs::path();
  if (path.ok() && fs::exists(file, error)) return to_utf8(file);
  const char* missing =
      may_be_path ? " is neither a file nor a pulled model" : " has not been pulled";
  return Error{ErrorCode::io, cat(model, missing, ": kinglet pull ", model)};
}

Status pull(const std::string& text) {
  KINGLET_ASSIGN(const HubAddress address, parse_named(text));
  KINGLET_ASSIGN(const fs::path folder, models_folder());
  std::string path = address.path;
  if (path.empty()) {
    KINGLET_ASSIGN(const std::string listing,
                   get_text(hub_listing_url(address), kMostListingBytes));
    KINGLET_ASSIGN(const std::vector<std::string> paths, hub_paths(listing));
    KINGLET_ASSIGN(path, pick_file(paths, address.type, address.repository));
  }
  const fs::path named = path_of(folder, address, path);
  KINGLET_TRY(pull_file(address, path, named));
  const std::vector<std::string> parts = split_paths(path);
  if (parts.size() == 1 || !is_split_file(named)) return {};
  for (const std::string& part : parts) {
    if (part != path) KINGLET_TRY(pull_file(address, part, path_of(folder, address, part)));
  }
  return {};
}

Status list_models() {
  KINGLET_ASSIGN(const auto files, stored_files());
  if (files.empty()) {
    KINGLET_ASSIGN(const fs::path folder, models_folder());
    std::fprintf(stderr, "No models in %s yet. kinglet pull hf:owner/repo:TYPE downloads one.\n",
                 printable(to_utf8(folder)).c_str());
  } else if (writes_to_terminal() && reports_to_terminal()) {
    std::fprintf(stderr, "kinglet chat -m ADDRESS begins a conversation:\n");
  }
  for (const StoredFile& file : files) {
    std::error_code error;
    const auto megabytes = static_cast<double>(fs::file_size(file.path, error)) / 1e6;
    std::printf("%s  %.1f MB%s\n", shown(file.address).c_str(), megabytes,
                file.is_complete ? "" : ", incomplete");
  }
  return {};
}

Status remove_model(const std::string& text) {
  KINGLET_ASSIGN(const HubAddress address, parse_named(text));
  KINGLET_ASSIGN(const fs::path folder, models_folder());
  KINGLET_TRY(check_is_one(address));
  KINGLET_ASSIGN(const std::string path, stored_path(address));
  bool is_removed = false;
  for (const std::string& part : split_paths(path)) {
    const fs::path file = path_of(folder, address, part);
    std::error_code missing;
    if (!fs::exists(file.parent_path(), missing)) continue;
    KINGLET_ASSIGN(const FileLock lock, FileLock::take(to_utf8(file), [] { return false; }));
    for (const std::string_view suffix : {std::string_view(), kPartial, kVersion}) {
      const fs::path name = with_suffix(file, suffix);
      std::error_code error;
      if (fs::remove(name, error)) {
        is_removed = true;
        std::fprintf(stderr, "%s is deleted\n", printable(to_utf8(name)).c_str());
      }
      if (error) {
        return Error{ErrorCode::io, cat("cannot delete ", to_utf8(name), ": ", error.message())};
      }
    }
  }
  if (!is_removed) return Error{ErrorCode::io, cat(text, " has not been pulled")};
  return {};
}

}  // namespace kinglet::cli
