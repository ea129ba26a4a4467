// In wasm, JavaScript accesses the files.
#if !defined(__wasm__)

#include "base/file_access.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string_view>

namespace kinglet {
namespace {

// A file on the disk that the destructor removes. Its name has letters that few code pages contain
// together, and contains the test's name: tests run in several processes at once.
class TestFile {
 public:
  explicit TestFile(std::string_view content)
      : path_(testing::TempDir() + "kinglet-größe-大-" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".bin") {
    write(content);
  }
  ~TestFile() {
    std::error_code ignored;
    std::filesystem::remove(system_path(), ignored);
  }

  const std::string& path() const { return path_; }
  std::filesystem::path system_path() const { return std::u8string(path_.begin(), path_.end()); }

 private:
  void write(std::string_view content) const {
    std::FILE* const file = open_file(path_, "wb");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(std::fwrite(content.data(), 1, content.size(), file), content.size());
    std::fclose(file);
  }

  std::string path_;
};

std::string read_text_at(std::FILE* file, uint64_t offset, size_t most) {
  std::string text(most, '?');
  const auto n = read_at(file, offset, std::as_writable_bytes(std::span(text)));
  EXPECT_TRUE(n.has_value());
  text.resize(n.value_or(0));
  return text;
}

TEST(FileAccess, OpensANameInUtf8AndReadsAnywhere) {
  const TestFile written("abcdef\r\n\x1Agh");
  EXPECT_TRUE(std::filesystem::exists(written.system_path()));
  std::FILE* const file = open_file(written.path(), "rb");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file_size(file), 11u);
  EXPECT_EQ(file_position(file), 0u);
  EXPECT_EQ(read_text_at(file, 4, 4), "ef\r\n");
  EXPECT_EQ(read_text_at(file, 8, 100), "\x1Agh");
  EXPECT_EQ(read_text_at(file, 11, 1), "");
  EXPECT_EQ(read_text_at(file, 0, 2), "ab");
  std::fclose(file);
  EXPECT_EQ(open_file(written.path() + ".absent", "rb"), nullptr);
}

// The size does not fit a 32-bit offset. On the disk, the file is sparse if the system allows it.
TEST(FileAccess, CountsBytesBeyond4GiB) {
  constexpr uint64_t kBytes = (uint64_t{5} << 30) + 3;
  const TestFile written("first");
  std::error_code error;
  std::filesystem::resize_file(written.system_path(), kBytes, error);
  if (error) GTEST_SKIP() << error.message();
  std::FILE* const file = open_file(written.path(), "rb");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file_size(file), kBytes);
  ASSERT_TRUE(skip_in_file(file, 5));
  ASSERT_TRUE(skip_in_file(file, kBytes - 10));
  EXPECT_EQ(file_position(file), kBytes - 5);
  std::array<char, 10> rest;
  EXPECT_EQ(std::fread(rest.data(), 1, rest.size(), file), 5u);
  EXPECT_EQ(read_text_at(file, uint64_t{1} << 32, 2), std::string(2, '\0'));
  EXPECT_EQ(read_text_at(file, kBytes - 1, 2), std::string(1, '\0'));
  std::fclose(file);
}

}  // namespace
}  // namespace kinglet

#endif
