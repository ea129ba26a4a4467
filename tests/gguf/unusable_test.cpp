#include "gguf/unusable.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kinglet {
namespace {

using namespace std::string_literals;

// A small file of the format that torch.save() writes, and what zipfile.write() writes.
std::string zip_of(const std::string& name) {
  std::string head = "PK\x03\x04"s + std::string(22, '\0');
  head += static_cast<char>(name.size());
  return head + "\0\0\0"s + name + "data";
}

std::string safetensors(const std::string& json) {
  return std::string(1, static_cast<char>(json.size())) + std::string(7, '\0') + json;
}

TEST(Unusable, NamesTheFormatWhatWasExpectedAndWhatToDo) {
  const std::string lfs =
      "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 144811234\n";
  const std::string page =
      "\xef\xbb\xbf\n<!DOCTYPE html>\n<html><head><TITLE data-x>\n Sign in \n</TITLE></head>";
  struct Case {
    std::string start;
    std::string found;
    std::string advice;
  };
  for (const auto& [start, found, advice] : std::vector<Case>{
           {lfs, "a Git LFS pointer to 144.8 MB", "git lfs pull"},
           {lfs.substr(0, 24), "a Git LFS pointer", "/resolve/"},
           {safetensors("{\"__metadata__\":{}}"), "in the safetensors format", "convert"},
           {zip_of("model/archive/data.pkl"), "a PyTorch checkpoint", "a GGUF version"},
           {zip_of("notes.txt"), "a zip archive", "unpack it"},
           {"\x80\x02\x8a\x0al\xfc\x9c", "a pickle, as of PyTorch", "a GGUF version"},
           {"\x08\x07\x12\x07pytorch", "in the ONNX format", "a GGUF version"},
           {"\x1f\x8b\x08", "a gzip archive", "unpack it"},
           {std::string(257, '\0') + "ustar", "a tar archive", "unpack it"},
           {"%PDF-1.7", "a PDF document", "the model's .gguf file"},
           {"tjgg\x01", "the older GGML format \"ggjt\"", "convert"},
           {page, "a web page, \"Sign in \"", "/resolve/"},
           {"<html><body>404", "a web page", "check the address"},
           {"{\"error\":1}", "a text, \"{\"error\":1}\"", "login"},
           {"<?xml version='1'?>", "a text, \"<?xml version='1'?>\"", "login"},
       }) {
    const std::string message = explain_other_format(start);
    EXPECT_TRUE(message.starts_with("the file is " + found + ", expected a GGUF file: "))
        << message;
    EXPECT_NE(message.find(advice), message.npos) << message;
  }
}

TEST(Unusable, ShowsTheFirstBytesOfAnythingElse) {
  for (const auto& [start, shown] :
       {std::pair("Once upon a time there was"s, "\"Once upon a time\""),
        std::pair("GG\x01"s, "\"GG\\x01\""), std::pair("\x08\x07"s, "\"\\x08\\x07\""),
        std::pair("\x80\x07zz"s, "\"\\x80\\x07zz\""),
        std::pair(std::string(8, '\xff') + "{}", "\"\\xff\\xff")}) {
    const std::string message = explain_other_format(start);
    EXPECT_TRUE(message.starts_with("the file begins with "s + shown)) << message;
    EXPECT_NE(message.find("expected \"GGUF\" (byte 0): use the model's .gguf file"), message.npos);
  }
  EXPECT_EQ(explain_other_format(""), "the file is empty, expected a GGUF file: download it again");
}

// A download may have brought any number of bytes.
TEST(Unusable, ReadsNoFurtherThanTheBytesThatAreThere) {
  const std::string starts[] = {"version https://git-lfs.github.com/spec/v1\nsize 1",
                                zip_of("a"),
                                safetensors("{}"),
                                "<!doctype html><title>a</title>",
                                "\x08\x07\x12",
                                "\x80\x02",
                                std::string(257, '\0') + "ustar"};
  for (const std::string& start : starts) {
    for (size_t n = 0; n <= start.size(); ++n) {
      const std::string exact(start.data(), n);
      EXPECT_NE(explain_other_format(exact).find("expected"), std::string::npos);
    }
  }
}

TEST(Unusable, SaysHowMuchOfAFileIsThere) {
  struct Case {
    uint64_t n_bytes;
    uint64_t n_expected;
    std::string sizes;
  };
  for (const auto& [n_bytes, n_expected, sizes] : std::vector<Case>{
           {3'100'000, 145'000'000, "3.1 of 145 MB"},
           {0, 2'500'000'000, "0.0 of 2.5 GB"},
           {999, 1000, "999 of 1000 bytes"},
           {500, 99'000, "0.5 of 99.0 kB"},
           {12, 24, "12 of 24 bytes"},
           {144'999'999, 145'000'000, "144999999 of 145000000 bytes"},
       }) {
    EXPECT_EQ(explain_incomplete(n_bytes, n_expected),
              "the file is incomplete: " + sizes + "; download it again");
  }
}

}  // namespace
}  // namespace kinglet
