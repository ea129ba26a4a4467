// Pictures in a session: which parts of them it keeps, cuts, copies and saves.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/hash.h"
#include "session/generation.h"
#include "session/language_model.h"
#include "session/pictures.h"
#include "session/sessions.h"
#include "session/state.h"
#include "support.h"

namespace kinglet {
namespace {

std::vector<TokenId> text(size_t n, uint32_t seed = 0) {
  std::vector<TokenId> tokens;
  for (uint32_t i = 0; i < n; ++i) tokens.push_back(static_cast<TokenId>(3 + (i * 37 + seed) % 90));
  return tokens;
}

Status append_image(Session& session, const SharedImage& image, Output output = Output::logits,
                    const Cancellation& cancellation = {}) {
  KINGLET_TRY(
      session.begin(image_tokens(*image),
                    {.output = output, .cancellation = cancellation, .images = {&image, 1}}));
  while (session.n_left() > 0) KINGLET_TRY(session.advance());
  return {};
}

struct Kind {
  const char* model;
  bool sees_all;
};

// Attention, windows with rows that see each other, inputs of each layer, short convolutions, delta
// nets with positions in two dimensions, and attention with such positions and with parts added
// after the first layers.
constexpr Kind kImageModels[] = {{"arch/llama", false},    {"arch/gemma3", true},
                                 {"arch/gemma4", false},   {"hybrid/lfm2", false},
                                 {"hybrid/qwen35", false}, {"arch/qwen3vl", false}};

class EachImageModel : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    auto file = read_gguf_file(fixture_path(std::string(GetParam().model) + ".gguf"));
    ASSERT_TRUE(file.ok());
    auto loaded = load_language_model(std::move(file.value()));
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    loaded_.emplace(std::move(loaded.value()));
    first_ = image(1, 4, 3);
    second_ = image(2, 3, 5);
  }

  SharedImage image(uint32_t picture, uint32_t grid_width, uint32_t grid_height) const {
    ImageRows rows = make_image_rows(loaded_->model, picture, grid_width, grid_height);
    rows.sees_all = GetParam().sees_all;
    return std::make_shared<const ImageRows>(std::move(rows));
  }

  std::unique_ptr<Session> session(uint32_t n_batch = 8, uint32_t n_ctx = 256) {
    return make_session(*loaded_, pool_, {.n_ctx = n_ctx, .n_batch = n_batch});
  }

  static Status replace(Session& session, std::span<const TokenId> tokens,
                        const std::vector<SharedImage>& images) {
    KINGLET_TRY(session.begin(tokens, {.replaces_context = true, .images = images}));
    while (session.n_left() > 0) KINGLET_TRY(session.advance());
    return {};
  }

  std::vector<float> logits(Session& session, std::span<const TokenId> tokens,
                            const std::vector<SharedImage>& images) {
    const Status status = replace(session, tokens, images);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return {session.logits().begin(), session.logits().end()};
  }

  // The logits of a session that has nothing to keep.
  std::vector<float> fresh(std::span<const TokenId> tokens,
                           const std::vector<SharedImage>& images) {
    return logits(*session(), tokens, images);
  }

  // Two pictures between texts: [0, 5), rows [5, 17), [17, 24), rows [24, 39), [39, 43).
  std::vector<TokenId> conversation() const {
    return joined({text(5), image_tokens(*first_), text(7, 1), image_tokens(*second_), text(4, 2)});
  }

  std::optional<LanguageModel> loaded_;
  ThreadPool pool_;
  SharedImage first_;
  SharedImage second_;
};

TEST_P(EachImageModel, TheRowsOfAPictureMatter) {
  const auto tokens = conversation();
  const auto expected = fresh(tokens, {first_, second_});
  ImageRows other = *second_;
  other.rows.back() += 1;
  EXPECT_GT(difference(fresh(tokens, {first_, std::make_shared<const ImageRows>(other)}), expected),
            kClose);
}

// The results are equal bit for bit.
TEST_P(EachImageModel, NumbersDoNotDependOnBatches) {
  const auto tokens = conversation();
  const auto expected = logits(*session(1), tokens, {first_, second_});
  for (const uint32_t n_batch : {2u, 7u, 8u, 64u}) {
    EXPECT_EQ(logits(*session(n_batch), tokens, {first_, second_}), expected) << n_batch;
  }
  const auto in_parts = session(8);
  for (const std::vector<TokenId>& part : {text(5), image_tokens(*first_), text(7, 1)}) {
    ASSERT_TRUE(in_parts->begin(part, {.images = {&first_, 1}}).ok());
    while (in_parts->n_left() > 0) ASSERT_TRUE(in_parts->advance(3).ok());
  }
  ASSERT_TRUE(append_image(*in_parts, second_, Output::none).ok());
  EXPECT_EQ(logits_after(*in_parts, text(4, 2)), expected);
}

