// Plans which stores hold the rows of a model's layers. The store of layers with a window holds
// little more than the window, however long the context is.
#pragma once

#include <cstdint>
#include <vector>

#include "kv/kv_store.h"
#include "kv/state_shape.h"

namespace kinglet {

// Positions in a page of rows with a window: one block of attention. Smaller pages cost time.
constexpr uint32_t kWindowPage = 64;

// Positions that are kept before those that a window sees, so that the last few tokens can be taken
// back. KvCache::drop() needs at least a page of them, as it moves rows to whole pages.
constexpr uint32_t kWindowSpare = 64;

// A sequence can be cut at its checkpoints, and where the current call began. Each such place keeps
// the rows of a window. This is the most bytes for all of them, and the fewest and the most windows
// that are kept, whatever their size.
constexpr uint64_t kWindowBudget = uint64_t{32} << 20;
constexpr uint32_t kFewestKeptWindows = 2;
constexpr uint32_t kMostKeptWindows = 8;

// The layers of one window, and their store.
struct KvGroup {
  uint32_t window = 0;  // see RowShape
  KvStoreConfig store;
};

// Where the rows of a layer are stored.
struct RowPlace {
  uint32_t group;
  uint32_t layer;  // index in the group's store
};

struct KvPlan {
  std::vector<KvGroup> groups;   // the first holds all positions, and may have no layers
  std::vector<RowPlace> places;  // one for each RowShape

  uint64_t bytes() const;  // of all stores; UINT64_MAX as from KvStore::bytes_of()
};

// Plans one store that holds all rows.
KvPlan plan_one_store(const KvStoreConfig& store);

// Plans the stores of a sequence of up to n_ctx positions, n_batch at a time, that shares no pages.
// Layers whose window would take as much memory as the whole context go into the first group.
KvPlan plan_windows(const std::vector<RowShape>& rows, KvKind k_kind, KvKind v_kind, uint32_t n_ctx,
                    uint32_t n_batch);

// The first position that a token at `position` sees.
uint32_t first_seen(uint32_t window, uint32_t position);

// The first position that is kept for tokens from `position` on: n_spare positions before the first
// that they see, rounded down to the beginning of a page.
uint32_t first_kept(uint32_t window, uint32_t position, uint32_t n_spare);

}  // namespace kinglet
