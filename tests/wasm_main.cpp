// GoogleTest's main() for Emscripten 3.1.6 with a newer Clang, which gives main() another symbol
// than the one that Emscripten looks for.
#include <gtest/gtest.h>

extern "C" int test_main(int argc, char** argv) __asm__("main");

int test_main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
