// Memory for keys and values in pages, and the sequences that live in them.
//
// A page holds page_positions positions of every layer: for each one the keys' codes
// [n_kv_heads][page_positions][code bytes], their scales [n_kv_heads][page_positions][scales], then
// the values, either side beginning on a cache line. Attention reads one head at a time, whose rows
// therefore follow each other: with the heads of a position side by side, decoding at 2,048
// positions took twice as long.
//
// A page belongs to one sequence or to several that share a beginning; it is copied when one of
// them writes into it. A contiguous cache is a store of one page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "kernels/attention.h"
#include "kv/page_pool.h"
#include "tensor/kv_kind.h"

namespace kinglet {

#if defined(KINGLET_DEBUG)  // in builds of type Debug
constexpr bool kRejectNotFinite = true;
#else
constexpr bool kRejectNotFinite = false;
#endif

struct KvStoreConfig {
  uint32_t n_layers = 0;
  uint32_t n_kv_heads = 0;
  uint32_t head_dim = 0;
  KvKind k_kind = KvKind::f32;
  KvKind v_kind = KvKind::f32;
  uint32_t page_positions = 0;
  uint32_t n_pages = 0;
  // What happens to rows with NaN or infinity: an error, or they are stored as 0 and as the largest
  // finite magnitude of their row, and counted. Other rows are never touched.
  bool reject_not_finite = kRejectNotFinite;

  uint32_t kv_dim() const { return n_kv_heads * head_dim; }
  // What a position costs, without the padding of pages.
  uint64_t bytes_per_position() const;
  // What it would cost in F32, over that; 1 where it costs nothing.
  double compression() const;
};

using SequenceId = uint32_t;

struct KvStoreStats {
  uint32_t n_pages = 0;
  uint32_t n_used = 0;  // a shared page counts once, here and below
  uint32_t n_free = 0;
  uint64_t n_positions = 0;       // recorded in used pages
  uint64_t n_wasted = 0;          // positions of used pages that hold nothing
  uint32_t n_holes = 0;           // runs of free pages between used ones
  uint32_t largest_free_run = 0;  // pages
  float utilization = 0;          // used pages of all
  float fragmentation = 0;        // min(1, holes / used pages)
  uint64_t n_forks = 0;           // since the store was made
  uint64_t n_page_copies = 0;

  bool should_defragment() const;
};

// Not for use from several threads at once.
class KvStore {
 public:
  // Everything is allocated here. ErrorCode::invalid_argument (a size of 0), out_of_memory.
  static Result<std::shared_ptr<KvStore>> create(const KvStoreConfig& config);

  // A copy of everything, sequences and all. ErrorCode::out_of_memory.
  Result<std::shared_ptr<KvStore>> clone() const;

  const KvStoreConfig& config() const { return config_; }
  uint64_t bytes() const { return memory_.size(); }

  // --- Sequences. Ids that are not there give ErrorCode::invalid_argument. ----------------------

  // An empty sequence with pages for n_positions. ErrorCode::out_of_memory tells the pages that are
  // needed and available; nothing has changed then.
  Result<SequenceId> allocate(uint32_t n_positions);

  // A sequence with the same recorded positions, in the same pages.
  Result<SequenceId> fork(SequenceId id);

  Status free(SequenceId id);

  // Makes the positions from the recorded ones up to n_positions writable: takes pages, and copies
  // the last one where it is shared. ErrorCode::out_of_memory as for allocate().
  Status reserve(SequenceId id, uint32_t n_positions);

  // Makes recorded positions from `first` on writable by copying the pages that are shared.
  Status unshare(SequenceId id, uint32_t first);

  // Makes n_positions that were reserved and written part of the sequence.
  Status record(SequenceId id, uint32_t n_positions);

  // Forgets recorded and reserved positions from n_positions on, and frees their pages.
  // ErrorCode::invalid_argument past the recorded ones.
  Status truncate(SequenceId id, uint32_t n_positions);

  uint32_t n_positions(SequenceId id) const { return sequences_[id].n_positions; }

  // The pages of a sequence, in the order of its positions, until it changes.
  std::span<const uint32_t> pages(SequenceId id) const { return sequences_[id].pages; }

  // --- Rows -------------------------------------------------------------------------------------

  // ErrorCode::invalid_argument where k, then where v is not [n_kv_heads * head_dim].
  Status check_widths(std::span<const float> k, std::span<const float> v) const;