TEST_P(EachImageModel, APictureThatIsComputedIsNotNeededAgain) {
  const auto one = session();
  const auto tokens = conversation();
  (void)logits(*one, tokens, {first_, second_});
  one->add_checkpoint();
  const auto longer = joined({tokens, text(6, 3)});
  EXPECT_EQ(one->common_prefix(longer), tokens.size());
  ASSERT_TRUE(one->begin(longer, {.replaces_context = true}).ok());
  EXPECT_EQ(one->n_left(), 6u);
  ASSERT_TRUE(one->advance().ok());
  const std::vector<float> found(one->logits().begin(), one->logits().end());
  EXPECT_LT(difference(found, fresh(longer, {first_, second_})), kClose);
}

// There is a checkpoint after the last picture, so another question about it computes only the
// question.
TEST_P(EachImageModel, AnotherQuestionComputesNoPicture) {
  const auto one = session();
  (void)logits(*one, conversation(), {first_, second_});
  const auto before = joined({text(5), image_tokens(*first_), text(7, 1), image_tokens(*second_)});
  const auto other = joined({before, text(4, 8)});
  EXPECT_EQ(one->common_prefix(other), before.size());
  EXPECT_LT(difference(logits(*one, other, {}), fresh(other, {first_, second_})), kClose);
}

TEST_P(EachImageModel, AnotherPictureInItsPlaceIsComputed) {
  const auto one = session();
  (void)logits(*one, conversation(), {first_, second_});
  const auto other = image(3, 3, 5);
  const auto tokens =
      joined({text(5), image_tokens(*first_), text(7, 1), image_tokens(*other), text(4, 2)});
  EXPECT_LE(one->common_prefix(tokens), 24u);
  EXPECT_LT(difference(logits(*one, tokens, {other}), fresh(tokens, {first_, other})), kClose);
  ASSERT_EQ(one->images().size(), 2u);
  EXPECT_EQ(one->images()[1].image, other);
}

// After a changed text, a picture is computed again, from the rows that the session holds.
TEST_P(EachImageModel, APictureMayMove) {
  const auto one = session();
  (void)logits(*one, conversation(), {first_, second_});
  const auto tokens = joined({text(9, 4), image_tokens(*second_), image_tokens(*first_), text(3)});
  EXPECT_LT(difference(logits(*one, tokens, {}), fresh(tokens, {first_, second_})), kClose);
}

TEST_P(EachImageModel, ForksHoldThePictures) {
  const auto parent = session();
  const auto tokens = conversation();
  (void)logits(*parent, tokens, {first_, second_});
  auto forked = parent->fork();
  ASSERT_TRUE(forked.ok());
  ASSERT_TRUE(parent->truncate(0).ok());
  EXPECT_TRUE(parent->images().empty());
  EXPECT_LT(difference(logits_after(*forked.value(), text(5, 9)),
                       fresh(joined({tokens, text(5, 9)}), {first_, second_})),
            kClose);
}

TEST_P(EachImageModel, TruncatesInsideAndBeforeAPicture) {
  const auto tokens = conversation();
  for (const uint32_t n : {41u, 39u, 38u, 30u, 25u, 24u, 20u, 17u, 11u, 6u, 5u, 2u, 0u}) {
    const auto one = session();
    (void)logits(*one, tokens, {first_, second_});
    ASSERT_TRUE(one->truncate(n).ok());
    EXPECT_EQ(one->n_positions(), n);
    EXPECT_EQ(one->images().size(), n > 24 ? 2u : n > 5 ? 1u : 0u);
    const auto found = logits_after(*one, text(5, 6));
    auto expected = tokens;
    expected.resize(n);
    expected = joined({expected, text(5, 6)});
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), one->tokens().begin()));
    EXPECT_LT(difference(found, fresh(expected, {first_, second_})), kClose) << n;
  }
}

