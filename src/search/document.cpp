#include "search/document.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "base/finite.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "tensor/kv_kind.h"

namespace kinglet {
namespace {

constexpr Half kMissing = {0x7e00};  // NaN
constexpr uint32_t kRecordVersion = 1;

struct RecordHeader {
  char magic[4] = {'K', 'G', 'L', 'P'};
  uint32_t version = kRecordVersion;
  uint64_t checksum = 0;  // hash_bytes of all bytes after it
  uint64_t settings = 0;
  uint32_t n_numbers = 0;
  uint32_t n_passages = 0;
  uint64_t id_bytes = 0;
  uint64_t info_bytes = 0;
  uint64_t text_bytes = 0;
};
static_assert(sizeof(RecordHeader) == 56);

constexpr size_t kChecked = offsetof(RecordHeader, settings);

uint64_t checksum_of(std::span<const std::byte> record) {
  return hash_bytes(record.subspan(kChecked));
}

uint64_t row_bytes_of(uint64_t n_numbers) { return round_up(n_numbers, kKvBlock) * sizeof(Half); }

Error corrupt(std::string_view problem) {
  return {ErrorCode::corrupt, cat("not a document of a search index: ", problem)};
}

// Copies bytes to or from the places of a record, one after the other.
template <class Byte>
class Places {
 public:
  explicit Places(std::span<Byte> record) : rest_(record) {}

