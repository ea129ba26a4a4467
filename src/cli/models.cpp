#include "cli/models.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/ascii.h"
#include "base/format.h"
#include "cli/http.h"
#include "cli/hub.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/sha256.h"
#include "gguf/split.h"

namespace kinglet::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartial = ".part";     // a file that is not complete yet
constexpr std::string_view kVersion = ".version";  // holds the ETag of the file that is downloaded

// A file of the hub that is stored here, and its address.
struct StoredFile {
  std::string address;
  fs::path path;
  bool is_complete;
};

// Returns KINGLET_MODELS, or kinglet/models in the folder of the user's data. Files in it have the
// paths that they have on the hub: owner/repo/path.
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
  return Error{ErrorCode::io,
               "neither KINGLET_MODELS nor HOME is set, so the folder of models is unknown"};
}

fs::path with_suffix(fs::path path, std::string_view suffix) { return path += suffix; }

Result<std::vector<StoredFile>> stored_files() {
  KINGLET_ASSIGN(const fs::path folder, models_folder());
  std::vector<StoredFile> files;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(folder, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (!it->is_regular_file() || it->path().extension() == kVersion) continue;
    const bool is_complete = it->path().extension() != kPartial;
    fs::path name = it->path().lexically_relative(folder);
    if (!is_complete) name.replace_extension();
    files.push_back({"hf:" + to_utf8(name.generic_u8string()), it->path(), is_complete});
  }
  std::sort(files.begin(), files.end(),
            [](const StoredFile& a, const StoredFile& b) { return a.address < b.address; });
  return files;
}

fs::path path_of(const fs::path& folder, const HubAddress& address, const std::string& path) {
  fs::path joined = folder / to_path(address.repository) / to_path(path);
  return joined.make_preferred();
}

// Returns the path in its repository of a stored file.
Result<std::string> stored_path(const HubAddress& address) {
  if (!address.path.empty()) return address.path;
  KINGLET_ASSIGN(const auto files, stored_files());
  const std::string prefix = cat("hf:", address.repository, "/");
  std::vector<std::string> paths;
  for (const StoredFile& file : files) {
    if (file.address.starts_with(prefix)) paths.push_back(file.address.substr(prefix.size()));
  }
  return pick_file(paths, address.type, address.repository);
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

// Checks that the download has the size and the SHA-256 that the server reported.
Status check_download(const fs::path& path, const RemoteFile& remote) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error || (remote.bytes && size != *remote.bytes)) {
    return Error{ErrorCode::io, cat("the download ended after ", error ? 0 : size, " of ",
                                    remote.bytes.value_or(0), " bytes; pull continues there")};
  }
  if (!is_sha256(remote.version)) return {};
  ProgressBar bar("Checking");
  const auto on_progress = [&](uint64_t n_done) { bar.update(n_done, size); };
  KINGLET_ASSIGN(const std::string found, sha256_of_file(to_utf8(path), on_progress));
  if (equal_ignoring_case(found, remote.version)) return {};
  fs::remove(path, error);
  return Error{ErrorCode::corrupt, cat("the SHA-256 of the download is ", found, ", the hub says ",
                                       remote.version, "; it was deleted, pull it again")};
}

Status pull_file(const HubAddress& address, const std::string& path, const fs::path& target) {
  std::error_code error;
  if (fs::exists(target, error)) {
    std::fprintf(stderr, "%s is here\n", path.c_str());
    return {};
  }
  fs::create_directories(target.parent_path(), error);
  if (error) {
    return Error{ErrorCode::io,
                 cat("cannot make ", to_utf8(target.parent_path()), ": ", error.message())};
  }
  const fs::path partial = with_suffix(target, kPartial);
  const fs::path version = with_suffix(target, kVersion);
  const std::string url = hub_file_url(address, path);
  KINGLET_ASSIGN(const RemoteFile remote, ask_about_file(url));
  // Do not continue a download of another version, or of an unknown version.
  if (remote.version.empty() || first_line(version) != remote.version) fs::remove(partial, error);
  std::ofstream(version) << remote.version << '\n';
  const auto n_there = fs::file_size(partial, error);
  if (error || !remote.bytes || n_there < *remote.bytes) {
    ProgressBar bar(path);
    KINGLET_TRY(download_rest(url, to_utf8(partial), [&](uint64_t n_done, uint64_t n_bytes) {
      bar.update(n_done, n_bytes);
    }));
  }
  KINGLET_TRY(check_download(partial, remote));
  fs::rename(partial, target, error);
  if (error) {
    return Error{ErrorCode::io, cat("cannot name ", to_utf8(target), ": ", error.message())};
  }
  fs::remove(version, error);
  std::printf("%s\n", to_utf8(target).c_str());
  return {};
}

}  // namespace

Result<std::string> model_path(const std::string& model) {
  if (!is_hub_address(model)) return model;
  KINGLET_ASSIGN(const HubAddress address, parse_hub_address(model));
  KINGLET_ASSIGN(const fs::path folder, models_folder());
  const auto path = stored_path(address);
  const fs::path file = path.ok() ? path_of(folder, address, path.value()) : fs::path();
  std::error_code error;
  if (path.ok() && fs::exists(file, error)) return to_utf8(file);
  return Error{ErrorCode::io, cat(model, " is not here: kinglet pull ", model)};
}

Status pull(const std::string& text) {
  KINGLET_ASSIGN(const HubAddress address, parse_hub_address(text));
  KINGLET_ASSIGN(const fs::path folder, models_folder());
  std::string path = address.path;
  if (path.empty()) {
    KINGLET_ASSIGN(const std::string listing, get_text(hub_listing_url(address)));
    KINGLET_ASSIGN(const std::vector<std::string> paths, hub_paths(listing));
    KINGLET_ASSIGN(path, pick_file(paths, address.type, address.repository));
  }
  for (const std::string& part : split_paths(path)) {
    KINGLET_TRY(pull_file(address, part, path_of(folder, address, part)));
  }
  return {};
}

Status list_models() {
  KINGLET_ASSIGN(const auto files, stored_files());
  for (const StoredFile& file : files) {
    std::error_code error;
    const auto megabytes = static_cast<double>(fs::file_size(file.path, error)) / 1e6;
    std::printf("%s  %.1f MB%s\n", file.address.c_str(), megabytes,
                file.is_complete ? "" : ", not complete");
  }
  return {};
}

Status remove_model(const std::string& text) {
  KINGLET_ASSIGN(const HubAddress address, parse_hub_address(text));
  KINGLET_ASSIGN(const fs::path folder, models_folder());
  KINGLET_ASSIGN(const std::string path, stored_path(address));
  bool is_removed = false;
  for (const std::string& part : split_paths(path)) {
    const fs::path file = path_of(folder, address, part);
    for (const std::string_view suffix : {std::string_view(), kPartial, kVersion}) {
      const fs::path name = with_suffix(file, suffix);
      std::error_code error;
      is_removed = fs::remove(name, error) || is_removed;
      if (error) {
        return Error{ErrorCode::io, cat("cannot delete ", to_utf8(name), ": ", error.message())};
      }
    }
  }
  if (!is_removed) return Error{ErrorCode::io, cat(text, " is not here")};
  return {};
}

}  // namespace kinglet::cli
