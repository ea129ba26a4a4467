#include "schema/formats.h"

#include <array>
#include <utility>
#include <vector>

#include "base/format.h"

namespace kinglet::schema {
namespace {

struct Format {
  std::string_view name;
  std::string pattern;  // of the whole text, but without anchors
};

std::string date_pattern() {
  constexpr std::string_view kDays = "(?:0[1-9]|[12]\\d|3[01])";
  constexpr std::string_view kLeapYear =
      "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
  return cat("(?:\\d{4}-(?:(?:0[13578]|1[02])-", kDays,
             "|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))|", kLeapYear,
             "-02-29)");
}

std::string time_pattern() {
  constexpr std::string_view kHour = "(?:[01]\\d|2[0-3])";
  return cat(kHour, ":[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-]", kHour, ":[0-5]\\d)");
}

std::string duration_pattern() {
  constexpr std::string_view kDigits = "\\d{1,4}";
  return cat("P(?:", kDigits, "W|(?!$)(?:", kDigits, "Y)?(?:", kDigits, "M)?(?:", kDigits,
             "D)?(?:T(?!$)(?:", kDigits, "H)?(?:", kDigits, "M)?(?:", kDigits, "S)?)?)");
}

std::string ipv4_pattern() {
  constexpr std::string_view kOctet = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
  return cat(kOctet, "(?:\\.", kOctet, "){3}");
}

// All groups, or fewer with one "::".
std::string ipv6_pattern() {
  constexpr std::string_view kGroup = "[0-9a-f]{1,4}";
  std::string pattern = cat("(?:", kGroup, ":){7}", kGroup);
  for (int n = 1; n <= 6; ++n) {
    pattern += cat("|(?:", kGroup, ":){", n, "}(?::", kGroup, "){1,", 7 - n, "}");
  }
  return cat(pattern, "|:(?::", kGroup, "){1,7}|(?:", kGroup, ":){1,7}:|::");
}

constexpr std::string_view kLabel = "[a-z0-9](?:[a-z0-9-]{0,20}[a-z0-9])?";
constexpr std::string_view kPathCharacter = "[a-zA-Z0-9._~!$&'()*+,;=:@-]";

std::string domain_pattern() { return cat("(?:", kLabel, "\\.){1,3}[a-z]{2,10}"); }

constexpr std::string_view kPercent = "%[0-9A-Fa-f]{2}";

// Any scheme.
std::string uri_pattern() {
  const std::string character = cat("(?:", kPathCharacter, "|", kPercent, ")");
  const std::string path = cat("(?:", kPathCharacter, "|[/?]|", kPercent, ")*");
  return cat("[a-zA-Z][a-zA-Z0-9+.-]{1,20}:/{0,3}", character, path, "(?:#", path, ")?");
}

// A URI, or a part of one, whose first name has no colon.
std::string uri_reference_pattern() {
  constexpr std::string_view kFirst = "[a-zA-Z0-9._~!$&'()*+,;=@-]";
  const std::string path = cat("(?:", kPathCharacter, "|[/?]|", kPercent, ")*");
  return cat(uri_pattern(), "|(?:", kFirst, "|", kPercent, ")*(?:[/?]", path, ")?(?:#", path, ")?");
}

const std::vector<Format>& formats() {
  static const std::vector<Format> all = {
      {"date", date_pattern()},
      {"time", time_pattern()},
      {"date-time", cat(date_pattern(), "T", time_pattern())},
      {"duration", duration_pattern()},
      {"uuid", "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"},
      {"email", cat("[a-zA-Z0-9_+-]{1,30}(?:\\.[a-zA-Z0-9_+-]{1,30}){0,2}@", domain_pattern())},
      {"hostname", cat(kLabel, "(?:\\.", kLabel, "){0,3}")},
      {"ipv4", ipv4_pattern()},
      {"ipv6", ipv6_pattern()},
      {"uri", uri_pattern()},
      {"uri-reference", uri_reference_pattern()},
      {"base64", "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"},
      {"base64url", "(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3})?"}};
  return all;
}

}  // namespace

std::optional<std::string> pattern_of_format(std::string_view format) {
  for (const auto& [name, pattern] : formats()) {
    if (name == format) return cat("^(?:", pattern, ")$");
  }
  return std::nullopt;
}

std::string_view wider_pattern_of_format(std::string_view format) {
  constexpr auto kWider = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"date", "^\\d{4}-\\d\\d-\\d\\d$"},
       {"time", "^\\d\\d:\\d\\d"},
       {"date-time", "^\\d{4}-\\d\\d-\\d\\d[ Tt]\\d\\d:\\d\\d"},
       {"duration", "^P"},
       {"uuid", "^[0-9a-fA-F]{8}-"},
       {"email", "@"},
       {"hostname", "^[^ /:@_]*$"},
       {"ipv4", "^[0-9.]+$"},
       {"ipv6", ":"},
       {"uri", ":"},
       {"base64", "^[A-Za-z0-9+/=\\s]*$"},
       {"base64url", "^[A-Za-z0-9_=-]*$"}});
  for (const auto& [name, pattern] : kWider) {
    if (name == format) return pattern;
  }
  return {};
}

}  // namespace kinglet::schema