TEST_P(EachImageModel, SavesAndRestores) {
  const auto tokens = conversation();
  const auto one = session();
  const auto expected = logits(*one, joined({tokens, text(5, 9)}), {first_, second_});
  ASSERT_TRUE(one->truncate(0).ok());
  (void)logits(*one, tokens, {first_, second_});
  const auto state = save_state(*one);
  ASSERT_TRUE(state.ok());
  const auto other = session(16);
  const Status restored = restore_state(*other, state.value().bytes());
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  ASSERT_EQ(other->images().size(), 2u);
  EXPECT_FALSE(other->images()[0].has_rows());
  EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), other->tokens().begin()));
  const auto again = save_state(*other);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(std::equal(state.value().bytes().begin(), state.value().bytes().end(),
                         again.value().bytes().begin(), again.value().bytes().end()));
  EXPECT_LT(difference(logits_after(*other, text(5, 9)), expected), kClose);

  // Rows that must be computed again have to be given; once given, the session keeps them.
  auto moved = joined({text(6), tokens});
  const auto held = joined({tokens, text(5, 9)});
  EXPECT_EQ(replace(*other, moved, {first_}).error().message,
            "the rows of the picture at position 30 are needed, but were not given");
  EXPECT_TRUE(std::equal(held.begin(), held.end(), other->tokens().begin(), other->tokens().end()));
  EXPECT_LT(difference(logits(*other, moved, {first_, second_}), fresh(moved, {first_, second_})),
            kClose);
  ASSERT_TRUE(restore_state(*other, state.value().bytes()).ok());
  EXPECT_TRUE(other->images()[0].has_rows());
}

TEST_P(EachImageModel, ADamagedStateIsRefused) {
  const auto one = session();
  (void)logits(*one, conversation(), {first_, second_});
  const auto state = save_state(*one);
  ASSERT_TRUE(state.ok());
  const size_t at = sizeof(StateHeader) + conversation().size() * sizeof(TokenId);
  for (size_t i = 0; i < 2 * sizeof(StateImage); i += 4) {
    Bytes bytes(state.value().bytes().begin(), state.value().bytes().end());
    bytes[at + i] ^= std::byte{0x11};
    StateHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    header.checksum = hash_bytes(std::span(bytes).subspan(offsetof(StateHeader, model)));
    std::memcpy(bytes.data(), &header, sizeof header);
    const auto other = session();
    EXPECT_EQ(restore_state(*other, bytes).error().code, ErrorCode::corrupt) << i;
  }
}

TEST_P(EachImageModel, AnErrorLeavesTheSessionAsItWas) {
  const auto one = session();
  const auto tokens = conversation();
  (void)logits(*one, tokens, {first_, second_});
  const auto check = [&](const Status& status, ErrorCode code) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, code) << status.error().message;
    EXPECT_TRUE(
        std::equal(tokens.begin(), tokens.end(), one->tokens().begin(), one->tokens().end()));
    EXPECT_EQ(one->images().size(), 2u);
    EXPECT_EQ(one->n_left(), 0u);
  };
  const auto appended = [&](const auto& change) {
    ImageRows rows = *image(5, 2, 2);
    change(rows);
    return append_image(*one, std::make_shared<const ImageRows>(std::move(rows)));
  };
  check(appended([](ImageRows& rows) { rows.width += 1; }), ErrorCode::wrong_shape);
  check(appended([](ImageRows& rows) { rows.rows.pop_back(); }), ErrorCode::invalid_argument);
  check(appended([](ImageRows& rows) { rows.grid_width = 3; }), ErrorCode::invalid_argument);
  check(appended([](ImageRows& rows) { rows.rows.clear(); }), ErrorCode::invalid_argument);
  check(appended([](ImageRows& rows) { rows.rows[7] = std::numeric_limits<float>::infinity(); }),
        ErrorCode::not_finite);
  check(append_image(*one, image(6, 16, 16)), ErrorCode::context_full);
  check(append_image(*one, std::make_shared<const ImageRows>()), ErrorCode::invalid_argument);
  // Rows of an unknown picture.
  const auto unknown = image_tokens(*image(7, 2, 2));
  check(one->append(unknown), ErrorCode::invalid_argument);
  check(replace(*one, joined({tokens, unknown}), {first_, second_}), ErrorCode::invalid_argument);
  // Rows from the middle of a known picture.
  auto middle = image_tokens(*first_);
  middle.erase(middle.begin());
  check(one->append(middle), ErrorCode::invalid_argument);
}

