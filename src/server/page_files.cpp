#include "server/page_files.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "base/ascii.h"
#include "base/file_access.h"
#include "base/format.h"
#include "base/paths.h"

namespace kinglet::server {
namespace {

constexpr size_t kPiece = size_t{1} << 16;  // bytes that are read and sent at a time

constexpr std::pair<std::string_view, const char*> kMediaTypes[] = {
    {".css", "text/css; charset=utf-8"},
    {".gif", "image/gif"},
    {".html", "text/html; charset=utf-8"},
    {".ico", "image/x-icon"},
    {".jpeg", "image/jpeg"},
    {".jpg", "image/jpeg"},
    {".js", "text/javascript; charset=utf-8"},
    {".json", "application/json; charset=utf-8"},
    {".map", "application/json; charset=utf-8"},
    {".md", "text/markdown; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".mp4", "video/mp4"},
    {".pdf", "application/pdf"},
    {".png", "image/png"},
    {".svg", "image/svg+xml; charset=utf-8"},
    {".ttf", "font/ttf"},
    {".txt", "text/plain; charset=utf-8"},
    {".wasm", "application/wasm"},
    {".webm", "video/webm"},
    {".webmanifest", "application/manifest+json"},
    {".webp", "image/webp"},
    {".woff", "font/woff"},
    {".woff2", "font/woff2"},
    {".xml", "application/xml"},
};

const char* type_of(std::string_view path) {
  const size_t dot = path.rfind('.');
  if (dot == path.npos) return "application/octet-stream";
  for (const auto& [ending, type] : kMediaTypes) {
    if (equal_ignoring_case(path.substr(dot), ending)) return type;
  }
  return "application/octet-stream";
}

// Whether the path names something in the folder that it is added to, and nothing hidden, such as
// ".git" or ".env", which is hardly meant for others. Separators of Windows, and its drives, are
// refused everywhere.
bool may_be_served(std::string_view path) {
  constexpr std::string_view kWellKnown = "/.well-known/";  // RFC 8615
  if (!path.starts_with('/')) return false;
  if (path.find_first_of(std::string_view("\\:\0", 3)) != path.npos) return false;
  if (path.starts_with(kWellKnown)) path.remove_prefix(kWellKnown.size() - 1);
  return path.find("/.") == path.npos;
}

// Returns where a folder's page is, for a request without the "/" at the end: the page's own links
// need it. Relative: a target such as "//sub" would name another server.
std::string address_of_folder(std::string_view target) {
  const size_t end = std::min(target.find('?'), target.size());
  const size_t begin = target.substr(0, end).rfind('/') + 1;
  return cat("./", target.substr(begin, end - begin), "/", target.substr(end));
}

}  // namespace

std::optional<ByteRange> asked_range(std::string_view header, uint64_t file_size) {
  const ByteRange whole{0, file_size};
  constexpr std::string_view kUnit = "bytes=";
  if (!header.starts_with(kUnit)) return whole;
  header.remove_prefix(kUnit.size());
  const size_t dash = header.find('-');
  if (dash == header.npos) return whole;
  const std::string_view first = header.substr(0, dash);
  const std::string_view last = header.substr(dash + 1);
  if (first.empty()) {  // the last bytes
    const auto n_last = parse_decimal<uint64_t>(last);
    if (!n_last) return whole;
    if (*n_last == 0 || file_size == 0) return std::nullopt;
    const uint64_t size = std::min(*n_last, file_size);
    return ByteRange{file_size - size, size};
  }
  const auto begin = parse_decimal<uint64_t>(first);
  const auto end = last.empty() ? std::optional(UINT64_MAX) : parse_decimal<uint64_t>(last);
  if (!begin || !end || *begin > *end) return whole;
  if (*begin >= file_size) return std::nullopt;
  return ByteRange{*begin, std::min(*end, file_size - 1) - *begin + 1};
}

bool serve_file(const std::string& folder, const httplib::Request& request, std::string_view header,
                httplib::Response& response) {
  if (request.method != "GET" && request.method != "HEAD") return false;
  if (!may_be_served(request.path)) return false;
  std::string path = folder + request.path;
  std::error_code ignored;
  const bool lacks_slash =
      !path.ends_with('/') && std::filesystem::is_directory(to_path(path), ignored);
  if (lacks_slash) path += '/';
  if (path.ends_with('/')) path += "index.html";
  // A folder can be opened, and a pipe would be waited for.
  if (!std::filesystem::is_regular_file(to_path(path), ignored)) return false;
  if (lacks_slash) {
    response.set_redirect(address_of_folder(request.target), 301);
    return true;
  }
  const std::shared_ptr<std::FILE> file(open_file(path, "rb"), [](std::FILE* opened) {
    if (opened != nullptr) std::fclose(opened);
  });
  const auto size = file == nullptr ? std::nullopt : file_size(file.get());
  if (!size) return false;
  const auto range = asked_range(header, *size);
  if (!range) {
    response.set_header("Content-Range", cat("bytes */", *size));
    response.status = 416;
    return true;
  }
  response.status = 200;
  if (range->size != *size) {
    response.status = 206;
    response.set_header("Content-Range", cat("bytes ", range->begin, "-",
                                             range->begin + range->size - 1, "/", *size));
  }
  if (range->size == 0) {
    response.set_content("", type_of(path));
    return true;
  }
  response.set_content_provider(
      static_cast<size_t>(range->size), type_of(path),
      [file, begin = range->begin](size_t at, size_t n_left, httplib::DataSink& sink) {
        std::array<std::byte, kPiece> piece;
        const auto n =
            read_at(file.get(), begin + at, std::span(piece).first(std::min(n_left, piece.size())));
        // The file has become shorter: the connection ends, and the client sees that.
        if (!n || *n == 0) return false;
        return sink.write(reinterpret_cast<const char*>(piece.data()), *n);
      });
  return true;
}

}  // namespace kinglet::server
