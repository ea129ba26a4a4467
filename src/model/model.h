// A loaded model: its configuration and weights, which never change and which all its sessions
// share.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/result.h"
#include "gguf/file.h"
#include "kernels/kernels.h"
#include "model/config.h"
#include "model/rope.h"
#include "model/weights.h"

namespace kinglet {

class Model {
 public:
  // Packs the file's weights in place for `kernels`. A file that holds only a vocabulary becomes a
  // model without weights or configuration, which can have no sessions. Errors: those of
  // bind_weights and BoundWeights.
  static Result<Model> load(GgufFile file, const KernelSet& kernels);

  // The same with what bind_weights() returned for this file, while it arrived.
  static Result<Model> load(GgufFile file, const KernelSet& kernels, Result<BoundWeights> bound);

  // A model whose weights have shapes but no values, from a GgufFile::outline(): only for plans of
  // memory. Errors: those of bind_weights.
  static Result<Model> outline(GgufFile file, const KernelSet& kernels);

  bool has_weights() const { return !header().tensors.empty(); }

  const GgufHeader& header() const { return file_.header(); }
  const ModelConfig& config() const { return config_; }
  const Weights& weights() const { return weights_; }
  const KernelSet& kernels() const { return *kernels_; }
  const StateShape& state_shape() const { return weights_.state; }
  // The bytes of the weights that are in memory, and of those that stay in the file.
  uint64_t weight_bytes() const { return file_.bytes_in_memory(); }
  uint64_t stored_bytes() const { return file_.stored_bytes(); }
  uint64_t n_parameters() const;

  uint64_t header_hash() const { return file_.header_hash(); }

  // A hash of the header and of all weights, as the file has them, so it is the same on every
  // machine. Of a table that is read by rows, which may stay in the file, it is that of a sample.
  // Contexts of up to n_ctx positions are rotated differently if this differs.
  uint64_t identity(uint32_t n_ctx) const;

  // The angles of a rotation other than none, in a context of up to n_ctx positions.
  const RopeTable& rope_table(Rotation rotation, uint32_t n_ctx) const;

 private:
  Model(GgufFile file, const KernelSet& kernels) : file_(std::move(file)), kernels_(&kernels) {}

  GgufFile file_;
  ModelConfig config_;
  Weights weights_;
  uint64_t weights_hash_ = 0;
  const KernelSet* kernels_;
  RopeTable rope_;
  RopeTable long_rope_;  // for contexts longer than the original one
  RopeTable local_rope_;
};

// ErrorCode::missing_tensor if the file holds only a vocabulary.
Status check_has_weights(const Model& model);

}  // namespace kinglet