  // Stores a writable position of one layer: k and v are [n_kv_heads * head_dim]. Checks the length
  // of k, that of v, then the position. ErrorCode::not_finite where the configuration says so.
  Status write(SequenceId id, uint32_t layer, uint32_t position, std::span<const float> k,
               std::span<const float> v);

  // One recorded row, as floats [head_dim]. ErrorCode::invalid_argument names the page and position
  // that do not exist.
  Status read_key(SequenceId id, uint32_t layer, uint32_t position, uint32_t head,
                  std::span<float> out) const;
  Status read_value(SequenceId id, uint32_t layer, uint32_t position, uint32_t head,
                    std::span<float> out) const;

  // Overwrites one recorded key, which must be writable; `row` is [head_dim].
  void rewrite_key(SequenceId id, uint32_t layer, uint32_t position, uint32_t head,
                   std::span<const float> row);

  // Copies a recorded position, codes and all, over another one that is writable.
  void copy_position(SequenceId id, uint32_t from, uint32_t to);

  // A recorded row of one side as it is stored: its codes [code_bytes] and scales [n_scales], see
  // kv_kind.h. Written to, the row must be writable.
  struct Row {
    std::byte* codes;
    float* scales;
  };
  Row key_row(SequenceId id, uint32_t layer, uint32_t position, uint32_t head) {
    return row(keys_, id, layer, position, head);
  }
  Row value_row(SequenceId id, uint32_t layer, uint32_t position, uint32_t head) {
    return row(values_, id, layer, position, head);
  }

  // Where attention finds a head; valid until the sequence or the store's pages change.
  KvView view(SequenceId id, uint32_t layer, uint32_t head) const;

  // Rows that held NaN or infinity.
  uint64_t n_not_finite() const { return n_not_finite_; }

  // --- Pages ------------------------------------------------------------------------------------

  KvStoreStats stats() const;

  // Sequences that a page belongs to; 0: it is free.
  uint32_t n_users(uint32_t page) const { return pool_.n_users(page); }

  // Shared pages that were copied for one who wrote, since the store was made.
  uint64_t n_page_copies() const { return n_page_copies_; }

  // Moves the sequence's pages, in order, to the lowest free places before them. How many moved.
  Result<uint32_t> compact_sequence(SequenceId id);

  // Moves the last pages into the first free places until there are no holes. How many moved.
  uint32_t defragment();

 private:
  // The keys or the values of one layer within a page.
  struct Side {
    const KvKindInfo* kind = nullptr;
    size_t code_bytes = 0;    // of one head at one position
    size_t n_scales = 0;      // the same
    size_t scale_offset = 0;  // of the scales within the side
    size_t bytes = 0;         // of the side: whole cache lines
  };

  struct Sequence {
    bool exists = false;
    uint32_t n_positions = 0;
    std::vector<uint32_t> pages;
  };

  explicit KvStore(const KvStoreConfig& config);

  Status check(SequenceId id) const;
  Status check_row(SequenceId id, uint32_t layer, uint32_t position, uint32_t head) const;
  Sequence& add_sequence(SequenceId& id);
  uint32_t pages_for(uint32_t n_positions) const;
  Status take_pages(Sequence& sequence, uint32_t first_writable, uint32_t n_pages);
  void copy_page(uint32_t from, uint32_t to);
  void move_page(uint32_t from, uint32_t to);

  KvHead head(const Side& side, uint32_t layer, uint32_t head) const;
  Row row(const Side& side, SequenceId id, uint32_t layer, uint32_t position, uint32_t head);
  size_t side_offset(const Side& side, uint32_t layer) const;
  void write_row(const Side& side, SequenceId id, uint32_t layer, uint32_t position, uint32_t head,
                 const float* values);
  Status write_side(const Side& side, SequenceId id, uint32_t layer, uint32_t position,
                    std::span<const float> rows);
  Status read(const Side& side, SequenceId id, uint32_t layer, uint32_t position, uint32_t head,
              std::span<float> out) const;

  KvStoreConfig config_;
  Side keys_;
  Side values_;
  size_t page_bytes_ = 0;
  AlignedBuffer memory_;
  PagePool pool_;
  std::vector<Sequence> sequences_;
  std::vector<float> finite_;  // [head_dim]: a row made finite
  uint64_t n_forks_ = 0;
  uint64_t n_page_copies_ = 0;
  uint64_t n_not_finite_ = 0;
};

}  // namespace kinglet
