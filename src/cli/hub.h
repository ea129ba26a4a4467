// Addresses on the Hugging Face hub, the same as in the npm package. Source: the hub's
// documentation of its API (/api/models) and of the addresses of files (/resolve/).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace kinglet::cli {

constexpr std::string_view kMainRevision = "main";

// The address of a file: by its path in the repository, or by the weight type to choose, "" for
// any.
struct HubAddress {
  std::string repository;  // "owner/repo"
  std::string revision{kMainRevision};
  std::string path;
  std::string type;
};

// Whether the text begins with "hf:" or is the address of a page of the hub.
bool is_hub_address(std::string_view text);

// Whether the text is a hub address that only lacks its "hf:".
bool lacks_prefix(std::string_view text);

// Parses hf:owner/repo/file.gguf, hf:owner/repo:Q4_K_M or hf:owner/repo, each optionally with
// @revision after the repository, in which a slash is written as %2F, as in the hub's own
// addresses. Neither a revision nor a path may have "." or ".." as a part, a backslash, a colon or
// a control character. Also parses the addresses of the hub's pages, as a browser shows them:
// https://huggingface.co/owner/repo, and with /tree/main or /blob/main/file.gguf behind it. Errors:
// invalid_argument.
Result<HubAddress> parse_hub_address(std::string_view text);

// The folder of a repository's files at a revision, among those of other repositories, with
// slashes: "owner/repo" or "owner/repo@revision", which is also how an address of them begins after
// "hf:".
std::string hub_folder(const HubAddress& address);

// The URL of the hub: HF_ENDPOINT, or https://huggingface.co.
std::string hub_base();

std::string hub_file_url(const HubAddress& address, std::string_view path);
std::string hub_listing_url(const HubAddress& address);

}  // namespace kinglet::cli
