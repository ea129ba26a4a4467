#include "openai/picture_parts.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "base/percent.h"
#include "base/random_name.h"

namespace kinglet::openai {
namespace {

// The most bytes of a URL that an error quotes.
constexpr size_t kMostQuoted = 60;

ApiError wrong_part(std::string message) { return invalid(std::move(message), "messages"); }

constexpr uint8_t kNoDigit = 64;

constexpr std::array<uint8_t, 256> base64_values() {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<uint8_t, 256> values{};
  values.fill(kNoDigit);
  for (size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<uint8_t>(i);
  }
  return values;
}

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Decodes the Base64 of a URL as browsers do: escapes such as %2B are decoded, white space, such as
// the line breaks of `base64 FILE`, does not count, and the padding may be missing. Returns nullopt
// if it is not Base64.
std::optional<std::string> from_base64(std::string_view data) {
  static constexpr auto kValues = base64_values();
  auto unpacked = percent_decoded(data);
  if (!unpacked) return std::nullopt;
  std::erase_if(*unpacked, is_space);
  std::string_view text = *unpacked;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int n_bits = 0;
  for (const char digit : text) {
    const uint8_t value = kValues[static_cast<unsigned char>(digit)];
    if (value == kNoDigit) return std::nullopt;
    bits = bits << 6 | value;
    n_bits += 6;
    if (n_bits < 8) continue;
    n_bits -= 8;
    bytes += static_cast<char>(bits >> n_bits & 0xFF);
  }
  return bytes;
}

// Reads {"type": "image_url", "image_url": {"url": …, "detail": …}}, or the same with the URL in
// place of the inner object. "detail" is ignored: image readers have their own sizes.
ApiResult<std::string> url_of_part(const Json& part) {
  const Json& given = part["image_url"];
  const Json& url = given.is_object() ? given["url"] : given;
  if (!url.is_string()) {
    return wrong_part(R"(a part of type "image_url" must hold "image_url": {"url": …})");
  }
  return url.as_string();
}

// Returns a mark that no text can hold, because nobody knows it in advance.
std::string new_mark() { return cat("<picture-", random_name(24), ">"); }

}  // namespace

// Returns the data of a URL data:[TYPE][;base64],DATA (RFC 2397). The type is ignored: the bytes
// themselves show the format.
ApiResult<std::string> file_of_url(std::string_view url) {
  // As browsers do: white space around a URL does not count, and its scheme has no case.
  while (!url.empty() && is_space(url.front())) url.remove_prefix(1);
  constexpr std::string_view kScheme = "data:";
  if (!equal_ignoring_case(url.substr(0, kScheme.size()), kScheme)) {
    return wrong_part(
        cat("the image_url ", in_quotes(std::string(url.substr(0, kMostQuoted))),
            " is not a data URL: the server does not fetch pictures, so send the file itself "
            "(data:image/png;base64,…)"));
  }
  const size_t comma = url.find(',');
  std::string_view head = url.substr(0, comma);
  while (!head.empty() && is_space(head.back())) head.remove_suffix(1);
  constexpr std::string_view kEncoding = "base64";
  const size_t mark = head.rfind(';');
  std::string_view encoding = mark == head.npos ? "" : head.substr(mark + 1);
  while (!encoding.empty() && is_space(encoding.front())) encoding.remove_prefix(1);
  if (comma == url.npos) return wrong_part("the data URL of a picture has no comma");
  const bool is_base64 = equal_ignoring_case(encoding, kEncoding);
  const std::string_view data = url.substr(comma + 1);
  auto bytes = is_base64 ? from_base64(data) : percent_decoded(data);
  if (bytes && !bytes->empty()) return std::move(*bytes);
  if (bytes) return wrong_part("the data URL of a picture is empty, expected a PNG or JPEG file");
  return wrong_part(cat("the data URL of a picture does not contain ",
                        is_base64 ? "valid Base64" : "valid data"));
}

ReadPictures one_by_one(std::function<ApiResult<PictureParts>(const std::string& url)> read) {
  return
      [read = std::move(read)](const std::vector<std::string>& urls) -> ApiResult<PartsOfPictures> {
        PartsOfPictures pictures;
        for (const std::string& url : urls) {
          KINGLET_ASSIGN(const PictureParts parts, read(url));
          pictures.push_back(*parts);
        }
        return pictures;
      };
}

ApiResult<GivenPictures> take_pictures(Json& messages) {
  GivenPictures pictures;
  if (!messages.is_array()) return pictures;
  for (Json& message : messages.as_array()) {
    Json* content = message.find("content");
    if (content == nullptr || !content->is_array()) continue;
    for (Json& part : content->as_array()) {
      if (std::as_const(part)["type"] != "image_url") continue;
      if (pictures.urls.size() == kMostPictures) {
        return wrong_part(cat("the messages have more than ", kMostPictures, " pictures"));
      }
      KINGLET_ASSIGN(std::string url, url_of_part(part));
      if (pictures.urls.empty()) pictures.mark = new_mark();
      pictures.urls.push_back(std::move(url));
      part = {{"type", "text"}, {"text", pictures.mark}};
    }
  }
  return pictures;
}

}  // namespace kinglet::openai