TEST_P(EachImageModel, CancelledBetweenBatchesItIsAsItWas) {
  const auto one = session(4);
  const auto before = text(5);
  (void)logits(*one, before, {});
  one->add_checkpoint();
  ASSERT_TRUE(one->begin(joined({image_tokens(*first_), text(9)}), {.images = {&first_, 1}}).ok());
  ASSERT_TRUE(one->advance(4).ok());
  EXPECT_GT(one->n_left(), 0u);
  ASSERT_TRUE(one->abandon().ok());
  EXPECT_EQ(one->n_positions(), 5u);
  EXPECT_TRUE(one->images().empty());
  std::atomic<uint32_t> cancelled{7};
  EXPECT_EQ(append_image(*one, second_, Output::logits, {&cancelled, 7}).error().code,
            ErrorCode::cancelled);
  EXPECT_EQ(one->n_positions(), 5u);
  EXPECT_TRUE(one->images().empty());
  // The batches that were computed of a prompt that replaces the context stay.
  const auto tokens = conversation();
  const std::vector<SharedImage> images = {first_, second_};
  ASSERT_TRUE(one->begin(tokens, {.replaces_context = true, .images = images}).ok());
  while (one->n_left() > 22) ASSERT_TRUE(one->advance(4).ok());
  const uint32_t n_done = one->n_positions() - one->n_left();
  ASSERT_TRUE(one->abandon().ok());
  EXPECT_EQ(one->n_positions(), n_done);
  EXPECT_LT(difference(logits(*one, tokens, images), fresh(tokens, images)), kClose);
}

TEST_P(EachImageModel, ThePictureMayFillTheContext) {
  const auto one = session(8, 12 + 5);
  ASSERT_TRUE(one->append(text(5), Output::none).ok());
  ASSERT_TRUE(append_image(*one, first_).ok());
  EXPECT_EQ(one->append(text(1)).error().code, ErrorCode::context_full);
  const std::vector<float> found(one->logits().begin(), one->logits().end());
  EXPECT_LT(difference(found, fresh(joined({text(5), image_tokens(*first_)}), {first_})), kClose);
  // Computes the logits of the picture's last row once more.
  ASSERT_TRUE(one->begin_logits().ok());
  while (one->n_left() > 0) ASSERT_TRUE(one->advance().ok());
  EXPECT_LT(difference({one->logits().begin(), one->logits().end()}, found), kClose);
}

// The text repeats itself, including pictures: only tokens are guessed.
TEST_P(EachImageModel, LookupGuessesNoRowsOfPictures) {
  const auto prompt =
      joined({text(12), image_tokens(*first_), text(12), image_tokens(*first_), text(12)});
  std::vector<TokenId> answers[2];
  for (const uint32_t n_lookup : {0u, kMostGuesses}) {
    const auto one = session();
    GenerationOptions options;
    options.max_tokens = 24;
    options.sampler = {.temperature = 0, .repeat_penalty = 1.1f, .presence_penalty = 0.1f};
    options.n_lookup = n_lookup;
    options.images = {first_};
    auto generation = Generation::start(*one, *loaded_->tokenizer, prompt, options);
    ASSERT_TRUE(generation.ok()) << generation.error().message;
    for (;;) {
      auto step = generation.value().step();
      ASSERT_TRUE(step.ok()) << step.error().message;
      if (step.value().token != kNoToken) answers[n_lookup > 0].push_back(step.value().token);
      if (step.value().finish != FinishReason::none) break;
    }
  }
  EXPECT_FALSE(answers[0].empty());
  EXPECT_EQ(answers[0], answers[1]);
}

INSTANTIATE_TEST_SUITE_P(Models, EachImageModel, testing::ValuesIn(kImageModels),
                         [](const auto& test) {
                           const std::string name = test.param.model;
                           return name.substr(name.find('/') + 1);
                         });

LanguageModel load_fixture(const std::string& name) {
  auto file = load_gguf(with_long_context(read_fixture(name)));
  EXPECT_TRUE(file.ok());
  auto loaded = load_language_model(std::move(file.value()));
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  return std::move(loaded.value());
}

