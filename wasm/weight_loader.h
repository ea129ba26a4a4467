// Receives the files of a model from JavaScript, and packs their weights while they arrive.
// result.d.ts describes what is bound here.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "gguf/file.h"
#include "model/preparation.h"
#include "wasm/values.h"

namespace kinglet {

// What is loaded.
class Loadable {
 public:
  virtual ~Loadable() = default;

  // Starts over, with nothing prepared. The result belongs to this.
  virtual Preparable& begin() = 0;

  // Returns an EngineResult of the loaded object, made of what was prepared since begin().
  virtual val finish(GgufFile file) = 0;
};

class WeightLoader {
 public:
  // `storage` and `choice`: as for GgufLoader, of the first file.
  WeightLoader(double file_bytes, std::unique_ptr<Loadable> loadable,
               std::unique_ptr<const RandomAccessFile> storage = nullptr, StoredChoice choice = {})
      : loadable_(std::move(loadable)) {
    part_.emplace(file_bytes, loadable_->begin(), std::move(storage), choice);
  }

  double skip(double max_bytes);
  val reserve(double max_bytes);
  val commit(double bytes);
  double file_bytes() const;
  val next_part(double file_bytes);
  val finish();

 private:
  // `preparation` uses `loader`, so it is destroyed first.
  struct Part {
    Part(double file_bytes, Preparable& model, std::unique_ptr<const RandomAccessFile> storage,
         StoredChoice choice);

    GgufLoader loader;
    Preparation preparation;
  };

  Status end_part();

  std::unique_ptr<Loadable> loadable_;
  std::optional<Part> part_;
  std::vector<GgufFile> parts_;
};

}  // namespace kinglet
