#include "cli/folder.h"

#include <algorithm>
#include <system_error>

#include "base/format.h"
#include "base/in_quotes.h"
#include "base/paths.h"

namespace kinglet::cli {

namespace fs = std::filesystem;

Status make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(to_path(path), error);
  if (!error) return {};
  return Error{ErrorCode::io,
               cat("cannot make the folder ", in_quotes(path), ": ", error.message())};
}

Result<std::vector<fs::path>> files_with_extension(const fs::path& folder,
                                                   std::string_view extension) {
  std::vector<fs::path> files;
  std::error_code error;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    if (it->path().extension() == extension) files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  if (!error) return files;
  return Error{ErrorCode::io,
               cat("cannot read the folder ", in_quotes(to_utf8(folder)), ": ", error.message())};
}

}  // namespace kinglet::cli
