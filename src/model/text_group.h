// Texts that an encoder computes together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "model/encode.h"
#include "model/model.h"

namespace kinglet {

// Any number of texts is computed group by group. A larger group would not be faster, and what
// waits for its next step would wait longer.
constexpr size_t kGroupTokens = 512;

class TextGroup {
 public:
  // The model and the pool must outlive it.
  TextGroup(const Model& model, ThreadPool& pool) : model_(model), pool_(pool) {}

  // Adds a text, given by its tokens.
  void add(std::vector<int32_t> tokens);

  size_t n_texts() const { return texts_.size(); }

  // Whether it is time to compute the group: it has kGroupTokens tokens or more.
  bool is_full() const { return n_tokens_ >= kGroupTokens; }

  // Begins to compute the texts, with an encoder that has room for them. Errors: those of
  // Encoder::create() and Encoder::begin().
  Status begin(const Cancellation& cancellation = {});

  // What computes the texts, after begin().
  Encoder& encoder() { return *encoder_; }

  // Begins an empty group. The encoder stays for the next texts.
  void clear();

 private:
  const Model& model_;
  ThreadPool& pool_;
  std::vector<std::vector<int32_t>> texts_;
  size_t n_tokens_ = 0;
  std::optional<Encoder> encoder_;  // with room for n_room_ tokens
  size_t n_room_ = 0;
};

}  // namespace kinglet
