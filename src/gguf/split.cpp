#include "gguf/split.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "gguf/file.h"

namespace kinglet {
namespace {

constexpr std::string_view kIndexKey = "split.no";  // counts from 0, unlike the file's name
constexpr std::string_view kCountKey = "split.count";
constexpr std::string_view kTensorsKey = "split.tensors.count";
constexpr size_t kDigits = 5;
constexpr std::string_view kOf = "-of-";

std::string five_digits(uint32_t number) {
  const std::string digits = cat(number);
  return std::string(kDigits - std::min(digits.size(), kDigits), '0') + digits;
}

// A path that has the name of a part.
struct PartName {
  std::string_view stem;  // what all parts have in common
  uint32_t n_parts;
};

std::optional<PartName> parse_part_name(std::string_view path) {
  constexpr size_t kTail = 1 + kDigits + kOf.size() + kDigits + kGgufExtension.size();
  if (path.size() < kTail) return std::nullopt;
  const std::string_view tail = path.substr(path.size() - kTail);
  const auto number = parse_decimal<uint32_t>(tail.substr(1, kDigits));
  const auto count = parse_decimal<uint32_t>(tail.substr(1 + kDigits + kOf.size(), kDigits));
  const bool is_part = tail[0] == '-' && tail.substr(1 + kDigits, kOf.size()) == kOf &&
                       tail.ends_with(kGgufExtension) && number && *number >= 1 && count &&
                       *number <= *count && *count <= kMaxParts;
  if (!is_part) return std::nullopt;
  return PartName{path.substr(0, path.size() - kTail), *count};
}

std::string part_path(const PartName& name, uint32_t number) {
  return cat(name.stem, "-", five_digits(number), kOf, five_digits(name.n_parts), kGgufExtension);
}

// The index of a part whose split metadata are known to be valid.
uint32_t index_of(const GgufFile& part) { return read_split(part.header()).value().index; }

Status check_same_split(const SplitPosition& first, const GgufHeader& header) {
  KINGLET_ASSIGN(const SplitPosition split, read_split(header));
  if (split.n_parts == first.n_parts && split.n_parts > 1) return {};
  return Error{ErrorCode::corrupt,
               cat("the files are not parts of one: one is part ", first.index + 1, " of ",
                   first.n_parts, ", another ", split.index + 1, " of ", split.n_parts)};
}

Status check_complete(std::span<const GgufFile> sorted, uint32_t n_parts) {
  std::string missing;
  uint32_t expected = 0;
  for (const GgufFile& part : sorted) {
    if (index_of(part) < expected) {
      return Error{ErrorCode::corrupt,
                   cat("part ", index_of(part) + 1, " of ", n_parts, " was given twice")};
    }
    for (; expected < index_of(part); ++expected) missing += cat(" ", expected + 1);
    ++expected;
  }
  for (; expected < n_parts; ++expected) missing += cat(" ", expected + 1);
  if (missing.empty()) return {};
  return Error{ErrorCode::truncated,
               cat("the model is split into ", n_parts, " files; these are missing:", missing)};
}

Status check_tensors(const GgufHeader& header) {
  KINGLET_ASSIGN(const uint32_t n_tensors,
                 header.get_uint(kTensorsKey, static_cast<uint32_t>(header.tensors.size())));
  if (n_tensors != header.tensors.size()) {
    return Error{ErrorCode::corrupt, cat(kTensorsKey, " is ", n_tensors, ", but the parts hold ",
                                         header.tensors.size())};
  }
  std::vector<std::string_view> names;
  for (const TensorInfo& tensor : header.tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return {};
  return Error{ErrorCode::corrupt, cat("tensor ", in_quotes(*twice), " is in two parts")};
}

}  // namespace

Result<SplitPosition> read_split(const GgufHeader& header) {
  SplitPosition split;
  KINGLET_ASSIGN(split.n_parts, header.get_uint(kCountKey, 0));
  if (split.n_parts <= 1) return SplitPosition();
  KINGLET_ASSIGN(split.index, header.require_uint(kIndexKey));
  if (split.n_parts > kMaxParts || split.index >= split.n_parts) {
    return Error{ErrorCode::corrupt,
                 cat(kIndexKey, " is ", split.index, " of ", split.n_parts,
                     " parts, expected at most ", kMaxParts, " of them, counted from 0")};
  }
  return split;
}

std::vector<std::string> split_paths(const std::string& path) {
  const auto name = parse_part_name(path);
  if (!name) return {path};
  std::vector<std::string> paths;
  for (uint32_t i = 1; i <= name->n_parts; ++i) paths.push_back(part_path(*name, i));
  return paths;
}

std::string_view part_stem(std::string_view path) {
  const auto name = parse_part_name(path);
  return name ? name->stem : path;
}

std::string first_part(const std::string& path) {
  const auto name = parse_part_name(path);
  return name ? part_path(*name, 1) : path;
}

Result<GgufFile> GgufFile::join(std::vector<GgufFile> parts) {
  if (parts.empty()) return Error{ErrorCode::invalid_argument, "there are no parts to join"};
  KINGLET_ASSIGN(const SplitPosition first, read_split(parts.front().header()));
  if (first.n_parts == 1 && parts.size() == 1) return std::move(parts.front());
  for (const GgufFile& part : parts) KINGLET_TRY(check_same_split(first, part.header()));
  std::sort(parts.begin(), parts.end(),
            [](const GgufFile& a, const GgufFile& b) { return index_of(a) < index_of(b); });
  KINGLET_TRY(check_complete(parts, first.n_parts));

  GgufFile whole = std::move(parts.front());
  GgufHeader& header = whole.header_;
  for (size_t i = 1; i < parts.size(); ++i) {
    for (TensorInfo tensor : parts[i].header_.tensors) {
      tensor.offset += header.data_bytes;
      header.tensors.push_back(tensor);
    }
    header.data_bytes += parts[i].header_.data_bytes;
    whole.other_parts_.push_back(std::move(parts[i]));
  }
  KINGLET_TRY(check_tensors(header));
  std::erase_if(header.metadata,
                [](const MetadataEntry& entry) { return entry.key.starts_with("split."); });
  return whole;
}

}  // namespace kinglet