  std::span<Byte> take(uint64_t n_bytes) {
    const auto taken = rest_.first(static_cast<size_t>(n_bytes));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  size_t n_left() const { return rest_.size(); }

 private:
  std::span<Byte> rest_;
};

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Returns the size of a record, if 64 bits hold it.
std::optional<uint64_t> bytes_of(const RecordHeader& header) {
  const auto n_rows = checked_mul(header.n_passages, row_bytes_of(header.n_numbers));
  if (!n_rows) return std::nullopt;
  std::optional<uint64_t> sum = sizeof header + uint64_t{header.n_passages} * sizeof(Passage);
  for (const uint64_t more : {*n_rows, header.id_bytes, header.info_bytes, header.text_bytes}) {
    if (sum) sum = checked_add(*sum, more);
  }
  return sum;
}

Result<RecordHeader> read_header(std::span<const std::byte> bytes) {
  const RecordHeader expected;
  RecordHeader header;
  if (bytes.size() < sizeof header) return corrupt(cat("it has only ", bytes.size(), " bytes"));
  std::memcpy(&header, bytes.data(), sizeof header);
  if (!std::equal(header.magic, header.magic + 4, expected.magic)) {
    return corrupt("its first bytes are others");
  }
  if (header.version != kRecordVersion) {
    return Error{ErrorCode::unsupported_version,
                 cat("a document of a search index has version ", header.version, ", expected ",
                     kRecordVersion)};
  }
  if (header.n_passages > 0 && header.n_numbers == 0) return corrupt("its vectors have no numbers");
  if (bytes_of(header) != bytes.size()) {
    return corrupt(cat("it has ", bytes.size(), " bytes, but its header describes another size"));
  }
  if (header.checksum != checksum_of(bytes)) return corrupt("its checksum is wrong");
  return header;
}

}  // namespace

Result<PassageVectors> PassageVectors::create(size_t n_rows, size_t n_numbers) {
  constexpr std::string_view kPurpose = "vectors of passages";
  const uint64_t n_bytes = checked_mul(n_rows, row_bytes_of(n_numbers)).value_or(UINT64_MAX);
  KINGLET_ASSIGN(AlignedBuffer rows, AlignedBuffer::allocate(n_bytes, kPurpose));
  KINGLET_ASSIGN(AlignedBuffer codes, AlignedBuffer::allocate(n_bytes / sizeof(Half), kPurpose));
  PassageVectors vectors(std::move(rows), std::move(codes), n_rows, n_numbers);
  std::fill(vectors.bytes().begin(), vectors.bytes().end(), std::byte{0});
  for (size_t i = 0; i < n_rows; ++i) *vectors.first(i) = kMissing;
  vectors.encode_rows();
  return vectors;
}

size_t PassageVectors::row_bytes() const { return static_cast<size_t>(row_bytes_of(n_numbers_)); }

Half* PassageVectors::first(size_t row) const {
  return reinterpret_cast<Half*>(const_cast<std::byte*>(rows_.data()) + row * row_bytes());
}

bool PassageVectors::has(size_t row) const { return first(row)->bits != kMissing.bits; }

void PassageVectors::set(size_t row, std::span<const float> vector) {
  std::transform(vector.begin(), vector.end(), first(row), [](float x) { return to_half(x); });
  encode(row, vector.data());
}

void PassageVectors::copy_row(size_t row, const PassageVectors& from, size_t from_row) {
  std::memcpy(first(row), from.first(from_row), row_bytes());
  const size_t n = row_bytes() / sizeof(Half);
  std::memcpy(codes_.data() + row * n, from.codes_.data() + from_row * n, n);
  scales_[row] = from.scales_[from_row];
}

bool PassageVectors::encode_rows() {
  if (scales_.empty()) return true;  // n_numbers_ may be anything then
  std::vector<float> numbers(row_bytes() / sizeof(Half));
  for (size_t row = 0; row < scales_.size(); ++row) {
    const Half* from = first(row);
    std::transform(from, from + numbers.size(), numbers.begin(),
                   [](Half x) { return to_float(x); });
    if (!has(row)) std::fill(numbers.begin(), numbers.end(), 0.0f);
    if (!all_finite(numbers)) return false;
    encode(row, numbers.data());
  }
  return true;
}

void PassageVectors::encode(size_t row, const float* numbers) {
  const size_t stride = row_bytes() / sizeof(Half);
  std::byte* codes = codes_.data() + row * stride;
  std::fill(codes + n_numbers_, codes + stride, std::byte{0});
  kv_kind_info(KvKind::int8).write_row(numbers, n_numbers_, codes, &scales_[row]);
}

size_t SearchDocument::n_pending() const {
  size_t n = 0;
  for (size_t i = 0; i < passages.size(); ++i) n += vectors.has(i) ? 0 : 1;
  return n;
}

std::string SearchDocument::key() const { return hexadecimal(hash_text(id), 16); }

Result<AlignedBuffer> write_record(const SearchDocument& document, uint64_t settings) {
  RecordHeader header;
  header.settings = settings;
  header.n_numbers = static_cast<uint32_t>(document.vectors.n_numbers());
  header.n_passages = static_cast<uint32_t>(document.passages.size());
  header.id_bytes = document.id.size();
  header.info_bytes = document.info.size();
  header.text_bytes = document.text.size();
  KINGLET_ASSIGN(AlignedBuffer record,
                 AlignedBuffer::allocate(*bytes_of(header), "a document of a search index"));
  Places<std::byte> places(record.bytes());
  const auto put = [&](std::span<const std::byte> bytes) {
    std::copy(bytes.begin(), bytes.end(), places.take(bytes.size()).begin());
  };
  put(std::as_bytes(std::span(&header, 1)));
  put(document.vectors.bytes());
  put(std::as_bytes(std::span(document.passages)));
  for (const std::string* text : {&document.id, &document.info, &document.text}) {
    put(std::as_bytes(std::span(text->data(), text->size())));
  }
  header.checksum = checksum_of(record.bytes());
  std::memcpy(record.data(), &header, sizeof header);
  return record;
}

Result<SearchRecord> read_record(std::span<const std::byte> bytes) {
  KINGLET_ASSIGN(const RecordHeader header, read_header(bytes));
  Places<const std::byte> places(bytes);
  places.take(sizeof header);
  KINGLET_ASSIGN(PassageVectors vectors,
                 PassageVectors::create(header.n_passages, header.n_numbers));
  const auto rows = places.take(vectors.bytes().size());
  std::copy(rows.begin(), rows.end(), vectors.bytes().begin());
  if (!vectors.encode_rows()) return corrupt("a number of its vectors is not finite");
  std::vector<Passage> passages(header.n_passages);
  const auto places_of_passages = places.take(passages.size() * sizeof(Passage));
  if (!passages.empty()) {
    std::memcpy(passages.data(), places_of_passages.data(), places_of_passages.size());
  }
  std::string id = text_of(places.take(header.id_bytes));
  std::string info = text_of(places.take(header.info_bytes));
  std::string text = text_of(places.take(header.text_bytes));
  for (const Passage& passage : passages) {
    if (passage.begin > passage.end || passage.end > text.size()) {
      return corrupt("a passage is not in its text");
    }
  }
  for (const std::string* one : {&id, &info, &text}) {
    if (find_ill_formed(*one) != std::string::npos) return corrupt("its text is not UTF-8");
  }
  return SearchRecord{
      {std::move(id), std::move(info), std::move(text), std::move(passages), std::move(vectors)},
      header.settings};
}

}  // namespace kinglet
