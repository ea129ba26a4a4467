#include "cli/prompt_folder.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <system_error>
#include <vector>

#include "base/format.h"
#include "base/in_quotes.h"
#include "base/paths.h"
#include "cli/folder.h"
#include "cli/new_file.h"
#include "cli/terminal.h"

namespace kinglet::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".kprompt";

struct StateFile {
  fs::path path;
  uint64_t n_bytes;
  fs::file_time_type used;  // its time of writing is set when it is used
};

Result<std::vector<StateFile>> list_files(const fs::path& folder) {
  KINGLET_ASSIGN(const std::vector<fs::path> paths, files_with_extension(folder, kExtension));
  std::vector<StateFile> files;
  for (const fs::path& path : paths) {
    std::error_code gone;  // another process may remove it meanwhile
    const StateFile file{path, fs::file_size(path, gone), fs::last_write_time(path, gone)};
    if (!gone) files.push_back(file);
  }
  return files;
}

// Removes what processes that were killed have left: the beginning of a state under another name.
void remove_leftovers(const fs::path& folder) {
  constexpr auto kLongestWriting = std::chrono::hours(1);
  const auto parts = files_with_extension(folder, NewFile::kSuffix);
  if (!parts.ok()) return;
  for (const fs::path& part : parts.value()) {
    std::error_code error;
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(part, error);
    if (part.stem().extension() == kExtension && !error && age > kLongestWriting) {
      fs::remove(part, error);
    }
  }
}

// Reads the first bytes of a file, at most n_most.
Result<AlignedBuffer> read_first(const fs::path& path, uint64_t n_most) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  const uint64_t n_bytes = std::min<uint64_t>(fs::file_size(path, error), n_most);
  if (error || !file) return Error{ErrorCode::io, cat("cannot read ", in_quotes(to_utf8(path)))};
  KINGLET_ASSIGN(AlignedBuffer bytes, AlignedBuffer::allocate(n_bytes, "a prompt's state"));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(n_bytes));
  if (file) return bytes;
  return Error{ErrorCode::io, cat("cannot read ", in_quotes(to_utf8(path)))};
}

}  // namespace

Result<std::unique_ptr<PromptFolder>> PromptFolder::open(const Model& model,
                                                         const PromptCacheOptions& options) {
  KINGLET_TRY(make_folder(options.folder));
  std::unique_ptr<PromptFolder> folder(
      new PromptFolder(model, to_path(options.folder), options.n_mb << 20));
  remove_leftovers(folder->folder_);
  folder->make_room(0);
  KINGLET_TRY(folder->add_files(model));
  return folder;
}

Status PromptFolder::add_files(const Model& model) {
  KINGLET_ASSIGN(const std::vector<StateFile> files, list_files(folder_));
  for (const StateFile& file : files) {
    const std::string name = to_utf8(file.path.filename());
    const auto first = read_first(file.path, beginning_bytes(model.config().context_length));
    const auto added = first.ok() ? cache_.add(name, first.value().bytes()) : first.error();
    const bool is_foreign = !added.ok() && added.error().code == ErrorCode::wrong_shape;
    if (!added.ok() && !is_foreign) {
      report(cat(in_quotes(to_utf8(file.path)), " is ignored: ", added.error().message));
    }
  }
  return {};
}

Result<AlignedBuffer> PromptFolder::read(const std::string& name) {
  const fs::path path = folder_ / to_path(name);
  std::error_code ignored;  // only the order of removal depends on the time
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return read_first(path, UINT64_MAX);
}

void PromptFolder::write(const std::string& name, std::span<const std::byte> state) {
  if (state.size() > most_bytes_) {
    report(cat("the state of a prompt is not stored: it has ", state.size() >> 20,
               " MiB, and --prompt-cache-mb allows ", most_bytes_ >> 20));
    return cache_.remove(name);
  }
  make_room(state.size());
  const std::string path = to_utf8(folder_ / to_path(name));
  if (const Status status = write_new_file(path, state); !status.ok()) {
    cache_.remove(name);
    report(cat("the state of a prompt is not stored: ", status.error().message));
  }
}

void PromptFolder::reject(const std::string& name, std::string_view reason) {
  const fs::path path = folder_ / to_path(name);
  report(cat(in_quotes(to_utf8(path)), " is removed, and its prompt is computed again: ", reason));
  std::error_code ignored;  // it may be gone already
  fs::remove(path, ignored);
}

// Removes the least recently used states until there is room for n_bytes more.
void PromptFolder::make_room(uint64_t n_bytes) {
  auto files = list_files(folder_);
  if (!files.ok()) return;
  std::sort(files.value().begin(), files.value().end(),
            [](const StateFile& a, const StateFile& b) { return a.used < b.used; });
  for (const StateFile& file : files.value()) n_bytes += file.n_bytes;
  for (const StateFile& file : files.value()) {
    if (n_bytes <= most_bytes_) return;
    std::error_code ignored;
    fs::remove(file.path, ignored);
    cache_.remove(to_utf8(file.path.filename()));
    n_bytes -= file.n_bytes;
  }
}

}  // namespace kinglet::cli
