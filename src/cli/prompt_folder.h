// States of prompts in the files of a folder: FOLDER/*.kprompt. Several processes can use it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "answers/prompt_cache.h"
#include "base/aligned_buffer.h"
#include "base/result.h"
#include "cli/commands.h"
#include "model/model.h"

namespace kinglet::cli {

class PromptFolder final : public PromptStorage {
 public:
  // Makes the folder if it does not exist. States of other models are left alone; of damaged ones
  // the user is told. The model must outlive the object. Errors: io.
  static Result<std::unique_ptr<PromptFolder>> open(const Model& model,
                                                    const PromptCacheOptions& options);

  PromptCache& cache() { return cache_; }

  bool is_writable() const override { return true; }
  Result<AlignedBuffer> read(const std::string& name) override;
  void write(const std::string& name, std::span<const std::byte> state) override;
  void reject(const std::string& name, std::string_view reason) override;

 private:
  PromptFolder(const Model& model, std::filesystem::path folder, uint64_t most_bytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes), cache_(model, *this) {}

  Status add_files(const Model& model);
  void make_room(uint64_t n_bytes);

  std::filesystem::path folder_;
  uint64_t most_bytes_;
  PromptCache cache_;
};

}  // namespace kinglet::cli
