// BPE: byte-level with every pre-tokenizer, and on characters.
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/format.h"
#include "base/utf8.h"
#include "fuzz/input.h"
#include "fuzz/targets/text.h"
#include "gguf/gguf_builder.h"
#include "text/pretokenizer.h"
#include "text/spelled_space.h"

namespace kinglet::fuzz {
namespace {

// One for each pattern of the table.
constexpr const char* kPretokenizers[] = {
    "default",  "gpt-2",    "starcoder",    "falcon",         "llama-bpe",   "qwen2",
    "gpt-4o",   "tekken",   "deepseek-llm", "deepseek-coder", "deepseek-v3", "spark2_5",
    "minicpm5", "tiny_aya", "youtu",        "kimi-k2",        "seed-coder"};
constexpr size_t kNPretokenizers = std::size(kPretokenizers);

// The spelling of bytes in GPT-2's vocabulary: printable ones as themselves, the others from U+0100
// on.
std::string spelled(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    char32_t next = 0x100;
    const auto is_printable = [](unsigned b) {
      return (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    };
    for (unsigned b = 0; b < byte; ++b) next += is_printable(b) ? 0u : 1u;
    append_utf8(out, is_printable(byte) ? byte : next);
  }
  return out;
}

std::unique_ptr<Tokenizer> make_bpe(std::string_view pretokenizer) {
  constexpr std::pair<const char*, const char*> kMerges[] = {
      {" ", "t"}, {"h", "e"},   {" t", "he"},     {"a", "n"},           {"an", "d"},  {" ", "and"},
      {"1", "2"}, {"12", "3"},  {"\xc3", "\xa9"}, {"\xe4\xb8", "\xad"}, {"\n", "\n"}, {"'", "s"},
      {"a", "a"}, {"aa", "aa"}, {" ", " "},       {"  ", "  "},         {"!", "!"}};
  std::vector<std::string> texts;
  std::vector<std::string> lines;
  for (int byte = 0; byte < 256; ++byte) {
    texts.push_back(spelled(std::string(1, static_cast<char>(byte))));
  }
  for (const auto& [left, right] : kMerges) {
    texts.push_back(spelled(std::string(left) + right));
    lines.push_back(cat(spelled(left), " ", spelled(right)));
  }
  std::vector<int32_t> types(texts.size(), 1);
  texts.emplace_back("<|im_start|>");
  types.push_back(3);
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", "gpt2")
      .set("tokenizer.ggml.pre", pretokenizer)
      .set_array("tokenizer.ggml.tokens", texts)
      .set_array("tokenizer.ggml.token_type", types)
      .set_array("tokenizer.ggml.merges", lines);
  const auto file = builder.build();
  const auto header = parse_gguf_header(file);
  return std::move(Tokenizer::from_gguf(header.value()).value());
}

// A tokenizer of Gemma 4's kind: characters, spaces as U+2581, tokens for bytes.
std::unique_ptr<Tokenizer> make_of_characters() {
  std::vector<std::string> texts = {"<bos>", "<turn|>", "<|channel>"};
  std::vector<int32_t> types = {3, 3, 4};
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", byte);
    texts.emplace_back(text);
    types.push_back(6);
  }
  const std::vector<std::string> lines = {"▁ t", "h e",   "▁t he", "a a",   "aa aa",
                                          "▁ ▁", "▁▁ ▁▁", "中 文", "\n \n", "a ▁t"};
  for (const char* text : {"▁",  "t",  "h",    "e",  "a",    "中", "文",   "\n",   "é",    "\n\n\n",
                           "▁t", "he", "▁the", "aa", "aaaa", "▁▁", "▁▁▁▁", "中文", "\n\n", "a▁t"}) {
    texts.emplace_back(text);
    types.push_back(1);
  }
  GgufBuilder builder;
  builder.set("tokenizer.ggml.model", "gemma4")
      .set_array("tokenizer.ggml.tokens", texts)
      .set_array("tokenizer.ggml.token_type", types)
      .set_array("tokenizer.ggml.merges", lines)
      .set_uint32("tokenizer.ggml.bos_token_id", 0);
  const auto file = builder.build();
  const auto header = parse_gguf_header(file);
  return std::move(Tokenizer::from_gguf(header.value()).value());
}

void check_words(const Pretokenizer& pretokenizer, std::string_view text) {
  size_t n_bytes = 0;
  for (const uint32_t word : split_words(pretokenizer, text)) {
    check(word > 0, "a word is empty");
    n_bytes += word;
  }
  check(n_bytes == text.size(), "the words are not the text");
}

}  // namespace

void bpe(Bytes bytes) {
  static const auto tokenizers = [] {
    std::array<std::unique_ptr<Tokenizer>, kNPretokenizers> made;
    for (size_t i = 0; i < made.size(); ++i) made[i] = make_bpe(kPretokenizers[i]);
    return made;
  }();
  static const auto of_characters = make_of_characters();
  Input input(bytes);
  const uint32_t choice = input.up_to(kNPretokenizers + 1);
  const std::string_view text = input.rest_text();
  if (choice == kNPretokenizers) return check_ids(*tokenizers[0], text);
  if (choice == kNPretokenizers + 1) {
    std::string spaced;
    append_unescaped(text, spaced);
    return check_text(*of_characters, text, spaced);
  }
  check_words(*find_pretokenizer(kPretokenizers[choice]), text);
  check_text(*tokenizers[choice], text, text);
}

}  // namespace kinglet::fuzz
