#include "kv/sequence_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/format.h"

namespace kinglet {

Result<SequenceState> SequenceState::create(std::shared_ptr<KvStore> store, uint64_t n_recurrent,
                                            uint32_t capacity) {
  KINGLET_ASSIGN(RecurrentState recurrent, RecurrentState::create(n_recurrent));
  KvPlan plan = plan_one_store(store->config());
  std::vector<KvCache> groups;
  groups.emplace_back(std::move(store), capacity);
  KINGLET_TRY(groups.back().prepare());
  return SequenceState(std::move(groups), std::move(plan.places), std::move(recurrent));
}

Result<SequenceState> SequenceState::create(const KvPlan& plan, uint64_t n_recurrent,
                                            uint32_t capacity) {
  std::vector<KvCache> groups;
  for (const KvGroup& group : plan.groups) {
    KINGLET_ASSIGN(auto store, KvStore::create(group.store));
    groups.emplace_back(std::move(store), capacity, group.window);
    KINGLET_TRY(groups.back().prepare());
  }
  KINGLET_ASSIGN(RecurrentState recurrent, RecurrentState::create(n_recurrent));
  return SequenceState(std::move(groups), plan.places, std::move(recurrent));
}

Result<SequenceState> SequenceState::fork() const {
  std::vector<KvCache> groups;
  for (const KvCache& group : groups_) {
    KINGLET_ASSIGN(KvCache forked, group.fork());
    groups.push_back(std::move(forked));
  }
  KINGLET_ASSIGN(RecurrentState recurrent, recurrent_.fork());
  return SequenceState(std::move(groups), places_, std::move(recurrent));
}

uint64_t SequenceState::kv_bytes() const {
  uint64_t sum = 0;
  for (const KvCache& group : groups_) {
    sum += group.store().bytes() + group.store().beginning_bytes();
  }
  return sum;
}

// --- Steps --------------------------------------------------------------------------------------

Status SequenceState::reserve(uint32_t n_positions) {
  for (KvCache& group : groups_) {
    Status status = group.reserve(n_positions);
    if (status.ok()) continue;
    rollback();
    return status;
  }
  return {};
}

Status SequenceState::commit(uint32_t n) {
  for (KvCache& group : groups_) KINGLET_TRY(group.commit(n));
  recurrent_.commit(n);
  return {};
}

void SequenceState::rollback() {
  for (KvCache& group : groups_) group.rollback();
}

// --- Going back ---------------------------------------------------------------------------------

void SequenceState::add_checkpoint() {
  for (KvCache& group : groups_) group.add_checkpoint();
  recurrent_.add_checkpoint();
}

void SequenceState::pin() {
  for (KvCache& group : groups_) group.pin();
  recurrent_.pin();
}

void SequenceState::unpin() {
  for (KvCache& group : groups_) group.unpin();
  recurrent_.unpin();
}

// Each group and the recurrent state may have to go back further than the others, so this repeats
// until all can reach the same place.
uint32_t SequenceState::reachable(uint32_t n_positions) const {
  uint32_t before = UINT32_MAX;
  uint32_t place = std::min(n_positions, size());
  while (place < before) {
    before = place;
    for (const KvCache& group : groups_) place = group.reachable(place);
    place = recurrent_.reachable(place);
  }
  return place;
}

Status SequenceState::truncate(uint32_t n_positions) {
  if (n_positions > size()) return rows().truncate(n_positions);
  const uint32_t place = reachable(n_positions);
  for (KvCache& group : groups_) KINGLET_TRY(group.truncate(place));
  recurrent_.truncate(place);
  return {};
}

// --- Rows ---------------------------------------------------------------------------------------

Status SequenceState::drop(uint32_t first, uint32_t n) {
  const bool is_inside = first <= size() && n <= size() - first;
  const bool can_drop = std::all_of(groups_.begin(), groups_.end(), [&](const KvCache& group) {
    return !is_inside || group.can_drop(first, n);
  });
  if (!can_drop) {
    KINGLET_TRY(unshare(first));
    return truncate(first);
  }
  for (KvCache& group : groups_) KINGLET_TRY(group.drop(first, n));
  recurrent_.truncate(size());
  return {};
}

uint32_t SequenceState::n_spare() const {
  uint32_t n = kAllRows;
  for (const KvCache& group : groups_) {
    if (group.window() > 0) n = std::min(n, group.n_spare());
  }
  return n;
}

void SequenceState::save_rows(const SavedRows& saved, std::span<std::byte> to) const {
  saved.for_each([&](uint32_t layer, uint32_t position, size_t begin) {
    std::byte* at = to.data() + begin;
    const RowPlace place = places_[layer];
    groups_[place.group].for_each_row_at(place.layer, position,
                                         [&](std::span<std::byte> codes, std::span<float> scales) {
                                           at = std::copy(codes.begin(), codes.end(), at);
                                           const auto of_scales = std::as_bytes(scales);
                                           at = std::copy(of_scales.begin(), of_scales.end(), at);
                                         });
  });
  std::byte* at = to.data() + saved.rows_bytes();
  for (size_t i = 0; i < places_.size() && saved.has_centres(); ++i) {
    groups_[places_[i].group].for_each_centre(places_[i].layer, [&](std::span<float> centre) {
      const auto bytes = std::as_bytes(centre);
      at = std::copy(bytes.begin(), bytes.end(), at);
    });
  }
}

// Whether the saved rows are all that this sequence would have. With one store, it has all rows.
bool SequenceState::has_all_rows(const SavedRows& saved) const {
  for (uint32_t i = 0; i < places_.size(); ++i) {
    const uint32_t window = groups_[places_[i].group].window();
    const uint32_t wanted =
        first_kept(window, saved.n_positions, std::min(saved.n_spare, kWindowSpare));
    if (wanted < saved.first_position(saved.shapes[i])) return false;
  }
  return true;
}

Status SequenceState::restore(const SavedRows& saved, std::span<const std::byte> rows,
                              std::span<const std::byte> recurrent) {
  if (saved.n_positions == 0 || !has_all_rows(saved)) return truncate(0);
  for (KvCache& group : groups_) {
    KINGLET_TRY(group.overwrite(saved.n_positions, std::min(saved.n_spare, kWindowSpare)));
  }
  recurrent_.overwrite(saved.n_positions, recurrent);
  saved.for_each([&](uint32_t layer, uint32_t position, size_t begin) {
    const RowPlace place = places_[layer];
    KvCache& group = groups_[place.group];
    if (position < group.first_position()) return;
    const std::byte* at = rows.data() + begin;
    group.for_each_row_at(
        place.layer, position, [&](std::span<std::byte> codes, std::span<float> scales) {
          std::copy_n(at, codes.size(), codes.begin());
          at += codes.size();
          std::copy_n(at, scales.size_bytes(), std::as_writable_bytes(scales).begin());
          at += scales.size_bytes();
        });
  });
  const std::byte* at = rows.data() + saved.rows_bytes();
  for (size_t i = 0; i < places_.size() && saved.has_centres(); ++i) {
    groups_[places_[i].group].for_each_centre(places_[i].layer, [&](std::span<float> centre) {
      std::memcpy(centre.data(), at, centre.size_bytes());
      at += centre.size_bytes();
    });
  }
  return {};
}

}  // namespace kinglet
