// Runs each target on every input in tests/fuzz/corpus/TARGET: the seeds, and inputs that once
// found a bug.
#include <dirent.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/format.h"
#include "fuzz/targets.h"
#include "support.h"

namespace kinglet::fuzz {

void report(std::string_view what) { ADD_FAILURE() << what; }

namespace {

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> names;
  if (DIR* const open = opendir(folder.c_str())) {
    while (const dirent* entry = readdir(open)) {
      if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    }
    closedir(open);
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Replay : public testing::TestWithParam<Target> {};

TEST_P(Replay, PassesEveryKeptInput) {
  const std::string folder = cat("../fuzz/corpus/", GetParam().name, "/");
  const auto names = files_of(fixture_path(folder));
  ASSERT_FALSE(names.empty()) << "no inputs in " << folder;
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const std::vector<std::byte> bytes = read_fixture(folder + name);
    GetParam().run({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
}

TEST_P(Replay, PassesNoInput) { GetParam().run({}); }

INSTANTIATE_TEST_SUITE_P(Fuzz, Replay, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace kinglet::fuzz
