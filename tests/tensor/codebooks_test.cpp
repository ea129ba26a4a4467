#include "tensor/codebooks.h"

#include <gtest/gtest.h>

#include <array>

namespace kinglet {
namespace {

struct Book {
  const char* name;
  const CodebookVector* list;
  size_t size;
  unsigned bits;  // of a digit
  unsigned base;
};

std::array<Book, 6> books() {
  return {Book{"IQ1", iq1_codebook(), 2048, 2, 3},
          Book{"IQ2_XXS", iq2_xxs_codebook(), 256, 2, 3},
          Book{"IQ2_XS", iq2_xs_codebook(), 512, 2, 3},
          Book{"IQ2_S", iq2_s_codebook(), 1024, 2, 3},
          Book{"IQ3_XXS", iq3_xxs_codebook(), 256, 4, 8},
          Book{"IQ3_S", iq3_s_codebook(), 512, 4, 8}};
}

unsigned digit(CodebookVector vector, unsigned i, unsigned bits) {
  return vector >> (i * bits) & ((1u << bits) - 1);
}

TEST(Codebooks, HoldVectorsOfValidDigitsInAscendingOrder) {
  for (const Book& book : books()) {
    for (size_t i = 0; i < book.size; ++i) {
      if (i > 0) {
        EXPECT_LT(book.list[i - 1], book.list[i]) << book.name << " " << i;
      }
      for (unsigned d = 0; d < 16 / book.bits; ++d) {
        EXPECT_LT(digit(book.list[i], d, book.bits), book.base) << book.name << " " << i;
      }
    }
  }
}

TEST(Codebooks, BeginWithZeroAndEndAsPublished) {
  constexpr std::array<CodebookVector, 6> kLast = {0xaaaa, 0xa904, 0xaaaa, 0xaaaa, 0x7630, 0x7700};
  const auto all = books();
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].list[0], 0) << all[i].name;
    EXPECT_EQ(all[i].list[all[i].size - 1], kLast[i]) << all[i].name;
  }
}

}  // namespace
}  // namespace kinglet
