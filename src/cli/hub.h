// Addresses on the Hugging Face hub, as the package has them too. Source: the hub's documentation
// of its API (/api/models) and of the addresses of files (/resolve/).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kinglet::cli {

// Either a file's path in its repository, or the weight type of the file to take, "" for any.
struct HubAddress {
  std::string repository;  // "owner/repo"
  std::string revision = "main";
  std::string path;
  std::string type;
};

bool is_hub_address(std::string_view text);  // begins with "hf:"

// hf:owner/repo/file.gguf, hf:owner/repo:Q4_K_M, hf:owner/repo; with @revision after the
// repository. ErrorCode::invalid_argument.
Result<HubAddress> parse_hub_address(std::string_view text);

// Where the hub is: HF_ENDPOINT, or https://huggingface.co.
std::string hub_base();

std::string hub_file_url(const HubAddress& address, std::string_view path);
std::string hub_listing_url(const HubAddress& address);

// The paths in the hub's answer. ErrorCode::io where it is none.
Result<std::vector<std::string>> hub_paths(std::string_view json);

// The file of a weight type, of a split one the first part; without a type one that people usually
// mean, or the only one. ErrorCode::invalid_argument lists what there is, where there is none or
// several may be meant.
Result<std::string> pick_file(const std::vector<std::string>& paths, std::string_view type,
                              std::string_view repository);

}  // namespace kinglet::cli