// The picture is larger than a batch, a page of a window, and the window. It is never torn.
TEST(Images, RowsThatSeeEachOtherAreComputedTogetherBesideWindows) {
  const LanguageModel loaded = load_fixture("arch/gemma3.gguf");
  ThreadPool pool;
  ImageRows rows = make_image_rows(loaded.model, 1, 10, 15);
  rows.sees_all = true;
  const auto picture = std::make_shared<const ImageRows>(std::move(rows));
  const auto tokens = joined({text(70), image_tokens(*picture), text(200, 1)});
  const auto session = make_session(loaded, pool, {.n_ctx = 2048, .n_batch = 8});
  ASSERT_EQ(session->sequence().state_here()->groups().size(), 2u);
  const auto whole =
      make_session(loaded, pool, {.n_ctx = 2048, .n_batch = 512, .keeps_all_rows = true});
  const auto expected_behind = [&](const std::vector<TokenId>& ids) {
    EXPECT_TRUE(whole->begin(ids, {.replaces_context = true, .images = {&picture, 1}}).ok());
    while (whole->n_left() > 0) EXPECT_TRUE(whole->advance().ok());
    return std::vector<float>(whole->logits().begin(), whole->logits().end());
  };
  ASSERT_TRUE(session->begin(tokens, {.images = {&picture, 1}}).ok());
  ASSERT_TRUE(session->advance(64).ok());
  EXPECT_EQ(session->n_batch(), 8u);
  while (session->n_left() > 0) ASSERT_TRUE(session->advance(64).ok());
  EXPECT_EQ(session->n_batch(), 150u);
  EXPECT_EQ(std::vector<float>(session->logits().begin(), session->logits().end()),
            expected_behind(tokens));
  for (const uint32_t n : {250u, 221u, 150u, 72u, 60u}) {
    ASSERT_TRUE(session->truncate(n).ok());
    auto shorter = tokens;
    shorter.resize(n);
    shorter = joined({shorter, text(9, 5)});
    EXPECT_LT(difference(logits_after(*session, text(9, 5)), expected_behind(shorter)), kClose)
        << n;
    EXPECT_FALSE(session->images().size() == 1 &&
                 session->images()[0].is_torn_at(session->n_computed()));
    ASSERT_TRUE(session->truncate(0).ok());
    ASSERT_TRUE(session->begin(tokens, {.images = {&picture, 1}}).ok());
    while (session->n_left() > 0) ASSERT_TRUE(session->advance().ok());
  }
}

TEST(Images, AShiftDropsAllOfAPictureBehindAPartOfIt) {
  const LanguageModel loaded = load_fixture("arch/llama.gguf");
  ThreadPool pool;
  const auto picture = make_image(loaded.model, 1, 4, 3);
  const auto other = make_image(loaded.model, 2, 2, 2);
  const std::vector<SharedImage> images = {picture, other};
  // The pictures' rows are [5, 17) and [24, 28).
  const auto tokens =
      joined({text(5), image_tokens(*picture), text(7, 1), image_tokens(*other), text(4, 2)});
  struct Case {
    uint32_t n_kept, n_dropped, end, n_images, first, n_rows;
  };
  for (const auto& [n_kept, n_dropped, end, n_images, first, n_rows] :
       {Case{3, 8, 17, 1, 10, 4}, Case{10, 3, 17, 2, 5, 5}, Case{0, 5, 5, 2, 0, 12},
        Case{2, 23, 28, 0, 0, 0}, Case{18, 2, 20, 2, 5, 12}}) {
    const auto session = make_session(loaded, pool, {.n_ctx = 64});
    ASSERT_TRUE(session->begin(tokens, {.images = images}).ok());
    ASSERT_TRUE(session->advance().ok());
    ASSERT_TRUE(session->shift(n_kept, n_dropped).ok());
    auto expected = tokens;
    expected.erase(expected.begin() + static_cast<ptrdiff_t>(n_kept),
                   expected.begin() + static_cast<ptrdiff_t>(end));
    EXPECT_EQ(std::vector<TokenId>(session->tokens().begin(), session->tokens().end()), expected);
    ASSERT_EQ(session->images().size(), n_images) << n_kept;
    if (n_images > 0) {
      EXPECT_EQ(session->images()[0].first, first);
      EXPECT_EQ(session->images()[0].n_rows, n_rows);
    }
    EXPECT_TRUE(session->append(text(3)).ok());
    // A prompt can continue the tokens that the session now holds.
    EXPECT_TRUE(session->begin(joined({expected, text(4)}), {.replaces_context = true}).ok());
  }
}

