// The order in which kernels read the codes of a block, if it differs from the order in the file.
#pragma once

#include <cstddef>

#include "tensor/dtype.h"

namespace kinglet {

// Each of these types has pieces in bytes [begin, end) of a block, which are converted one by one.
struct CodeOrder {
  DType type;
  bool in_planes;  // see PackedMatrix
  size_t begin;
  size_t end;
  size_t piece_bytes;
  void (*turn_piece)(std::byte* piece);
  void (*turn_piece_back)(std::byte* piece);

  // Converts a block from the order of the file to that of kernels.
  void turn(std::byte* block) const {
    for (size_t i = begin; i < end; i += piece_bytes) turn_piece(block + i);
  }
  void turn_back(std::byte* block) const {
    for (size_t i = begin; i < end; i += piece_bytes) turn_piece_back(block + i);
  }
};

// Returns null if kernels read a type's codes in the order of the file.
const CodeOrder* code_order(DType type, bool in_planes);

}  // namespace kinglet
