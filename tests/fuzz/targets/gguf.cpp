// Reading a header as a whole and reading a stream of the same bytes in pieces must give the same
// result.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "fuzz/input.h"
#include "gguf/file.h"
#include "gguf/split.h"
#include "model/config.h"

namespace kinglet::fuzz {
namespace {

// If a stream's size is unknown, the loader believes the header. Larger data sections are not tried
// in this way.
constexpr uint64_t kMaxUnannounced = 1 << 24;

Result<GgufFile> stream_file(Bytes file, std::optional<uint64_t> announced, Bytes piece_sizes) {
  GgufLoader loader(announced);
  size_t n_pieces = 0;
  while (!file.empty()) {
    const size_t most = piece_sizes.empty()
                            ? file.size()
                            : piece_sizes[n_pieces++ % piece_sizes.size()] + size_t{1};
    KINGLET_ASSIGN(const auto room, loader.reserve(most));
    if (room.empty()) break;
    check(room.size() <= most, "reserve() gave more than it was asked for");
    const size_t n = std::min(room.size(), file.size());
    std::copy_n(std::as_bytes(file).begin(), n, room.begin());
    KINGLET_TRY(loader.commit(n));
    file = file.subspan(n);
  }
  return loader.finish();
}

bool same_tensors(GgufFile& a, GgufFile& b) {
  if (a.header().tensors.size() != b.header().tensors.size()) return false;
  for (size_t i = 0; i < a.header().tensors.size(); ++i) {
    const TensorView x = a.tensor(a.header().tensors[i]);
    const TensorView y = b.tensor(b.header().tensors[i]);
    const bool same = x.name == y.name && x.type == y.type && x.shape == y.shape &&
                      std::equal(x.bytes.begin(), x.bytes.end(), y.bytes.begin(), y.bytes.end());
    if (!same) return false;
  }
  return true;
}

bool same_metadata(const GgufHeader& a, const GgufHeader& b) {
  return std::equal(a.metadata.begin(), a.metadata.end(), b.metadata.begin(), b.metadata.end(),
                    [](const MetadataEntry& x, const MetadataEntry& y) {
                      return x.key == y.key && x.value.type() == y.value.type() &&
                             std::equal(x.value.bytes().begin(), x.value.bytes().end(),
                                        y.value.bytes().begin(), y.value.bytes().end());
                    });
}

// Calls every accessor of a value.
void read_value(const MetadataValue& value) {
  (void)value.as_uint();
  (void)value.as_int();
  (void)value.as_float();
  (void)value.as_bool();
  (void)value.as_string();
  if (const auto array = value.as_array()) {
    array->for_each([](uint64_t, const MetadataValue& element) { read_value(element); });
  }
}

void read_header(const GgufHeader& header) {
  for (const MetadataEntry& entry : header.metadata) {
    read_value(entry.value);
    check(header.find(entry.key) != nullptr, "a key is not found");
    (void)header.get_uint(entry.key, 0);
    (void)header.get_float(entry.key, 0);
    (void)header.get_string(entry.key, "");
    (void)header.require_array(entry.key, ValueType::string);
  }
  (void)read_split(header);
  (void)read_config(header);
}

void check_same(Result<GgufFile>& whole, Result<GgufFile>& pieces) {
  check(whole.ok() == pieces.ok(), "whole and in pieces, one is read and the other is not");
  if (!whole.ok()) {
    check(whole.error().message == pieces.error().message, "whole and in pieces, errors differ");
    check(!whole.error().message.empty(), "an error without words");
    return;
  }
  check(same_metadata(whole.value().header(), pieces.value().header()), "metadata differ");
  check(same_tensors(whole.value(), pieces.value()), "tensors differ");
}

}  // namespace

void gguf(Bytes bytes) {
  Input input(bytes);
  const Bytes piece_sizes = input.take(input.up_to(4));
  const Bytes file = input.rest();

  auto whole = stream_file(file, file.size(), {});
  auto pieces = stream_file(file, file.size(), piece_sizes);
  check_same(whole, pieces);
  if (whole.ok()) read_header(whole.value().header());

  const auto header = parse_gguf_header(std::as_bytes(file));
  if (header.ok() && header.value().data_bytes > kMaxUnannounced) return;
  auto unannounced = stream_file(file, std::nullopt, piece_sizes);
  check(unannounced.ok() == whole.ok(), "the announced size decides");
}

}  // namespace kinglet::fuzz
