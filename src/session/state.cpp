#include "session/state.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/finite.h"
#include "base/format.h"
#include "base/hash.h"

namespace kinglet {
namespace {

constexpr size_t kChecked = offsetof(StateHeader, model);  // where the checksum's bytes begin

SavedRows rows_of(const StateHeader& header, const Session& session) {
  return {.shapes = session.model().state_shape().rows,
          .k_kind = static_cast<KvKind>(header.k_kind),
          .v_kind = static_cast<KvKind>(header.v_kind),
          .n_positions = header.n_positions,
          .n_spare = header.n_spare};
}

// No sum overflows if the header's numbers are those of a session in memory.
uint64_t bytes_of(const StateHeader& header, const SavedRows& rows) {
  return sizeof header + header.n_tokens * uint64_t{sizeof(TokenId)} +
         header.n_images * uint64_t{sizeof(StateImage)} + header.n_recurrent * sizeof(float) +
         rows.bytes();
}

// The pictures that the first n_tokens contain, or a part of.
uint32_t count_images(const Session& session, uint32_t n_tokens) {
  return static_cast<uint32_t>(
      std::count_if(session.images().begin(), session.images().end(),
                    [&](const PlacedImage& placed) { return placed.first < n_tokens; }));
}

StateHeader header_of(const Session& session, uint32_t n_tokens) {
  const SavedRows rows = session.sequence().saved_rows();
  StateHeader header{.magic = {'K', 'G', 'L', 'S'},
                     .version = kStateVersion,
                     .checksum = 0,
                     .model = session.model().identity(session.n_ctx()),
                     .n_recurrent = session.model().state_shape().n_recurrent,
                     .position_bytes = rows.position_bytes(),
                     .k_kind = static_cast<uint32_t>(rows.k_kind),
                     .v_kind = static_cast<uint32_t>(rows.v_kind),
                     .n_tokens = n_tokens,
                     .n_positions = rows.n_positions,
                     .n_spare = rows.n_spare,
                     .n_images = count_images(session, n_tokens),
                     .n_bytes = 0};
  header.n_bytes = bytes_of(header, rows);
  return header;
}

Error corrupt(std::string_view what) {
  return {ErrorCode::corrupt, cat("not the saved state of a session: ", what)};
}

Result<StateHeader> read_first_header(std::span<const std::byte> bytes) {
  StateHeader header;
  if (bytes.size() < sizeof header) {
    return corrupt(cat(bytes.size(), " bytes, expected ", sizeof header, " or more"));
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::string_view(header.magic, sizeof header.magic) != kStateMagic)
    return corrupt("its beginning is different");
  if (header.version != kStateVersion) {
    return Error{ErrorCode::unsupported_version, cat("a session's state of version ",
                                                     header.version, ", expected ", kStateVersion)};
  }
  return header;
}

Result<StateHeader> read_header(std::span<const std::byte> bytes) {
  KINGLET_ASSIGN(const StateHeader header, read_first_header(bytes));
  if (header.n_bytes != bytes.size()) {
    return corrupt(cat(bytes.size(), " bytes, expected ", header.n_bytes));
  }
  if (header.checksum != hash_bytes(bytes.subspan(kChecked)))
    return corrupt("the checksum differs");
  return header;
}

// Checks that the state was saved with this model, in any context.
Status check_model(const StateHeader& found, const Model& model) {
  if (found.model == model.identity(0) || found.model == model.identity(UINT32_MAX)) return {};
  return Error{ErrorCode::wrong_shape, "the state was saved with another model"};
}

// Checks that the state belongs to a session like this one, and fits it.
Status check_shape(const StateHeader& found, const Session& session) {
  KINGLET_TRY(check_model(found, session.model()));
  const StateHeader expected = header_of(session, session.n_positions());
  if (found.model != expected.model) {
    return Error{ErrorCode::wrong_shape,
                 cat("the state and a context of ", session.n_ctx(),
                     " positions are on different sides of the ",
                     session.model().config().rope.original_context,
                     " positions above which the model rotates keys differently")};
  }
  const auto kind_name = [](uint32_t kind) -> std::string_view {
    return kind < kNKvKinds ? kv_kind_info(static_cast<KvKind>(kind)).name : "an unknown kind";
  };
  const auto shape = [&](const StateHeader& header) {
    return cat(header.n_recurrent, " numbers of recurrent layers, ", header.position_bytes,
               " bytes of rows a position, keys in ", kind_name(header.k_kind), " and values in ",
               kind_name(header.v_kind));
  };
  if (shape(found) != shape(expected)) {
    return Error{ErrorCode::wrong_shape,
                 cat("the state holds ", shape(found), ", the session ", shape(expected))};
  }
  if (found.n_tokens > session.n_ctx()) {
    return Error{ErrorCode::context_full, cat("the state holds ", found.n_tokens,
                                              " positions, the session ", session.n_ctx())};
  }
  const bool has_spare = found.n_spare <= kWindowSpare || found.n_spare == kAllRows;
  if (found.n_positions > found.n_tokens || !has_spare ||
      found.n_bytes != bytes_of(found, rows_of(found, session))) {
    return corrupt(cat(found.n_bytes, " bytes for ", found.n_tokens, " tokens, ", found.n_positions,
                       " of them computed"));
  }
  return {};
}

StateImage state_of(const PlacedImage& placed, uint32_t n_tokens) {
  const ImageRows& image = *placed.image;
  return {.checksum = image.checksum,
          .first = placed.first,
          .n_held = std::min(placed.n_rows, n_tokens - placed.first),
          .n_rows = image.n_rows,
          .width = image.width,
          .grid_width = image.grid_width,
          .grid_height = image.grid_height,
          .sees_all = image.sees_all ? 1u : 0u,
          .reserved = 0};
}

// Reads where the rows of pictures are among the tokens.
Status place_images(std::span<const std::byte> bytes, std::span<const TokenId> tokens,
                    const ModelConfig& config, std::vector<PlacedImage>& placed) {
  uint32_t end = 0;
  for (; !bytes.empty(); bytes = bytes.subspan(sizeof(StateImage))) {
    StateImage saved;
    std::memcpy(&saved, bytes.data(), sizeof saved);
    auto image = std::make_shared<ImageRows>();
    image->n_rows = saved.n_rows;
    image->width = saved.width;
    image->grid_width = saved.grid_width;
    image->grid_height = saved.grid_height;
    image->sees_all = saved.sees_all != 0;
    image->checksum = saved.checksum;
    const bool is_known = saved.sees_all <= 1 && saved.reserved == 0;
    const bool is_inside = saved.first >= end && saved.first < tokens.size() &&
                           saved.n_held <= tokens.size() - saved.first;
    if (!is_known || !is_inside || !check_image(*image, config).ok() || saved.n_held == 0 ||
        n_rows_at(*image, tokens.subspan(saved.first)) != saved.n_held) {
      return corrupt(cat("the picture at position ", saved.first, " has other rows"));
    }
    placed.push_back({std::move(image), saved.first, saved.n_held});
    end = placed.back().end();
  }
  return {};
}

Status check_tokens(std::span<const TokenId> tokens, PlacedImages images, uint32_t vocab_size) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const TokenId token = tokens[i];
    if (image_at(images, i) != nullptr) continue;
    if (token < 0 || static_cast<uint32_t>(token) >= vocab_size) {
      return corrupt(cat("token ", token, " is outside the vocabulary of ", vocab_size));
    }
  }
  return {};
}

