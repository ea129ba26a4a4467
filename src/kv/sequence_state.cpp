#include "kv/sequence_state.h"

#include <utility>

namespace kinglet {

Result<SequenceState> SequenceState::create(std::shared_ptr<KvStore> store, uint64_t n_recurrent,
                                            uint32_t capacity) {
  KINGLET_ASSIGN(RecurrentState recurrent, RecurrentState::create(n_recurrent));
  return SequenceState(KvCache(std::move(store), capacity), std::move(recurrent));
}

Result<SequenceState> SequenceState::fork() const {
  KINGLET_ASSIGN(KvCache rows, rows_.fork());
  KINGLET_ASSIGN(RecurrentState recurrent, recurrent_.fork());
  return SequenceState(std::move(rows), std::move(recurrent));
}

Status SequenceState::commit() {
  const uint32_t before = size();
  KINGLET_TRY(rows_.commit());
  recurrent_.commit(size() - before);
  return {};
}

Status SequenceState::truncate(uint32_t n_positions) {
  KINGLET_TRY(rows_.truncate(n_positions));
  recurrent_.truncate(n_positions);
  return rows_.truncate(recurrent_.position());
}

Status SequenceState::overwrite(uint32_t n_positions, std::span<const std::byte> recurrent) {
  KINGLET_TRY(rows_.overwrite(n_positions));
  recurrent_.overwrite(n_positions, recurrent);
  return {};
}

}  // namespace kinglet
