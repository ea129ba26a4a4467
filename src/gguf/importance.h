// Importance matrices: how large the activations are that each column of a model's matrices is
// multiplied by. An encoder that knows them puts its errors where they matter least. The format is
// that of llama.cpp's imatrix program (tools/imatrix, GGUF):
//   general.type = "imatrix", imatrix.datasets, imatrix.chunk_count, imatrix.chunk_size
//   NAME.in_sum2  F32 [n_matrices][n_columns]: sums of squared activations, for the tensor NAME
//   NAME.counts   F32 [n_matrices][1]: the number of activations in each sum
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/file.h"

namespace kinglet {

struct ImportanceMatrix {
  // Of a tensor of one matrix, or of one for each expert.
  struct Entry {
    std::vector<float> sums;    // [n_matrices][n_columns]
    std::vector<float> counts;  // [n_matrices]; 0: no text has reached this expert

    size_t n_columns() const { return sums.size() / counts.size(); }

    // The importance of each column of a matrix: positive numbers, whose mean is about 1. All are 1
    // if the text has not reached the matrix.
    std::vector<float> of_matrix(size_t i) const;
  };

  std::map<std::string, Entry, std::less<>> entries;  // by the tensor's name
  std::vector<std::string> datasets;                  // the files of the texts
  uint32_t n_chunks = 0;
  uint32_t chunk_size = 0;  // in tokens

  // ErrorCode::wrong_type (the file is something else), missing_tensor, wrong_shape, not_finite.
  static Result<ImportanceMatrix> read(GgufFile& file);

  const Entry* find(std::string_view tensor) const;

  // Whether the matrix can be of this model. ErrorCode::missing_tensor and wrong_shape name an
  // entry whose tensor the model does not have, or has in another shape.
  Status check_model(const GgufHeader& model) const;

  // ErrorCode::io.
  Status write(const std::string& path) const;
};

}  // namespace kinglet
