#include "gguf/unusable.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "gguf/cursor.h"
#include "gguf/header.h"

namespace kinglet {
namespace {

constexpr const char* kTakeGguf =
    "use a GGUF version of the model, which the hub has for most models, or convert it with "
    "llama.cpp's convert_hf_to_gguf.py";
constexpr const char* kUnpack = "unpack it and use the .gguf file in it, if there is one";
constexpr const char* kNoModel = "use the model's .gguf file";
constexpr const char* kOtherAnswer =
    "servers answer so in place of a file that is missing or needs a login: check the address, and "
    "on the hub use /resolve/ in place of /blob/";

struct Format {
  size_t offset;
  std::string_view magic;
  const char* name;
  const char* advice;
};

// The order matters: the first that fits is taken.
constexpr Format kFormats[] = {
    {0, "\x1f\x8b", "a gzip archive", kUnpack},
    {0, "\x28\xb5\x2f\xfd", "a Zstandard archive", kUnpack},
    {0, "\xfd\x37zXZ", "an xz archive", kUnpack},
    {0, "7z\xbc\xaf", "a 7-Zip archive", kUnpack},
    {0, "Rar!", "a RAR archive", kUnpack},
    {257, "ustar", "a tar archive", kUnpack},
    {0, "\x89HDF", "a Keras (HDF5) file", kTakeGguf},
    {4, "TFL3", "a TensorFlow Lite file", kTakeGguf},
    {0, "%PDF", "a PDF document", kNoModel},
    {0, "\x89PNG", "a picture (PNG)", kNoModel},
    {0, "\xff\xd8\xff", "a picture (JPEG)", kNoModel},
    // ggml's older formats stored their magic as a little-endian number, so it is reversed.
    {0, "lmgg", "the older GGML format \"ggml\"", kTakeGguf},
    {0, "fmgg", "the older GGML format \"ggmf\"", kTakeGguf},
    {0, "tjgg", "the older GGML format \"ggjt\"", kTakeGguf},
    {0, "algg", "the older GGML format \"ggla\"", kTakeGguf},
};

// The position of `word`, in lower case, from `begin` on; npos if it is not there.
size_t find_word(std::string_view text, std::string_view word, size_t begin = 0) {
  for (size_t i = begin; i + word.size() <= text.size(); ++i) {
    if (equal_ignoring_case(text.substr(i, word.size()), word)) return i;
  }
  return text.npos;
}

std::string_view without_spaces(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

// The text between `begin` and `end`; empty if they are not there.
std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
  const size_t at = find_word(text, begin);
  if (at == text.npos) return {};
  text.remove_prefix(at + begin.size());
  return text.substr(0, find_word(text, end));
}

uint8_t byte_at(std::string_view text, size_t i) { return static_cast<uint8_t>(text[i]); }

// Source: safetensors' README. A u64, the bytes of a JSON object that follows.
bool is_safetensors(std::string_view start) {
  constexpr uint64_t kMostHeaderBytes = 100'000'000;  // the library's own limit
  return start.size() > sizeof(uint64_t) && start[sizeof(uint64_t)] == '{' &&
         load<uint64_t>(std::as_bytes(std::span(start.data(), start.size()))) <= kMostHeaderBytes;
}

// Source: onnx.proto. Field 1 is the version (small), then comes one of fields 2 to 8.
bool is_onnx(std::string_view start) {
  constexpr std::string_view kNextFields = "\x12\x1a\x22\x28\x32\x3a\x42";
  return start.size() > 3 && start[0] == 0x08 && byte_at(start, 1) < 32 &&
         kNextFields.find(start[2]) != kNextFields.npos;
}

// Protocols 2 to 5; files of other objects than models begin in the same way.
bool is_pickle(std::string_view start) {
  return start.size() > 1 && byte_at(start, 0) == 0x80 && byte_at(start, 1) >= 2 &&
         byte_at(start, 1) <= 5;
}

// A zip file's first entry begins with 30 bytes, then its name. torch.save() writes data.pkl first.
bool is_torch_zip(std::string_view start) {
  return start.substr(0, 256).find("data.pkl") != start.npos;
}

std::string found(std::string_view what, const char* advice) {
  return cat("the file is ", what, ", expected a GGUF file: ", advice);
}

std::string explain_page(std::string_view start) {
  // The tag may have attributes, and the title line breaks around it.
  std::string_view title = without_spaces(between(between(start, "<title", "</title"), ">", "<"));
  title = title.substr(0, title.find_first_of("\r\n"));
  const std::string page = title.empty() ? "a web page" : cat("a web page, ", in_quotes(title));
  return found(page, kOtherAnswer);
}

// Source: git-lfs, docs/spec.md. Lines of a key and a value; one is the size of the real file.
std::string explain_lfs_pointer(std::string_view start) {
  const auto size = parse_decimal<uint64_t>(between(start, "\nsize ", "\n"));
  const std::string of =
      size ? cat(" to ", fixed_text(static_cast<double>(*size) / 1e6, 1), " MB") : "";
  return found(cat("a Git LFS pointer", of),
               "run git lfs pull, or download the file itself: on the hub with /resolve/ in place "
               "of /raw/");
}

}  // namespace

std::string explain_other_format(std::string_view start) {
  if (start.empty()) return "the file is empty, expected a GGUF file: download it again";
  if (start.starts_with("version https://git-lfs")) return explain_lfs_pointer(start);
  if (is_safetensors(start)) return found("in the safetensors format", kTakeGguf);
  if (start.starts_with("PK\x03\x04")) {
    return is_torch_zip(start) ? found("a PyTorch checkpoint", kTakeGguf)
                               : found("a zip archive", kUnpack);
  }
  if (is_pickle(start)) return found("a pickle, as of PyTorch", kTakeGguf);
  for (const Format& format : kFormats) {
    if (start.substr(std::min(format.offset, start.size())).starts_with(format.magic)) {
      return found(format.name, format.advice);
    }
  }
  if (is_onnx(start)) return found("in the ONNX format", kTakeGguf);
  const std::string_view text = without_spaces(start);
  if (find_word(text.substr(0, 9), "<!doctype") == 0 ||
      find_word(text.substr(0, 5), "<html") == 0) {
    return explain_page(text);
  }
  if (text.starts_with("<?xml") || text.starts_with('{')) {
    return found(cat("a text, ", in_quotes(text)), kOtherAnswer);
  }
  constexpr size_t kShownBytes = 16;
  return cat("the file begins with ", in_quotes(start.substr(0, kShownBytes)), ", expected ",
             in_quotes(kGgufMagic), " (byte 0): ", kNoModel);
}

std::string explain_incomplete(uint64_t n_bytes, uint64_t n_expected) {
  struct Unit {
    uint64_t bytes;
    const char* name;
  };
  constexpr Unit kUnits[] = {{1'000'000'000, " GB"}, {1'000'000, " MB"}, {1000, " kB"}};
  std::string sizes = cat(n_bytes, " of ", n_expected, " bytes");
  for (const Unit& unit : kUnits) {
    if (n_expected < unit.bytes) continue;
    const auto text = [&](uint64_t n) {
      const double size = static_cast<double>(n) / static_cast<double>(unit.bytes);
      return fixed_text(size, size < 100 ? 1 : 0);
    };
    // If only a few bytes are missing, the exact numbers show it.
    if (text(n_bytes) != text(n_expected)) {
      sizes = cat(text(n_bytes), " of ", text(n_expected), unit.name);
    }
    break;
  }
  return cat("the file is incomplete: ", sizes, "; download it again");
}

}  // namespace kinglet
