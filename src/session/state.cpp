#include "session/state.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/hash.h"

namespace kinglet {
namespace {

constexpr size_t kChecked = offsetof(StateHeader, model);  // where the checksum's bytes begin

// The first position of which the state has a layer's rows.
uint32_t first_row(const StateHeader& header, const RowShape& shape) {
  return header.n_spare == SequenceState::kAllRows
             ? 0
             : first_kept(shape.window, header.n_positions, header.n_spare);
}

// Bytes of a layer's rows at a position.
uint64_t row_bytes(const StateHeader& header, const RowShape& shape) {
  return shape.n_kv_heads *
         (kv_kind_info(static_cast<KvKind>(header.k_kind)).row_bytes(shape.head_dim) +
          kv_kind_info(static_cast<KvKind>(header.v_kind)).row_bytes(shape.head_dim));
}

// No sum overflows if the header's numbers are those of a session in memory.
uint64_t bytes_of(const StateHeader& header, const std::vector<RowShape>& shapes) {
  uint64_t sum = sizeof header + header.n_tokens * uint64_t{sizeof(TokenId)} +
                 header.n_images * uint64_t{sizeof(StateImage)} +
                 header.n_recurrent * sizeof(float);
  for (const RowShape& shape : shapes) {
    sum += (header.n_positions - first_row(header, shape)) * row_bytes(header, shape);
  }
  return sum;
}

const std::vector<RowShape>& shapes_of(const Session& session) {
  return session.model().state_shape().rows;
}

StateHeader header_of(const Session& session) {
  KvStoreConfig kv = session.kv_store().config();
  kv.rows = shapes_of(session);
  StateHeader header{.magic = {'K', 'G', 'L', 'S'},
                     .version = session.images().empty() ? kTextStateVersion : kStateVersion,
                     .checksum = 0,
                     .model = session.model().identity(),
                     .n_recurrent = session.model().state_shape().n_recurrent,
                     .position_bytes = kv.bytes_per_position(),
                     .k_kind = static_cast<uint32_t>(kv.k_kind),
                     .v_kind = static_cast<uint32_t>(kv.v_kind),
                     .n_tokens = session.n_positions(),
                     .n_positions = session.state().size(),
                     .n_spare = session.state().n_spare(),
                     .n_images = static_cast<uint32_t>(session.images().size()),
                     .n_bytes = 0};
  header.n_bytes = bytes_of(header, shapes_of(session));
  return header;
}

Error corrupt(std::string_view what) {
  return {ErrorCode::corrupt, cat("not the saved state of a session: ", what)};
}

Result<StateHeader> read_header(std::span<const std::byte> bytes) {
  StateHeader header;
  if (bytes.size() < sizeof header) {
    return corrupt(cat(bytes.size(), " bytes, expected ", sizeof header, " or more"));
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::string_view(header.magic, sizeof header.magic) != "KGLS")
    return corrupt("its beginning is different");
  if (header.version != kStateVersion && header.version != kTextStateVersion) {
    return Error{ErrorCode::unsupported_version,
                 cat("a session's state of version ", header.version, ", expected ",
                     kTextStateVersion, " or ", kStateVersion)};
  }
  if (header.n_bytes != bytes.size()) {
    return corrupt(cat(bytes.size(), " bytes, expected ", header.n_bytes));
  }
  if (header.checksum != hash_bytes(bytes.subspan(kChecked)))
    return corrupt("the checksum differs");
  return header;
}

// Checks that the state belongs to a session like this one, and fits it.
Status check_shape(const StateHeader& found, const Session& session) {
  StateHeader expected = header_of(session);
  if (found.model != expected.model) {
    return Error{ErrorCode::wrong_shape, "the state was saved with another model"};
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
  const bool has_spare = found.n_spare <= kWindowSpare || found.n_spare == SequenceState::kAllRows;
  if (found.n_positions > found.n_tokens || !has_spare ||
      (found.n_images > 0) != (found.version == kStateVersion) ||
      found.n_bytes != bytes_of(found, shapes_of(session))) {
    return corrupt(cat(found.n_bytes, " bytes for ", found.n_tokens, " tokens, ", found.n_positions,
                       " of them computed"));
  }
  return {};
}

StateImage state_of(const PlacedImage& placed) {
  const ImageRows& image = *placed.image;
  return {.checksum = image.checksum,
          .first = placed.first,
          .n_held = placed.n_rows,
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
  if (std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); })) {
    return {};
  }
  return corrupt("a number of the recurrent layers is not finite");
}

// Checks that all keys and values are finite: attention relies on that.
Status check_rows(const StateHeader& header, const std::vector<RowShape>& shapes,
                  std::span<const std::byte> rows) {
  std::vector<std::byte> codes;
  std::vector<float> scales;
  std::vector<float> numbers;
  const auto next_is_finite = [&](const KvKindInfo& kind, uint32_t head_dim) {
    codes.resize(static_cast<size_t>(kind.code_bytes(head_dim)));
    scales.resize(static_cast<size_t>(kind.n_scales(head_dim)));
    numbers.resize(head_dim);
    rows = read_values(read_values(rows, codes), scales);
    kind.read_row(codes.data(), scales.data(), 0, head_dim, numbers.data());
    return std::all_of(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); });
  };
  const KvKindInfo& k_kind = kv_kind_info(static_cast<KvKind>(header.k_kind));
  const KvKindInfo& v_kind = kv_kind_info(static_cast<KvKind>(header.v_kind));
  for (uint32_t position = 0; position < header.n_positions; ++position) {
    for (const RowShape& shape : shapes) {
      if (position < first_row(header, shape)) continue;
      for (uint32_t head = 0; head < shape.n_kv_heads; ++head) {
        if (!next_is_finite(k_kind, shape.head_dim) || !next_is_finite(v_kind, shape.head_dim)) {
          return corrupt("a key or value is not finite");
        }
      }
    }
  }
  return {};
}