TEST(Images, WhereLinesAndColumnsAreCountedNothingIsShifted) {
  const LanguageModel loaded = load_fixture("arch/qwen3vl.gguf");
  ThreadPool pool;
  const auto session = make_session(loaded, pool, {.n_ctx = 64});
  ASSERT_TRUE(session->append(text(9)).ok());
  ASSERT_TRUE(append_image(*session, make_image(loaded.model, 1, 4, 3)).ok());
  const Status shifted = session->shift(2, 3);
  ASSERT_FALSE(shifted.ok());
  EXPECT_EQ(shifted.error().code, ErrorCode::unsupported_feature);
  EXPECT_EQ(session->n_positions(), 21u);
  ASSERT_TRUE(session->truncate(9).ok());
  EXPECT_TRUE(session->shift(2, 3).ok());
}

// A row's time is that of the picture; after the picture, time continues from the larger of its
// sides.
TEST(Images, CountLinesAndColumns) {
  const auto grid = std::make_shared<const ImageRows>(
      ImageRows{.rows = {}, .n_rows = 6, .width = 1, .grid_width = 3, .grid_height = 2});
  const auto list = std::make_shared<const ImageRows>(ImageRows{.rows = {}, .n_rows = 4});
  const std::vector<PlacedImage> images = {{grid, 2, 6}, {list, 9, 4}, {grid, 13, 4}};
  const auto at = [&](size_t position) {
    const RopePosition found = rope_position(images, position);
    return std::vector<uint32_t>(std::begin(found.of), std::end(found.of));
  };
  EXPECT_EQ(at(1), (std::vector<uint32_t>{1, 1, 1}));
  EXPECT_EQ(at(2), (std::vector<uint32_t>{2, 2, 2}));
  EXPECT_EQ(at(4), (std::vector<uint32_t>{2, 2, 4}));
  EXPECT_EQ(at(6), (std::vector<uint32_t>{2, 3, 3}));
  EXPECT_EQ(at(8), (std::vector<uint32_t>{5, 5, 5}));
  EXPECT_EQ(at(9), (std::vector<uint32_t>{6, 6, 6}));
  EXPECT_EQ(at(12), (std::vector<uint32_t>{9, 9, 9}));
  EXPECT_EQ(at(16), (std::vector<uint32_t>{10, 11, 10}));
  EXPECT_EQ(at(17), (std::vector<uint32_t>{13, 13, 13}));  // only four of its rows are left
}

TEST(Images, AreToldApartByAllThatIsKnown) {
  ImageRows image{.rows = {}, .n_rows = 4, .width = 8, .checksum = 5};
  const auto tokens = image_tokens(image);
  for (const TokenId token : tokens) EXPECT_TRUE(is_image_token(token));
  EXPECT_EQ(n_rows_at(image, tokens), 4u);
  const auto differs = [&](const auto& change) {
    ImageRows other = image;
    change(other);
    return n_rows_at(other, tokens) == 0;
  };
  EXPECT_TRUE(differs([](ImageRows& other) { other.checksum = 6; }));
  EXPECT_TRUE(differs([](ImageRows& other) { other.n_rows = 5; }));
  EXPECT_TRUE(differs([](ImageRows& other) { other.width = 9; }));
  EXPECT_TRUE(differs([](ImageRows& other) { other.grid_width = other.grid_height = 2; }));
  EXPECT_TRUE(differs([](ImageRows& other) { other.sees_all = true; }));
  EXPECT_FALSE(differs([](ImageRows& other) { other.rows.resize(32); }));
}

// Guesses end at the beginning of a picture.
TEST(PromptLookup, GuessesNoRowOfAPicture) {
  PromptLookup lookup(64, kMostGuesses);
  const std::vector<TokenId> tokens = {5, 6, 7, 8, -900, -901, 5, 6, 7};
  const auto guesses = lookup.guess(tokens, kMostGuesses);
  EXPECT_EQ(std::vector<TokenId>(guesses.begin(), guesses.end()), std::vector<TokenId>{8});
}

TEST(Sampler, DoesNotCountRowsOfPictures) {
  Sampler sampler({.temperature = 0, .repeat_penalty = 2}, 4, scalar_kernels());
  for (const TokenId token : {-900, 2, -901}) sampler.accept(token);
  std::vector<float> logits = {1, 2, 3, 0};
  EXPECT_EQ(sampler.sample(logits), 1);
}

}  // namespace
}  // namespace kinglet
