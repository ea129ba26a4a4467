// Saves a session as bytes, and restores it from them.
//
//   bytes        content
//   0            StateHeader
//   72           the tokens, int32 [n_tokens]: negative for rows of pictures
//                the pictures, StateImage [n_images]
//                the recurrent layers' state after n_positions, float [n_recurrent]
//                the keys and values, see kv/saved_rows.h
//
// All numbers are little-endian. There is no padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "session/session.h"

namespace kinglet {

constexpr std::string_view kStateMagic = "KGLS";
constexpr uint32_t kStateVersion = 9;

struct StateHeader {
  char magic[4];            // kStateMagic
  uint32_t version;         // kStateVersion
  uint64_t checksum;        // hash_bytes of all bytes after it
  uint64_t model;           // Model::identity() in the session's context
  uint64_t n_recurrent;     // floats
  uint64_t position_bytes;  // of the keys and values of a position
  uint32_t k_kind;          // a KvKind
  uint32_t v_kind;
  uint32_t n_tokens;
  uint32_t n_positions;  // the number of tokens that are computed: the first ones
  uint32_t n_spare;      // see SavedRows
  uint32_t n_images;
  uint64_t n_bytes;  // of the state, including this header
};
static_assert(sizeof(StateHeader) == 72);

// A picture without its rows: see PlacedImage and ImageRows.
struct StateImage {
  uint64_t checksum;
  uint32_t first;
  uint32_t n_held;  // how many of its rows the context contains
  uint32_t n_rows;
  uint32_t width;
  uint32_t grid_width;
  uint32_t grid_height;
  uint32_t sees_all;  // 0 or 1
  uint32_t reserved;  // 0
};
static_assert(sizeof(StateImage) == 40);

// Returns the session's state in this format. ErrorCode::out_of_memory.
Result<AlignedBuffer> save_state(const Session& session);

// The same, but saves only the session's computed tokens.
Result<AlignedBuffer> save_computed(const Session& session);

// What the first bytes of a saved state say.
struct SavedBeginning {
  uint64_t model;  // Model::identity() in the session's context
  std::vector<TokenId> tokens;
  KvKind k_kind;
  KvKind v_kind;
};

// The first bytes of a state that read_beginning() needs if it has at most n_tokens.
constexpr uint64_t beginning_bytes(uint32_t n_tokens) {
  return sizeof(StateHeader) + uint64_t{n_tokens} * sizeof(TokenId);
}

// Reads the first bytes of a state. restore_state() may still find that the rest is damaged.
// ErrorCode::corrupt: they are not those of a state, or contain only some of its tokens;
// unsupported_version; wrong_shape: another model.
Result<SavedBeginning> read_beginning(const Model& model, std::span<const std::byte> bytes);

// Restores the session to what it was when `bytes` were saved, without its checkpoints; its logits
// are undefined. The session may have a longer or shorter context than the saved one, and a cache
// in one piece or in pages. If the session keeps all rows of layers with a window and the saved
// state lacks some of them, it computes all tokens again. The rows of pictures are not saved: if
// they must be computed again and the session does not hold them, the caller has to pass them then.
// After an error the session is as it was before. ErrorCode::corrupt: save_state() did not write
// these bytes, or they were changed since; unsupported_version; wrong_shape: another model, or
// other KV kinds than the session's; context_full: more positions than fit; out_of_memory.
Status restore_state(Session& session, std::span<const std::byte> bytes);

}  // namespace kinglet