// Copies the rows of the state: from `from` to the session, or, if `from` is null, from the session
// to `to`. Rows that the session does not keep are left out.
void copy_rows(const StateHeader& header, const Session& session, const std::byte* from,
               std::byte* to) {
  const std::vector<RowShape>& shapes = shapes_of(session);
  size_t of_layer = 0;  // where the layer's rows at a position begin
  size_t at = 0;
  const auto copy = [&](void* row, size_t n_bytes) {
    if (from != nullptr) {
      std::memcpy(row, from + at, n_bytes);
    } else {
      std::memcpy(to + at, row, n_bytes);
    }
    at += n_bytes;
  };
  for (uint32_t position = 0; position < header.n_positions; ++position) {
    for (uint32_t i = 0; i < shapes.size(); ++i) {
      if (position < first_row(header, shapes[i])) continue;
      at = of_layer;
      session.state().for_each_row_at(i, position,
                                      [&](std::span<std::byte> codes, std::span<float> scales) {
                                        copy(codes.data(), codes.size());
                                        copy(scales.data(), scales.size_bytes());
                                      });
      of_layer += static_cast<size_t>(row_bytes(header, shapes[i]));
    }
  }
}

// Whether the state has every row that the session would keep.
bool has_all_rows(const StateHeader& header, const Session& session) {
  const std::vector<RowShape>& shapes = shapes_of(session);
  for (uint32_t i = 0; i < shapes.size(); ++i) {
    const uint32_t wanted = session.state().first_row(i, header.n_positions, header.n_spare);
    if (wanted < first_row(header, shapes[i])) return false;
  }
  return true;
}

}  // namespace

Result<AlignedBuffer> save_state(const Session& session) {
  StateHeader header = header_of(session);
  KINGLET_ASSIGN(AlignedBuffer buffer,
                 AlignedBuffer::allocate(header.n_bytes, "a session's state"));
  const std::span<const std::byte> tokens = std::as_bytes(session.tokens());
  std::byte* at = std::copy(tokens.begin(), tokens.end(), buffer.data() + sizeof header);
  for (const PlacedImage& placed : session.images()) {
    const StateImage image = state_of(placed);
    std::memcpy(at, &image, sizeof image);
    at += sizeof image;
  }
  const std::span<const std::byte> recurrent = session.state().recurrent().as_bytes();
  std::byte* rows = std::copy(recurrent.begin(), recurrent.end(), at);
  copy_rows(header, session, nullptr, rows);
  std::memcpy(buffer.data(), &header, sizeof header);
  header.checksum = hash_bytes(buffer.bytes().subspan(kChecked));
  std::memcpy(buffer.data(), &header, sizeof header);
  return buffer;
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
  KINGLET_TRY(check_rows(header, shapes_of(session), rows));

  if (!has_all_rows(header, session)) return session.overwrite(tokens, std::move(placed), 0, 0, {});
  KINGLET_TRY(
      session.overwrite(tokens, std::move(placed), header.n_positions, header.n_spare, recurrent));
  copy_rows(header, session, rows.data(), nullptr);
  return {};
}

}  // namespace kinglet
