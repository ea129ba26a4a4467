// What a block needs while it is loaded: the tensors and keys of its layer, and a place for what it
// keeps of a sequence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kv/state_shape.h"
#include "model/config.h"
#include "model/keys.h"
#include "model/linear.h"
#include "model/tensor_taker.h"

namespace kinglet {

// Names are those after "blk.N.": "attn_q" is the tensor "blk.N.attn_q.weight", its bias
// "blk.N.attn_q.bias", its scale "blk.N.attn_q.scale". Errors: those of TensorTaker.
class LayerLoader {
 public:
  LayerLoader(TensorTaker& tensors, const ModelConfig& config, uint32_t index, StateShape& state)
      : tensors_(tensors),
        keys_(tensors.header(), config.architecture->name),
        global_keys_(Keys::without_prefix(tensors.header())),
        config_(config),
        index_(index),
        state_(state) {}

  const ModelConfig& config() const { return config_; }
  const Keys& keys() const { return keys_; }
  const Keys& global_keys() const { return global_keys_; }  // of no architecture
  const Architecture& traits() const { return *config_.architecture; }
  uint32_t index() const { return index_; }
  const LayerConfig& layer() const { return config_.layers[index_]; }

  bool has_experts() const { return config_.n_experts > 0 && index_ >= config_.n_dense_layers; }

  bool has(std::string_view part) const { return tensors_.has(name(part)); }

  // Rows of a matrix; 0 where there is none of that name.
  uint64_t n_rows(std::string_view part) const;

  Result<Linear> linear(std::string_view part, uint32_t n_rows, uint32_t n_columns,
                        Presence bias) const;
  Result<Linear> linear(std::string_view part, uint32_t n_rows, uint32_t n_columns) const {
    return linear(part, n_rows, n_columns, traits().other_biases);
  }

  // Null where there is none.
  Result<const float*> bias(std::string_view part, uint64_t n, Presence presence) const;

  // A tensor that holds several matrices [n_rows[i]][hidden_dim], and a bias for all of them.
  Result<std::vector<Linear>> fused(std::string_view part, const std::vector<uint64_t>& n_rows,
                                    Presence bias) const;

  // The matrices of a tensor [n_experts][n_parts][n_rows][n_columns].
  Result<std::vector<Linear>> experts(std::string_view part, uint32_t n_experts, uint32_t n_rows,
                                      uint32_t n_columns, uint32_t n_parts = 1) const;

  // F32 numbers [n][n_rows], stored as [n_rows][n].
  Result<std::vector<float>> transposed(std::string_view part, uint64_t n, uint64_t n_rows) const;

  // Leaves out what the file has of that name, and the architecture no use for.
  void skip(std::string_view part) const { tensors_.skip(name(part, ".")); }

  // A norm of the stream, with a bias where the architecture's norms have one.
  Result<Norm> norm(std::string_view part) const;

  // A norm of heads, n wide together, as the architecture says; none where it has none.
  Result<Norm> head_norm(std::string_view part, uint32_t n) const;

  // F32 numbers [n], or [n / n_columns][n_columns]; `tensor` is the name after "blk.N.".
  Result<const float*> vector(std::string_view tensor, uint64_t n) const {
    return vector(tensor, n, n);
  }
  Result<const float*> vector(std::string_view tensor, uint64_t n, uint64_t n_columns) const {
    return tensors_.vector(prefix() + std::string(tensor), n, n_columns);
  }

  // Makes room in every sequence for keys and values of the layer. Which of its rows they are.
  uint32_t keep_rows(uint32_t n_kv_heads, uint32_t head_dim) const {
    return state_.add_rows({index_, n_kv_heads, head_dim, layer().window});
  }

  // Which of them are an earlier layer's.
  uint32_t rows_of(uint32_t layer) const { return state_.rows_of(layer); }

  // Makes room in every sequence for n floats of the layer's state. Where they begin.
  uint64_t keep_recurrent(uint64_t n) const { return state_.add_recurrent(n); }

 private:
  std::string prefix() const;
  std::string name(std::string_view part, std::string_view suffix = ".weight") const;

  TensorTaker& tensors_;
  Keys keys_;
  Keys global_keys_;
  const ModelConfig& config_;
  uint32_t index_;
  StateShape& state_;
};

}  // namespace kinglet
