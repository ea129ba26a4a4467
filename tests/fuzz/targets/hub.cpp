// Addresses on the hub, and listings that it may answer with.
#include "cli/hub.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/format.h"
#include "fuzz/input.h"
#include "hub/repository.h"

namespace kinglet::fuzz {
namespace {

// Parts of the names that files have there, and of names that must not leave the folder.
constexpr std::string_view kNameParts[] = {"model",
                                           "-",
                                           "Q4_K_M",
                                           "q4_k_m",
                                           ".Q4_0",
                                           ".gguf",
                                           ".GGUF",
                                           "/",
                                           "mmproj",
                                           "imatrix",
                                           "UD-",
                                           "-00001-of-00003",
                                           "-00002-of-00003",
                                           "-00001-of-00001",
                                           "IQ1_S",
                                           "Q8_0",
                                           ".",
                                           "..",
                                           "é",
                                           ".json",
                                           " ",
                                           "?",
                                           "#",
                                           "%2F"};
constexpr std::string_view kAskedTypes[] = {"", "Q4_K_M", "q4_0", "Q8_0", "UD-IQ1_S", "F16", "-"};
constexpr uint32_t kMostFiles = 8;

std::string name(Input& input) {
  std::string text;
  for (uint32_t n = 1 + input.up_to(6); n > 0; --n) {
    text += kNameParts[input.up_to(std::size(kNameParts) - 1)];
  }
  return text;
}

// Writes an address again, from its parts.
std::string address_of(const cli::HubAddress& address) {
  std::string text = cat("hf:", cli::hub_folder(address));
  if (!address.type.empty()) text += cat(":", address.type);
  if (!address.path.empty()) text += cat("/", address.path);
  return text;
}

bool is_of_url(char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '<'; }

void check_url(std::string_view url) {
  check(std::all_of(url.begin(), url.end(), is_of_url), "an unescaped character in a URL");
  check(url.find_first_of("?#") == url.npos, "a URL that ends before its path does");
  check(cat(url, "/").find("/../") == std::string::npos, "a URL that leaves the repository");
}

void read_address(std::string_view text) {
  const auto address = cli::parse_hub_address(text);
  if (!address.ok()) {
    check(address.error().code == ErrorCode::invalid_argument, "another error than expected");
    return;
  }
  const cli::HubAddress& read = address.value();
  check(read.path.empty() || read.type.empty(), "both a path and a type");
  check_url(cli::hub_file_url(read, read.path));
  check_url(cli::hub_listing_url(read));
  const auto again = cli::parse_hub_address(address_of(read));
  check(again.ok(), "an address that cannot be written");
  check(address_of(again.value()) == address_of(read) && again.value().revision == read.revision,
        "an address that changes when it is written");
}

// The paths of a listing can be asked for, and one of them is chosen, in whatever order they come.
void choose(std::vector<std::string> paths, std::string_view type) {
  for (const std::string& path : paths) {
    if (path.find_first_of("?#") != path.npos) continue;  // has another meaning in an address
    const auto address = cli::parse_hub_address(cat("hf:o/r/", path));
    check(address.ok() && address.value().path == path, "a path that no address can have");
  }
  const auto picked = pick_file(paths, type, "o/r");
  std::reverse(paths.begin(), paths.end());
  const auto again = pick_file(paths, type, "o/r");
  check(picked.ok() == again.ok(), "the order of a listing decides");
  if (!picked.ok()) {
    check(picked.error().code == ErrorCode::not_found, "another error than expected");
    return;
  }
  check(picked.value() == again.value(), "the order of a listing decides which file is chosen");
  check(std::find(paths.begin(), paths.end(), picked.value()) != paths.end(),
        "a file that the listing does not have");
  check(is_gguf_name(picked.value()), "a file that is no model");
}

}  // namespace

void hub(Bytes bytes) {
  Input input(bytes);
  const std::string_view type = kAskedTypes[input.up_to(std::size(kAskedTypes) - 1)];
  std::string json;
  if (input.flag()) {
    std::string items;
    for (uint32_t n = input.up_to(kMostFiles); n > 0; --n) {
      items += cat(items.empty() ? "" : ", ", R"({"rfilename": ")", name(input), "\"}");
    }
    json = cat(R"({"siblings": [)", items, "]}");
    read_address(cat("hf:", name(input), input.flag() ? "/" : "", name(input),
                     input.flag() ? "@" : ":", name(input), input.flag() ? "/" : "", name(input)));
  } else {
    read_address(cat("hf:", input.text(input.up_to(64))));
    json = input.rest_text();
  }
  const auto paths = hub_paths(json);
  if (paths.ok()) return choose(paths.value(), type);
  check(paths.error().code == ErrorCode::io, "another error than expected");
}

}  // namespace kinglet::fuzz
