// The headers of real files with one mistake: each byte in turn, each length, each offset at which
// a download may end. Every header is either read or refused with a message, and no header
// allocates more memory than its own bytes justify.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "gguf/file.h"
#include "gguf/gguf_builder.h"
#include "model/config.h"
#include "support.h"
#include "text/tokenizer.h"

namespace kinglet {
namespace {

// Every architecture; files of different weight types differ in few bytes.
constexpr const char* kFixtures[] = {"arch/gemma",
                                     "arch/gemma2",
                                     "arch/gemma2-caps",
                                     "arch/gemma3",
                                     "arch/gemma3-linear",
                                     "arch/gpt2",
                                     "arch/granite",
                                     "arch/granite-unrotated",
                                     "arch/granitemoe",
                                     "arch/llama",
                                     "arch/llama3",
                                     "arch/llama-linear",
                                     "arch/llama-yarn",
                                     "arch/mixtral",
                                     "arch/olmo2",
                                     "arch/olmo2-window",
                                     "arch/olmoe",
                                     "arch/phi2",
                                     "arch/phi3",
                                     "arch/phi3-long",
                                     "arch/phi3-short",
                                     "arch/qwen2",
                                     "arch/qwen2-yarn",
                                     "arch/qwen3",
                                     "arch/qwen3-wide-head",
                                     "arch/qwen3moe",
                                     "arch/smollm3",
                                     "arch/stablelm",
                                     "arch/stablelm-parallel",
                                     "arch/starcoder2",
                                     "hybrid/falcon-h1",
                                     "hybrid/granitehybrid-moe",
                                     "hybrid/lfm2moe",
                                     "hybrid/mamba2",
                                     "arch/apertus",
                                     "arch/arcee",
                                     "arch/cohere2",
                                     "arch/ernie4_5",
                                     "arch/exaone",
                                     "arch/exaone4",
                                     "arch/glm4-sections",
                                     "arch/hunyuan-dense",
                                     "arch/internlm2",
                                     "arch/maincoder",
                                     "arch/minicpm",
                                     "arch/minicpm-long",
                                     "arch/gemma4",
                                     "arch/mistral3",
                                     "arch/mistral3-moe",
                                     "arch/nemotron",
                                     "arch/seed_oss",
                                     "arch/k2-horizon",
                                     "hybrid/lfm3",
                                     "hybrid/nemotron_h-Q4_0",
                                     "hybrid/qwen35-mtp",
                                     "hybrid/qwen35moe",
                                     "quant/llama-Q4_K_M",
                                     "quant/llama-Q8_0"};

struct HeaderBytes {
  Bytes bytes;
  uint64_t file_bytes;
};

HeaderBytes read_header(const std::string& name) {
  Bytes file = read_fixture(name + ".gguf");
  const auto header = parse_gguf_header(file, file.size());
  EXPECT_TRUE(header.ok()) << name;
  const uint64_t file_bytes = file.size();
  if (header.ok()) file.resize(static_cast<size_t>(header.value().data_offset));
  return {std::move(file), file_bytes};
}

// Does what a page does before it downloads the weights. Returns whether the header is accepted.
bool open(std::span<const std::byte> bytes, uint64_t file_bytes, bool with_tokenizer) {
  const auto header = parse_gguf_header(bytes, file_bytes);
  if (!header.ok()) {
    EXPECT_FALSE(header.error().message.empty());
    return false;
  }
  EXPECT_LE(header.value().data_offset + header.value().data_bytes, file_bytes);
  const auto config = read_config(header.value());
  EXPECT_TRUE(config.ok() || !config.error().message.empty());
  if (with_tokenizer) {
    const auto tokenizer = Tokenizer::from_gguf(header.value());
    if (tokenizer.ok()) (void)tokenizer.value()->encode("a word");
  }
  return true;
}

// Finds the offsets of all lengths, counts, sizes and offsets in a header, with a parser of its
// own.
class Lengths {
 public:
  explicit Lengths(const Bytes& bytes) : bytes_(bytes) {
    const auto n_tensors = number(8);
    const auto n_metadata = number(8);
    for (uint64_t i = 0; i < n_metadata; ++i) {
      string();
      value(plain<uint32_t>());
    }
    for (uint64_t i = 0; i < n_tensors; ++i) {
      string();
      const auto n_dims = number(4);
      for (uint64_t d = 0; d < n_dims; ++d) number(8);
      at_ += 4;
      number(8);
    }
  }

