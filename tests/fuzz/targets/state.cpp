// Saved sessions with some changed bytes and, at times, a corrected checksum: they are restored, or
// refused without any change.
#include "session/state.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "fuzz/input.h"
#include "gguf/file.h"
#include "model/tiny_model.h"
#include "session/language_model.h"

namespace kinglet::fuzz {
namespace {

constexpr uint32_t kCtx = 12;
constexpr int kMaxStateChanges = 8;

using State = std::vector<std::byte>;

State save(const Session& session) {
  const auto saved = save_state(session);
  check(saved.ok(), "a session cannot be saved");
  return {saved.value().bytes().begin(), saved.value().bytes().end()};
}

void seal(State& state) {
  if (state.size() < sizeof(StateHeader)) return;
  const uint64_t n_bytes = state.size();
  std::memcpy(&state[offsetof(StateHeader, n_bytes)], &n_bytes, sizeof n_bytes);
  const uint64_t checksum =
      hash_bytes(std::span<const std::byte>(state).subspan(offsetof(StateHeader, model)));
  std::memcpy(&state[offsetof(StateHeader, checksum)], &checksum, sizeof checksum);
}

// Overwrites some bytes, or cuts or extends the end.
void change_state(Input& input, State& state) {
  const size_t at = input.number<uint16_t>() % state.size();
  switch (input.up_to(3)) {
    case 0:
      state[at] = static_cast<std::byte>(input.number<uint8_t>());
      return;
    case 1: {
      const auto word = input.number<uint32_t>();
      std::memcpy(&state[at], &word, std::min(sizeof word, state.size() - at));
      return;
    }
    case 2:
      state.resize(at + 1);
      return;
    default:
      state.resize(state.size() + input.up_to(200));
  }
}

std::unique_ptr<Session> make_session(const LanguageModel& loaded, ThreadPool& pool, Input& input,
                                      KvKind k_kind, KvKind v_kind) {
  SequenceOptions options;
  options.n_ctx = kCtx;
  options.k_kind = k_kind;
  options.v_kind = v_kind;
  options.page_positions = input.up_to(4);
  auto session = Session::create(loaded.model, pool, options);
  check(session.ok(), "a small session is refused");
  std::vector<TokenId> tokens(1 + input.up_to(kCtx - 2));
  for (TokenId& token : tokens) token = static_cast<TokenId>(3 + input.up_to(4));
  check(session.value()->append(tokens).ok(), "tokens are refused");
  return std::move(session.value());
}

// The logits after one more token, which is removed again.
std::vector<float> logits_behind(Session& session) {
  const uint32_t n = session.n_positions();
  const TokenId token = 4;
  if (n == session.n_ctx() || !session.append({&token, 1}).ok()) return {};
  const std::vector<float> logits(session.logits().begin(), session.logits().end());
  check(session.truncate(n).ok(), "the token cannot be forgotten");
  return logits;
}

}  // namespace

void state(Bytes bytes) {
  static const LanguageModel loaded = [] {
    TinyModel tiny;  // its layers keep different rows
    tiny.head_dim = 2;
    tiny.n_heads_by_layer = {4, 2};
    tiny.n_kv_heads_by_layer = {2, 1};
    auto file = load_gguf(tiny.build());
    return std::move(load_language_model(std::move(file.value())).value());
  }();
  Input input(bytes);
  ThreadPool pool;
  const auto k_kind = static_cast<KvKind>(input.up_to(kNKvKinds - 1));
  const auto v_kind = static_cast<KvKind>(input.up_to(kNKvKinds - 1));
  const auto saved = make_session(loaded, pool, input, k_kind, v_kind);
  const auto session = make_session(loaded, pool, input, k_kind, v_kind);

  State changed = save(*saved);
  for (int i = 0; i < kMaxStateChanges && !input.empty(); ++i) change_state(input, changed);
  if (input.flag()) seal(changed);

  const State before = save(*session);
  const auto logits = logits_behind(*session);
  const auto beginning = read_beginning(loaded.model, changed);
  const Status status = restore_state(*session, changed);
  if (status.ok()) {
    check(beginning.ok(), "the beginning of what is restored cannot be read");
    const std::vector<TokenId>& tokens = beginning.value().tokens;
    check(std::ranges::equal(tokens, session->tokens()), "a beginning of other tokens");
    check(save(*session) == changed, "what is restored is not what was saved");
    (void)logits_behind(*session);
  } else {
    check(!status.error().message.empty(), "an error without words");
    check(save(*session) == before, "a refused state changed the session");
    check(logits_behind(*session) == logits, "a refused state changed what follows");
  }
}

}  // namespace kinglet::fuzz
