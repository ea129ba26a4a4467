// libFuzzer's entry point, compiled once for each target.
#include <cstdio>

#include "fuzz/targets.h"

namespace kinglet::fuzz {

void report(std::string_view what) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(what.size()), what.data());
  __builtin_trap();
}

}  // namespace kinglet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kinglet::fuzz::KINGLET_FUZZ_TARGET({data, size});
  return 0;
}
