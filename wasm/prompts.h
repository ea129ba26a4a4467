// Stored states of prompts. The page stores their bytes; here is what they begin with.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "answers/prompt_cache.h"
#include "answers/runner.h"
#include "base/aligned_buffer.h"
#include "base/result.h"
#include "session/language_model.h"
#include "wasm/values.h"

namespace kinglet {

class PagePrompts final : public PromptStorage {
 public:
  explicit PagePrompts(const Model& model) : cache_(model, *this) {}

  PromptCache& cache() { return cache_; }

  // Lets the cache store states: `on_prompt` receives each with its name.
  void store_with(const val& on_prompt) { on_prompt_ = on_prompt; }

  bool is_writable() const override { return !on_prompt_.isUndefined(); }

  // The page reads states before an answer begins, because that takes time.
  Result<AlignedBuffer> read(const std::string& /*name*/) override {
    return Error{ErrorCode::unsupported_feature, "only the page can read it"};
  }

  void write(const std::string& name, std::span<const std::byte> state) override {
    const auto* data = reinterpret_cast<const uint8_t*>(state.data());
    on_prompt_(name, to_js_array("Uint8Array", std::span(data, state.size())));
  }

  void reject(const std::string& /*name*/, std::string_view /*reason*/) override {}

 private:
  val on_prompt_ = val::undefined();
  PromptCache cache_;
};

}  // namespace kinglet
