// A file that arrives in pieces, as in a page, while its model is prepared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/result.h"
#include "base/thread_pool.h"
#include "gguf/file.h"
#include "model/preparation.h"

namespace kinglet {

// Commits pieces of at most `piece` bytes while the pool works, then finishes.
inline Result<GgufFile> receive(GgufLoader& loader, std::span<const std::byte> bytes, size_t piece,
                                Preparable& model, ThreadPool& pool) {
  Preparation preparation(model, pool);
  while (!bytes.empty()) {
    bytes = bytes.subspan(static_cast<size_t>(loader.skip(bytes.size())));
    KINGLET_ASSIGN(const auto room, loader.reserve(std::min(piece, bytes.size())));
    if (room.empty()) break;
    std::copy_n(bytes.begin(), room.size(), room.begin());
    KINGLET_TRY(loader.commit(room.size()));
    preparation.advance(loader);
    bytes = bytes.subspan(room.size());
  }
  preparation.finish(loader);
  return loader.finish();
}

}  // namespace kinglet
