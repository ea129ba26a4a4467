#include "cli/http.h"

#ifdef KINGLET_HAS_LIBCURL
#include <curl/curl.h>
#include <unistd.h>
#endif

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/file_access.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "base/paths.h"
#include "cli/hub.h"

namespace kinglet::cli {

#ifdef KINGLET_HAS_LIBCURL

namespace {

constexpr long kConnectSeconds = 30;
constexpr long kStallSeconds = 30;  // a transfer fails after this time without a byte
constexpr long kMostRedirects = 10;
constexpr long kPartialContent = 206;
constexpr long kNoSuchRange = 416;

// A request, with libcurl's state for it.
class Request {
 public:
  explicit Request(const std::string& url) : url_(url), curl_(curl_easy_init()) {
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, kMostRedirects);
    set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, kStallSeconds);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_FAILONERROR, 1L);
    set(CURLOPT_ERRORBUFFER, message_);
    set(CURLOPT_USERAGENT, "kinglet");
    const char* token = std::getenv("HF_TOKEN");
    // libcurl does not send the token to the other hosts to which the hub redirects.
    if (token != nullptr && *token != '\0' && url.starts_with(hub_base() + "/")) {
      headers_.reset(curl_slist_append(nullptr, cat("Authorization: Bearer ", token).c_str()));
      set(CURLOPT_HTTPHEADER, headers_.get());
    }
  }

  template <class Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(curl_.get(), option, value);
  }

  Status run() {
    const CURLcode code = curl_easy_perform(curl_.get());
    if (code == CURLE_OK) return {};
    const std::string_view why = message_[0] != '\0' ? message_ : curl_easy_strerror(code);
    const bool is_denied = status() == 401 || status() == 403;
    return Error{
        ErrorCode::io,
        cat(url_, ": ", why,
            is_denied ? "; for a gated model, accept its conditions and set HF_TOKEN" : "")};
  }

  long status() const {
    long status = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
    return status;
  }

 private:
  struct Closer {
    void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };

  std::string url_;
  std::unique_ptr<CURL, Closer> curl_;
  std::unique_ptr<curl_slist, Closer> headers_;
  char message_[CURL_ERROR_SIZE] = {};
};

struct TextDownload {
  std::string text;
  size_t most_bytes;
  bool is_too_long = false;
};

// libcurl ends a transfer if such a function does not return `n`.
size_t append_text(const char* data, size_t, size_t n, void* user) {
  auto& download = *static_cast<TextDownload*>(user);
  download.is_too_long = n > download.most_bytes - download.text.size();
  if (download.is_too_long) return 0;
  download.text.append(data, n);
  return n;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '"')) text.remove_prefix(1);
  while (!text.empty() && std::string_view("\r\n \"").find(text.back()) != text.npos) {
    text.remove_suffix(1);
  }
  return text;
}

// Reads the size and the ETag from headers. The hub redirects large files to another server, and
// reports their size and SHA-256 before that, in headers x-linked-*. Those have priority.
struct FileHeaders {
  RemoteFile file;
  bool is_linked = false;

  void take(std::string_view line) {
    if (line.starts_with("HTTP/") && !is_linked) file = {};  // those before were of a redirect
    const size_t colon = line.find(':');
    if (colon == line.npos) return;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (equal_ignoring_case(name, "content-type")) {
      constexpr std::string_view kPage = "text/html";
      file.is_web_page = equal_ignoring_case(value.substr(0, kPage.size()), kPage);
    }
    const bool is_link = name.size() > 9 && equal_ignoring_case(name.substr(0, 9), "x-linked-");
    if (is_linked && !is_link) return;
    const std::string_view what = is_link ? name.substr(9) : name;
    is_linked = is_linked || is_link;
    if (equal_ignoring_case(what, "etag")) {
      file.version = value.starts_with("W/") ? trimmed(value.substr(2)) : value;
    }
    if (equal_ignoring_case(what, is_link ? "size" : "content-length")) {
      file.bytes = std::strtoull(std::string(value).c_str(), nullptr, 10);
    }
  }
};

size_t take_header(const char* data, size_t, size_t n, void* headers) {
  static_cast<FileHeaders*>(headers)->take({data, n});
  return n;
}

struct Download {
  Request& request;
  std::FILE* file;
  uint64_t n_before;
  std::optional<uint64_t> n_bytes;  // of the whole file
  const DownloadProgress& on_progress;
  uint64_t n_received = 0;
  bool has_begun = false;
  std::string range = {};  // the header content-range
  std::string wrong = {};  // what is wrong with the bytes that the server sends
};

