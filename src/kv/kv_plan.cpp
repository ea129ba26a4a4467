#include "kv/kv_plan.h"

#include <algorithm>
#include <iterator>

#include "base/checked.h"

namespace kinglet {
namespace {

// The largest number of pages that n consecutive positions can touch.
uint64_t pages_touched(uint64_t n) { return n < 2 ? n : (n - 2) / kWindowPage + 2; }

uint64_t n_window_pages(uint32_t window, uint64_t bytes_per_position, uint32_t n_batch) {
  const uint64_t n_kept = uint64_t{window} - 1 + kWindowSpare;
  const uint64_t of_place = pages_touched(n_kept);
  const uint64_t of_budget =
      kWindowBudget / std::max<uint64_t>(1, bytes_per_position * kWindowPage);
  return pages_touched(n_kept + n_batch) +
         std::clamp(of_budget, kFewestKeptWindows * of_place, kMostKeptWindows * of_place);
}

std::vector<uint32_t> windows_of(const std::vector<RowShape>& rows) {
  std::vector<uint32_t> windows;
  for (const RowShape& shape : rows) {
    if (shape.window > 0) windows.push_back(shape.window);
  }
  std::sort(windows.begin(), windows.end());
  windows.erase(std::unique(windows.begin(), windows.end()), windows.end());
  return windows;
}

}  // namespace

uint64_t KvPlan::bytes() const {
  uint64_t sum = 0;
  for (const KvGroup& group : groups) {
    const auto more = checked_add(sum, KvStore::bytes_of(group.store));
    if (!more || *more == UINT64_MAX) return UINT64_MAX;
    sum = *more + KvStore::beginning_bytes_of(group.store);
  }
  return sum;
}

KvPlan plan_one_store(const KvStoreConfig& store) {
  KvPlan plan{.groups = {{.window = 0, .store = store}}, .places = {}};
  for (uint32_t i = 0; i < store.rows.size(); ++i) plan.places.push_back({0, i});
  return plan;
}

KvPlan plan_windows(const std::vector<RowShape>& rows, KvKind k_kind, KvKind v_kind, uint32_t n_ctx,
                    uint32_t n_batch) {
  const KvStoreConfig empty{.rows = {}, .k_kind = k_kind, .v_kind = v_kind};
  KvPlan plan;
  plan.groups.push_back({.window = 0, .store = empty});
  plan.groups[0].store.page_positions = n_ctx;
  plan.groups[0].store.n_pages = 1;
  for (const uint32_t window : windows_of(rows)) {
    KvStoreConfig of_window = empty;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(of_window.rows),
                 [&](const RowShape& shape) { return shape.window == window; });
    const uint64_t n_pages = n_window_pages(window, of_window.bytes_per_position(), n_batch);
    if (n_pages * kWindowPage >= n_ctx) continue;
    plan.groups.push_back({.window = window, .store = empty});
    plan.groups.back().store.page_positions = kWindowPage;
    plan.groups.back().store.n_pages = static_cast<uint32_t>(n_pages);
  }
  for (const RowShape& shape : rows) {
    const auto found =
        std::find_if(plan.groups.begin() + 1, plan.groups.end(),
                     [&](const KvGroup& group) { return group.window == shape.window; });
    KvGroup& group = found == plan.groups.end() ? plan.groups.front() : *found;
    plan.places.push_back({static_cast<uint32_t>(&group - plan.groups.data()),
                           static_cast<uint32_t>(group.store.rows.size())});
    group.store.rows.push_back(shape);
  }
  return plan;
}

uint32_t first_seen(uint32_t window, uint32_t position) {
  return window == 0 || window > position ? 0 : position - (window - 1);
}

uint32_t first_kept(uint32_t window, uint32_t position, uint32_t n_spare) {
  const uint32_t seen = first_seen(window, position);
  return (seen - std::min(seen, n_spare)) / kWindowPage * kWindowPage;
}

}  // namespace kinglet
