// The codebooks of the IQ1, IQ2 and IQ3 types: fixed lists of vectors of small digits.
//
// Each list is in ascending order of the number that the digits make; the first digit is the
// lowest. So a codebook is fully given by the set of its vectors, which is stored as one bit for
// each possible vector. The sets are part of the format; source: the iq*_grid tables of
// ggml-common.h.
#pragma once

#include <cstdint>

namespace kinglet {

// A vector of 8 digits of two bits (0-2), or of 4 digits of four bits (0-7), from bit 0 up.
using CodebookVector = uint16_t;

// Each function returns a list, which is unpacked at the first call. The comments give its length.
const CodebookVector* iq1_codebook();      // 2048 of 3^8
const CodebookVector* iq2_xxs_codebook();  // 256 of 3^8
const CodebookVector* iq2_xs_codebook();   // 512 of 3^8
const CodebookVector* iq2_s_codebook();    // 1024 of 3^8
const CodebookVector* iq3_xxs_codebook();  // 256 of 8^4
const CodebookVector* iq3_s_codebook();    // 512 of 8^4

}  // namespace kinglet
