// What the made-up vocabularies of benchmarks have in common: SentencePiece's special tokens and
// bytes.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gguf/writer.h"

namespace kinglet {

struct SpmVocabulary {
  // <unk>, <s>, </s>, and the 256 bytes.
  SpmVocabulary() {
    for (int byte = 0; byte < 256; ++byte) {
      char name[8];
      std::snprintf(name, sizeof name, "<0x%02X>", byte);
      add(name, 6);
    }
  }

  // `type`: as in tokenizer.ggml.token_type.
  void add(std::string token, int32_t type) {
    tokens.push_back(std::move(token));
    types.push_back(type);
  }

  // `scores`: one for each token.
  void set(GgufWriter& file, std::span<const float> scores) const {
    file.set("tokenizer.ggml.model", "llama");
    file.set("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
    file.set("tokenizer.ggml.scores", scores);
    file.set("tokenizer.ggml.token_type", std::span<const int32_t>(types));
    file.set("tokenizer.ggml.bos_token_id", 1u);
    file.set("tokenizer.ggml.eos_token_id", 2u);
    file.set("tokenizer.ggml.unknown_token_id", 0u);
  }

  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<int32_t> types = {2, 3, 3};
};

}  // namespace kinglet