size_t take_range(const char* data, size_t, size_t n, void* user) {
  const std::string_view line(data, n);
  const size_t colon = line.find(':');
  if (colon != line.npos && equal_ignoring_case(line.substr(0, colon), "content-range")) {
    static_cast<Download*>(user)->range = trimmed(line.substr(colon + 1));
  }
  return n;
}

// Whether the answer to a request from byte `n_before` on begins there, if the server says it.
bool begins_there(const Download& download) {
  return download.range.empty() ||
         download.range.starts_with(cat("bytes ", download.n_before, "-"));
}

size_t append_bytes(const char* data, size_t, size_t n, void* user) {
  auto& download = *static_cast<Download*>(user);
  if (!download.has_begun && download.n_before > 0) {
    if (download.request.status() != kPartialContent) {
      download.n_before = 0;  // the server sends the whole file
      if (ftruncate(fileno(download.file), 0) != 0) return 0;
    } else if (!begins_there(download)) {
      download.wrong = cat("it sent ", in_quotes(download.range), ", but bytes ", download.n_before,
                           " and later ones were requested");
      return 0;
    }
  }
  download.has_begun = true;
  download.n_received += n;
  if (download.n_bytes && download.n_before + download.n_received > *download.n_bytes) {
    download.wrong = cat("it sent more than the ", *download.n_bytes, " bytes that it announced");
    return 0;
  }
  return std::fwrite(data, 1, n, download.file);
}

int take_progress(void* user, curl_off_t n_bytes, curl_off_t n_done, curl_off_t, curl_off_t) {
  const auto& download = *static_cast<const Download*>(user);
  const auto total = static_cast<uint64_t>(n_bytes);
  download.on_progress(download.n_before + static_cast<uint64_t>(n_done),
                       total > 0 ? download.n_before + total : 0);
  return 0;
}

}  // namespace

Result<std::string> get_text(const std::string& url, size_t most_bytes) {
  Request request(url);
  TextDownload download = {{}, most_bytes};
  request.set(CURLOPT_WRITEFUNCTION, append_text);
  request.set(CURLOPT_WRITEDATA, &download);
  const Status status = request.run();
  if (download.is_too_long) {
    return Error{ErrorCode::io, cat(url, ": the answer has more than ", most_bytes, " bytes")};
  }
  KINGLET_TRY(status);
  return std::move(download.text);
}

Result<RemoteFile> ask_about_file(const std::string& url) {
  Request request(url);
  FileHeaders headers;
  request.set(CURLOPT_NOBODY, 1L);
  request.set(CURLOPT_HEADERFUNCTION, take_header);
  request.set(CURLOPT_HEADERDATA, &headers);
  KINGLET_TRY(request.run());
  return headers.file;
}

Status download_rest(const std::string& url, const std::string& path,
                     std::optional<uint64_t> n_bytes, const DownloadProgress& on_progress) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(to_path(path), missing);
  const uint64_t n_before = missing ? 0 : size;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(open_file(path, "ab"), &std::fclose);
  if (file == nullptr) return Error{ErrorCode::io, cat("cannot write ", path)};
  Request request(url);
  Download download = {request, file.get(), n_before, n_bytes, on_progress};
  // With CURLOPT_RESUME_FROM it would be an error if the server sends the whole file.
  const std::string range = cat(n_before, "-");
  if (n_before > 0) request.set(CURLOPT_RANGE, range.c_str());
  request.set(CURLOPT_HEADERFUNCTION, take_range);
  request.set(CURLOPT_HEADERDATA, &download);
  request.set(CURLOPT_WRITEFUNCTION, append_bytes);
  request.set(CURLOPT_WRITEDATA, &download);
  request.set(CURLOPT_NOPROGRESS, 0L);
  request.set(CURLOPT_XFERINFOFUNCTION, take_progress);
  request.set(CURLOPT_XFERINFODATA, &download);
  Status status = request.run();
  if (std::fflush(file.get()) != 0) return Error{ErrorCode::io, cat("cannot write ", path)};
  if (request.status() == kNoSuchRange) {
    download.wrong = cat("it has no byte ", n_before, ", although it announced more");
  }
  if (download.wrong.empty()) return status;
  return Error{ErrorCode::corrupt, cat(url, ": the server contradicts itself: ", download.wrong)};
}

#else

namespace {

Error no_network() {
  return {ErrorCode::unsupported_feature,
          "this program was built without libcurl and cannot download"};
}

}  // namespace

Result<std::string> get_text(const std::string&, size_t) { return no_network(); }
Result<RemoteFile> ask_about_file(const std::string&) { return no_network(); }
Status download_rest(const std::string&, const std::string&, std::optional<uint64_t>,
                     const DownloadProgress&) {
  return no_network();
}

#endif

}  // namespace kinglet::cli
