#include "cli/sha256.h"

#ifdef KINGLET_HAS_LIBCURL
#include <openssl/evp.h>
#endif

#include <cstdio>
#include <memory>
#include <vector>

#include "base/ascii.h"
#include "base/file_access.h"
#include "base/format.h"

namespace kinglet::cli {

#ifdef KINGLET_HAS_LIBCURL

Result<std::string> sha256_of_file(const std::string& path,
                                   const std::function<void(uint64_t n_done)>& on_progress) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(open_file(path, "rb"), &std::fclose);
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> digest(EVP_MD_CTX_new(),
                                                                  &EVP_MD_CTX_free);
  if (file == nullptr || EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) != 1) {
    return Error{ErrorCode::io, cat("cannot open ", path)};
  }
  std::vector<unsigned char> buffer(size_t{1} << 20);
  uint64_t n_done = 0;
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    EVP_DigestUpdate(digest.get(), buffer.data(), n);
    on_progress(n_done += n);
  }
  if (std::ferror(file.get()) != 0) return Error{ErrorCode::io, cat("cannot read ", path)};
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int n_bytes = 0;
  EVP_DigestFinal_ex(digest.get(), bytes, &n_bytes);
  std::string text;
  for (unsigned int i = 0; i < n_bytes; ++i) {
    text += {kHexDigits[bytes[i] >> 4], kHexDigits[bytes[i] & 15]};
  }
  return text;
}

#else

Result<std::string> sha256_of_file(const std::string&, const std::function<void(uint64_t)>&) {
  return Error{ErrorCode::unsupported_feature, "this program was built without libcrypto"};
}

#endif

}  // namespace kinglet::cli
