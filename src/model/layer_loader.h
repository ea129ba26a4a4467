// What a block needs while it is loaded: its layer's tensors, the metadata keys, and the functions
// that reserve room for the layer in a sequence's state.
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

// Names leave out "blk.N.": "attn_q" is the tensor "blk.N.attn_q.weight", with the bias
// "blk.N.attn_q.bias" and the scale "blk.N.attn_q.scale". Files may have other names for these: see
// ModelConfig::names. Errors: those of TensorTaker.
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
  const Keys& global_keys() const { return global_keys_; }  // without the architecture's prefix
  const Architecture& traits() const { return *config_.architecture; }
  uint32_t index() const { return index_; }
  const LayerConfig& layer() const { return config_.layers[index_]; }

  bool has(std::string_view part) const { return tensors_.has(name(part)); }

  // Whether to take a part: it must be there, or it may be there and is.
  bool wants(std::string_view part, Presence presence) const {
    return presence == Presence::required || (presence == Presence::optional && has(part));
  }

  // The number of rows of a matrix; 0 if the file has none of that name.
  uint64_t n_rows(std::string_view part) const;

  Result<Linear> linear(std::string_view part, uint32_t n_rows, uint32_t n_columns,
                        Presence bias) const;
  Result<Linear> linear(std::string_view part, uint32_t n_rows, uint32_t n_columns) const {
    return linear(part, n_rows, n_columns, traits().other_biases);
  }

  // The bias, [n]; null if the file has none.
  Result<const float*> bias(std::string_view part, uint64_t n, Presence presence) const;

  // A tensor of several matrices [n_rows[i]][hidden_dim], with one bias for all of them.
  Result<std::vector<Linear>> fused(std::string_view part, const std::vector<uint64_t>& n_rows,
                                    Presence bias) const;

  // The matrices of a tensor [n_experts][n_parts][n_rows][n_columns].
  Result<std::vector<Linear>> experts(std::string_view part, uint32_t n_experts, uint32_t n_rows,
                                      uint32_t n_columns, uint32_t n_parts = 1) const;

  // Ignores tensors of that name, which the architecture does not use.
  void skip(std::string_view part) const { tensors_.skip(name(part, ".")); }

  // A norm of the stream, with a bias if the architecture's norms have one.
  Result<Norm> norm(std::string_view part) const;

  // The architecture's norm of heads that are n wide in all; empty if it has none.
  Result<Norm> head_norm(std::string_view part, uint32_t n) const;

  // The F32 number "blk.N.PART.weight".
  Result<const float*> number(std::string_view part) const {
    return tensors_.vector(name(part), 1);
  }

  // F32 numbers [n], or [n / n_columns][n_columns]; `tensor` is the name after "blk.N.". They are
  // there when the block's derive() is called.
  Result<const float*> vector(std::string_view tensor, uint64_t n) const {
    return vector(tensor, n, n);
  }
  Result<const float*> vector(std::string_view tensor, uint64_t n, uint64_t n_columns) const {
    return tensors_.vector(prefix() + std::string(tensor), n, n_columns);
  }

  // Reserves room for the layer's keys and values in every sequence. Returns the index of its rows.
  uint32_t keep_rows(uint32_t n_kv_heads, uint32_t head_dim) const {
    return state_.add_rows({index_, n_kv_heads, head_dim, layer().window});
  }

  // The index of an earlier layer's rows.
  uint32_t rows_of(uint32_t layer) const { return state_.rows_of(layer); }

  // Reserves n floats for the layer in every sequence's recurrent state. Returns where they begin.
  uint64_t keep_recurrent(uint64_t n) const { return state_.add_recurrent(n); }

 private:
  std::string prefix() const;
  std::string name(std::string_view part, std::string_view suffix = ".weight") const;
  std::string_view stored_name(std::string_view part) const;  // of a matrix that was taken

  TensorTaker& tensors_;
  Keys keys_;
  Keys global_keys_;
  const ModelConfig& config_;
  uint32_t index_;
  StateShape& state_;
};

}  // namespace kinglet
