// Which stores hold the rows of a model's layers: those of layers with a window hold little more
// than the window, however long the context is.
#pragma once

#include <cstdint>
#include <vector>

#include "kv/kv_store.h"
#include "kv/state_shape.h"

namespace kinglet {

// Positions of a page of rows with a window: a block of attention, as smaller ones cost time.
constexpr uint32_t kWindowPage = 64;

// Positions that are kept before those that a window sees, so that the last few tokens can be taken
// back. Less than a page would not outlast KvCache::drop().
constexpr uint32_t kWindowSpare = 64;

// What places after the end may take, to which a sequence goes back: the one where a call began,
// and checkpoints. How many windows they are at least and at most.
constexpr uint64_t kWindowBudget = uint64_t{32} << 20;
constexpr uint32_t kFewestKeptWindows = 2;
constexpr uint32_t kMostKeptWindows = 8;

// The layers of one window, and their store.
struct KvGroup {
  uint32_t window = 0;  // see RowShape
  KvStoreConfig store;
};

// Where the rows of a layer are.
struct RowPlace {
  uint32_t group;
  uint32_t layer;  // of the group's store
};

struct KvPlan {
  std::vector<KvGroup> groups;   // the first holds all positions, of no layers maybe
  std::vector<RowPlace> places;  // one for each RowShape
};

// All rows in one store of n_pages.
KvPlan plan_one_store(const KvStoreConfig& store);

// For a sequence of up to n_ctx positions, n_batch at a time, that shares nothing. A window that
// would take as much as the whole context is held as one.
KvPlan plan_windows(const std::vector<RowShape>& rows, KvKind k_kind, KvKind v_kind, uint32_t n_ctx,
                    uint32_t n_batch);

// The first position that a token at `position` sees.
uint32_t first_seen(uint32_t window, uint32_t position);

// The first position that is kept for tokens from `position` on, n_spare more among them: where a
// page begins.
uint32_t first_kept(uint32_t window, uint32_t position, uint32_t n_spare);

}  // namespace kinglet