  struct Place {
    size_t offset;
    size_t n_bytes;
  };
  const std::vector<Place>& places() const { return places_; }

 private:
  template <class T>
  T plain() {
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  uint64_t number(size_t n_bytes) {
    places_.push_back({at_, n_bytes});
    return n_bytes == 8 ? plain<uint64_t>() : plain<uint32_t>();
  }
  void string() { at_ += static_cast<size_t>(number(8)); }
  void value(uint32_t type) {
    if (type == static_cast<uint32_t>(ValueType::string)) return string();
    if (type == static_cast<uint32_t>(ValueType::array)) {
      const auto element = plain<uint32_t>();
      const uint64_t n = number(8);
      for (uint64_t i = 0; i < n; ++i) value(element);
      return;
    }
    at_ += value_type_bytes(static_cast<ValueType>(type));
  }

  const Bytes& bytes_;
  size_t at_ = 8;  // after magic and version
  std::vector<Place> places_;
};

class HostileHeader : public testing::TestWithParam<const char*> {};

TEST_P(HostileHeader, SurvivesEachFlippedByte) {
  auto [bytes, file_bytes] = read_header(GetParam());
  size_t n_accepted = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const std::byte before = bytes[i];
    bytes[i] ^= std::byte{0xff};
    n_accepted += open(bytes, file_bytes, i % 16 == 0) ? 1 : 0;
    bytes[i] = before;
  }
  // A changed letter of a token is not an error; a changed magic is.
  EXPECT_GT(n_accepted, 0u);
  EXPECT_LT(n_accepted, bytes.size());
}

TEST_P(HostileHeader, SurvivesEveryLength) {
  auto [bytes, file_bytes] = read_header(GetParam());
  const Lengths lengths(bytes);
  for (const auto& [offset, n_bytes] : lengths.places()) {
    const Bytes before(bytes.begin() + static_cast<ptrdiff_t>(offset),
                       bytes.begin() + static_cast<ptrdiff_t>(offset + n_bytes));
    for (const uint64_t length : {uint64_t{0}, uint64_t{1}, UINT64_MAX, UINT64_MAX - 1}) {
      std::memcpy(bytes.data() + offset, &length, n_bytes);
      open(bytes, file_bytes, true);
    }
    std::copy(before.begin(), before.end(), bytes.begin() + static_cast<ptrdiff_t>(offset));
  }
  EXPECT_TRUE(open(bytes, file_bytes, true)) << "the header is as it was";
}

TEST_P(HostileHeader, KnowsEveryPrefixForOne) {
  const auto [bytes, file_bytes] = read_header(GetParam());
  // The header can be parsed without the padding before the data.
  const size_t end = bytes.size() - kDefaultAlignment;
  for (size_t n = 0; n < end; ++n) {
    const auto prefix = std::span<const std::byte>(bytes).first(n);
    uint64_t needed = 0;
    const auto begun = parse_gguf_header(prefix, file_bytes, &needed);
    ASSERT_FALSE(begun.ok()) << n;
    ASSERT_EQ(begun.error().code, ErrorCode::truncated) << n;
    ASSERT_GT(needed, n);
    ASSERT_LE(needed, bytes.size());
    if (n % 8 != 0) continue;
    const auto whole = parse_gguf_header(prefix, n, &needed);
    ASSERT_FALSE(whole.ok()) << n;
    ASSERT_EQ(whole.error().code, n == 0 ? ErrorCode::not_gguf : ErrorCode::truncated) << n;
    ASSERT_EQ(needed, 0u) << "no more bytes will come";
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, HostileHeader, testing::ValuesIn(kFixtures),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace kinglet
