#include "hub/repository.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/format.h"

namespace kinglet {
namespace {

using Paths = std::vector<std::string>;

TEST(HubPaths, AreThoseThatAreHarmless) {
  const auto paths = [](std::string_view json) { return hub_paths(json).value(); };
  EXPECT_EQ(paths(R"({"siblings": [{"rfilename": "a"}, {}, {"rfilename": 5}]})"), Paths{"a"});
  EXPECT_EQ(paths(R"({"siblings": [null, "a", {"rfilename": "b/c..d.gguf"}]})"),
            Paths{"b/c..d.gguf"});
  for (const char* path : {"../a.gguf", "b/../../a.gguf", "./a.gguf", "b/.../a.gguf", "/a.gguf",
                           "b//a.gguf", "C:/a.gguf", "b\\\\a.gguf", "a\\u001b[2J.gguf", "a\\n.gguf",
                           "a\\u007f.gguf", "a\\u009b.gguf"}) {
    EXPECT_EQ(paths(cat(R"({"siblings": [{"rfilename": ")", path, "\"}]}")), Paths()) << path;
  }
  for (const char* other : {"", "<html>", "null", "5", "[]", "{}", R"({"siblings": "a"})"}) {
    EXPECT_EQ(hub_paths(other).error().code, ErrorCode::io) << other;
  }
}

const Paths kFiles = {"config.json",
                      "x-Q2_K.gguf",
                      "x-Q4_K_M.gguf",
                      "x-UD-Q4_K_M.gguf",
                      "x.IQ4_XS.gguf",
                      "x-Q8_0-00001-of-00002.gguf",
                      "x-Q8_0-00002-of-00002.gguf",
                      "mmproj-x-F16.gguf",
                      "imatrix_Q6_K.gguf",
                      "BF16/x-BF16.gguf"};

TEST(HubModel, IsTheFileOfAType) {
  const auto picked = [](const Paths& paths, std::string_view type) {
    return pick_file(paths, type, "a/b").value();
  };
  EXPECT_EQ(picked(kFiles, "Q4_K_M"), "x-Q4_K_M.gguf");
  EXPECT_EQ(picked(kFiles, "q4_k_m"), "x-Q4_K_M.gguf");
  EXPECT_EQ(picked(kFiles, "UD-Q4_K_M"), "x-UD-Q4_K_M.gguf");
  EXPECT_EQ(picked(kFiles, "IQ4_XS"), "x.IQ4_XS.gguf");
  EXPECT_EQ(picked(kFiles, "Q8_0"), "x-Q8_0-00001-of-00002.gguf");
  EXPECT_EQ(picked(kFiles, "BF16"), "BF16/x-BF16.gguf");
  EXPECT_EQ(picked(kFiles, ""), "x-Q4_K_M.gguf");
  EXPECT_EQ(picked({"README.md", "model.gguf"}, ""), "model.gguf");
  // A whole file may have the name of a later part.
  EXPECT_EQ(picked({"x-Q8_0-00002-of-00002.gguf"}, "Q8_0"), "x-Q8_0-00002-of-00002.gguf");
  EXPECT_EQ(picked({"x-Q8_0-00003-of-00002.gguf"}, "Q8_0"), "x-Q8_0-00003-of-00002.gguf");
}

TEST(HubModel, IsNotGuessed) {
  const auto refused = [](const Paths& paths, std::string_view type, std::string_view message) {
    const auto found = pick_file(paths, type, "a/b");
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, ErrorCode::not_found);
    EXPECT_NE(found.error().message.find(message), std::string::npos) << found.error().message;
  };
  refused(kFiles, "F16",
          "a/b has no such file for a model of type F16; name one of: x-Q2_K.gguf, ");
  refused(kFiles, "Q4", "no such file");
  refused({"a-Q8_0.gguf", "b-Q8_0.gguf"}, "Q8_0", "several files");
  refused({"a-F16.gguf", "b-F16.gguf"}, "", "no such file for a model;");
  refused({"README.md"}, "", "it has no GGUF file");
}

TEST(HubReader, IsTheMmprojFileOfAUsualType) {
  const auto picked = [](const Paths& paths, std::string_view type) {
    return pick_reader(paths, type, "a/b").value();
  };
  EXPECT_EQ(picked({"x-Q8_0.gguf", "mmproj-x-F16.gguf", "mmproj-x-Q8_0.gguf"}, ""),
            "mmproj-x-Q8_0.gguf");
  EXPECT_EQ(picked({"x-Q8_0.gguf", "x-mmproj-F32.gguf", "MMPROJ-f16.GGUF"}, ""), "MMPROJ-f16.GGUF");
  EXPECT_EQ(picked({"x-Q8_0.gguf", "a/mmproj.gguf"}, ""), "a/mmproj.gguf");
  EXPECT_EQ(picked({"mmproj-x-F16.gguf", "mmproj-x-BF16.gguf"}, "BF16"), "mmproj-x-BF16.gguf");
}

TEST(HubReader, IsNotGuessed) {
  const auto refused = [](const Paths& paths, std::string_view type, std::string_view message) {
    const auto found = pick_reader(paths, type, "a/b");
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, ErrorCode::not_found);
    EXPECT_NE(found.error().message.find(message), std::string::npos) << found.error().message;
  };
  refused({"x-Q8_0.gguf", "mmproj/x.gguf"}, "", "a/b has no mmproj file");
  refused({"mmproj-F32.gguf", "mmproj-BF16.gguf"}, "", "one of: mmproj-F32.gguf, mmproj-BF16.gguf");
  refused({"mmproj-F32.gguf"}, "Q8_0", "set the option mmproj to one of: mmproj-F32.gguf");
}

}  // namespace
}  // namespace kinglet