// Fills `values` and returns the bytes after them. An empty vector has no memory to copy to.
template <class T>
std::span<const std::byte> read_values(std::span<const std::byte> bytes, std::vector<T>& values) {
  const size_t n = values.size() * sizeof(T);
  if (n > 0) std::memcpy(values.data(), bytes.data(), n);
  return bytes.subspan(n);
}

Status check_recurrent(std::span<const std::byte> bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  read_values(bytes, numbers);
  if (all_finite(numbers)) return {};
  return corrupt("a number of the recurrent layers is not finite");
}

// Saves the first n_tokens, which are at least the computed ones.
Result<AlignedBuffer> save_first(const Session& session, uint32_t n_tokens) {
  StateHeader header = header_of(session, n_tokens);
  KINGLET_ASSIGN(AlignedBuffer buffer,
                 AlignedBuffer::allocate(header.n_bytes, "a session's state"));
  const std::span<const std::byte> tokens = std::as_bytes(session.tokens().first(n_tokens));
  std::byte* at = std::copy(tokens.begin(), tokens.end(), buffer.data() + sizeof header);
  for (const PlacedImage& placed : session.images().first(header.n_images)) {
    const StateImage image = state_of(placed, n_tokens);
    std::memcpy(at, &image, sizeof image);
    at += sizeof image;
  }
  const std::span<std::byte> rest(at, buffer.bytes().data() + buffer.size());
  const auto n_recurrent = static_cast<size_t>(header.n_recurrent) * sizeof(float);
  session.sequence().save(rest.subspan(n_recurrent), rest.first(n_recurrent));
  std::memcpy(buffer.data(), &header, sizeof header);
  header.checksum = hash_bytes(buffer.bytes().subspan(kChecked));
  std::memcpy(buffer.data(), &header, sizeof header);
  return buffer;
}

}  // namespace

Result<AlignedBuffer> save_state(const Session& session) {
  return save_first(session, session.n_positions());
}

Result<AlignedBuffer> save_computed(const Session& session) {
  return save_first(session, session.n_computed());
}

Result<SavedBeginning> read_beginning(const Model& model, std::span<const std::byte> bytes) {
  KINGLET_ASSIGN(const StateHeader header, read_first_header(bytes));
  KINGLET_TRY(check_model(header, model));
  if (header.k_kind >= kNKvKinds || header.v_kind >= kNKvKinds ||
      bytes.size() < beginning_bytes(header.n_tokens)) {
    return corrupt(cat("only the first ", bytes.size(), " bytes"));
  }
  SavedBeginning beginning{.model = header.model,
                           .tokens = std::vector<TokenId>(header.n_tokens),
                           .k_kind = static_cast<KvKind>(header.k_kind),
                           .v_kind = static_cast<KvKind>(header.v_kind)};
  read_values(bytes.subspan(sizeof header), beginning.tokens);
  return beginning;
}

Status restore_state(Session& session, std::span<const std::byte> bytes) {
  KINGLET_ASSIGN(const StateHeader header, read_header(bytes));
  KINGLET_TRY(check_shape(header, session));
  std::vector<TokenId> tokens(header.n_tokens);
  const std::span<const std::byte> images = read_values(bytes.subspan(sizeof header), tokens);
  const auto after = images.subspan(header.n_images * sizeof(StateImage));
  const auto recurrent = after.first(static_cast<size_t>(header.n_recurrent) * sizeof(float));
  const auto rows = after.subspan(recurrent.size());
  const ModelConfig& config = session.model().config();
  std::vector<PlacedImage> placed;
  KINGLET_TRY(
      place_images(images.first(header.n_images * sizeof(StateImage)), tokens, config, placed));
  KINGLET_TRY(check_tokens(tokens, placed, config.vocab_size));
  KINGLET_TRY(check_recurrent(recurrent));
  const SavedRows saved = rows_of(header, session);
  if (!saved.are_finite(rows)) return corrupt("a key or value is not finite");
  return session.restore(tokens, std::move(placed), saved, rows, recurrent);
}

}  // namespace kinglet
