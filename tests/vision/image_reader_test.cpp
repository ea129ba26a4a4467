// Readers of pictures: compared with llama.cpp's results on every kernel set; and the properties
// that they guarantee.
#include "vision/image_reader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>

#include "vision/pictures.h"

namespace kinglet {
namespace {

// A model, with everything that reading needs.
struct ReaderRunner {
  VisionModel model;
  ThreadPool pool;
  std::unique_ptr<ImageReader> reader;

  ReaderRunner(VisionModel m, size_t n_threads) : model(std::move(m)), pool(n_threads) {}

  static std::unique_ptr<ReaderRunner> of(const std::string& fixture, const KernelSet& kernels,
                                          uint32_t n_batch = kImageBatch, size_t n_threads = 1) {
    auto file = read_gguf_file(fixture_path("vision/" + fixture + ".gguf"));
    EXPECT_TRUE(file.ok());
    auto model = VisionModel::load(std::move(file.value()), kernels);
    EXPECT_TRUE(model.ok()) << model.error().message;
    auto runner = std::make_unique<ReaderRunner>(std::move(model.value()), n_threads);
    auto reader = ImageReader::create(runner->model, runner->pool, n_batch);
    EXPECT_TRUE(reader.ok());
    runner->reader = std::make_unique<ImageReader>(std::move(reader.value()));
    return runner;
  }

  std::span<const ImagePart> read(const TestPicture& picture) {
    const Status status = reader->run(picture.view());
    EXPECT_TRUE(status.ok()) << status.error().message;
    return reader->parts();
  }
};

double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  const double product = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  const double norms = std::inner_product(a.begin(), a.end(), a.begin(), 0.0) *
                       std::inner_product(b.begin(), b.end(), b.begin(), 0.0);
  return product / std::sqrt(norms);
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]));
  return largest;
}

// The summary of rows that a reference contains.
ReferencePart summary_of(const ImageRows& image) {
  ReferencePart part;
  const size_t n = image.n_rows;
  const size_t width = image.width;
  part.n_rows = n;
  for (const size_t row : {size_t{0}, n / 3, 2 * n / 3, n - 1}) {
    const auto first = image.rows.begin() + static_cast<ptrdiff_t>(row * width);
    part.rows.insert(part.rows.end(), first, first + static_cast<ptrdiff_t>(width));
  }
  part.mean.assign(width, 0);
  part.slope.assign(width, 0);
  for (size_t i = 0; i < n * width; ++i) {
    const double share = static_cast<double>(image.rows[i]) / static_cast<double>(n);
    part.mean[i % width] += share;
    part.slope[i % width] += share * static_cast<double>(i / width + 1) / static_cast<double>(n);
  }
  return part;
}

struct Fixture {
  const char* name;
  bool quantized = false;          // kernels may round activations to 8 bits
  bool rounded_reference = false;  // the reference was rounded more than floats
};

class VisionParity : public testing::TestWithParam<std::tuple<Fixture, const KernelSet*>> {
 protected:
  const Fixture& fixture() const { return std::get<0>(GetParam()); }
  const KernelSet& kernels() const { return *std::get<1>(GetParam()); }

  void check(const ReferencePart& expected, const ImagePart& part) {
    ASSERT_EQ(part.text, expected.text);
    ASSERT_EQ(part.image.n_rows, expected.n_rows);
    if (part.is_text()) return;
    const ReferencePart found = summary_of(part.image);
    ASSERT_EQ(found.rows.size(), expected.rows.size());
    const bool rounds = fixture().quantized && &kernels() != &scalar_kernels();
    if (rounds || fixture().rounded_reference) {
      EXPECT_GT(cosine(found.rows, expected.rows), 0.999);
      EXPECT_GT(cosine(found.mean, expected.mean), 0.999);
      EXPECT_GT(cosine(found.slope, expected.slope), 0.999);
    } else {
      EXPECT_LT(difference(found.rows, expected.rows), 2e-3);
      EXPECT_LT(difference(found.mean, expected.mean), 2e-3);
      EXPECT_LT(difference(found.slope, expected.slope), 2e-3);
    }
  }
};

TEST_P(VisionParity, OfPictures) {
  const auto references = read_pictures(std::string("vision/") + fixture().name + ".json");
  ASSERT_FALSE(references.empty());
  const auto runner = ReaderRunner::of(fixture().name, kernels());
  for (const ReferencePicture& reference : references) {
    SCOPED_TRACE(testing::Message() << reference.width << " x " << reference.height);
    const auto parts = runner->read(picture_of(reference.width, reference.height));
    ASSERT_EQ(parts.size(), reference.parts.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "part " << i);
      check(reference.parts[i], parts[i]);
    }
  }
}

constexpr Fixture kFixtures[] = {
    {"idefics3"},
    {"idefics3-Q8_0", true},
    {"idefics3-old"},
    {"lfm2"},
    {"lfm2-unnormed"},
    {"gemma3"},
    {"gemma3-Q4_0", true, true},
    {"gemma4v"},
    {"gemma4v-Q8_0", true},
    {"qwen2vl"},
    {"qwen2vl-old", true},
    {"qwen25vl"},
    {"qwen25vl-whole"},
    {"qwen3vl"},
    {"qwen3vl-deepstack", true},
};

INSTANTIATE_TEST_SUITE_P(Fixtures, VisionParity,
                         testing::Combine(testing::ValuesIn(kFixtures),
                                          testing::ValuesIn(available_kernels().begin(),
                                                            available_kernels().end())),
                         [](const auto& test) {
                           return test_name(std::string(std::get<0>(test.param).name) + "_" +
                                            std::string(std::get<1>(test.param)->name));
                         });

// --- What it promises ---------------------------------------------------------------------------

TEST(ImageReader, GivesTheSameNumbersInAnyBatchOnAnyThreads) {
  const TestPicture picture = picture_of(150, 100);
  for (const KernelSet* kernels : available_kernels()) {
    for (const char* fixture :
         {"idefics3-Q8_0", "gemma3", "gemma4v", "gemma4v-Q8_0", "qwen25vl", "qwen3vl-deepstack"}) {
      SCOPED_TRACE(testing::Message() << fixture << " " << kernels->name);
      const auto whole = ReaderRunner::of(fixture, *kernels);
      const auto cut = ReaderRunner::of(fixture, *kernels, 7, 3);
      const auto expected = whole->read(picture);
      const auto found = cut->read(picture);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].image.rows, expected[i].image.rows) << i;
      }
    }
  }
}

TEST(ImageReader, TellsRowsApartByTheirChecksum) {
  const auto runner = ReaderRunner::of("idefics3", scalar_kernels());
  const auto other = ReaderRunner::of("idefics3-old", scalar_kernels());
  const auto checksums = [](ReaderRunner& reader, const TestPicture& picture) {
    EXPECT_TRUE(reader.reader->begin(picture.view()).ok());
    std::vector<uint64_t> sums;
    for (const ImagePart& part : reader.reader->parts()) {
      if (!part.is_text()) sums.push_back(part.image.checksum);
    }
    return sums;
  };
  TestPicture picture = picture_of(64, 64);
  const auto sums = checksums(*runner, picture);
  ASSERT_EQ(sums.size(), 5u);
  EXPECT_NE(sums[0], sums[1]);
  EXPECT_EQ(checksums(*runner, picture), sums);
  EXPECT_NE(checksums(*other, picture)[0], sums[0]);
  EXPECT_NE(checksums(*runner, {32, 128, picture.pixels})[0], sums[0]);
  ++picture.pixels[5000];
  EXPECT_NE(checksums(*runner, picture)[0], sums[0]);
}

TEST(ImageReader, TellsHowRowsLie) {
  const auto qwen = ReaderRunner::of("qwen3vl", scalar_kernels());
  const ImageRows& grid = qwen->read(picture_of(200, 120))[1].image;
  EXPECT_EQ(grid.grid_width, 6u);
  EXPECT_EQ(grid.grid_height, 4u);
  EXPECT_EQ(grid.n_rows, 24u);
  EXPECT_FALSE(grid.sees_all);
  const auto gemma = ReaderRunner::of("gemma3", scalar_kernels());
  const ImageRows& square = gemma->read(picture_of(200, 120))[1].image;
  EXPECT_EQ(square.grid_width, 0u);
  EXPECT_EQ(square.grid_height, 0u);
  EXPECT_TRUE(square.sees_all);
  const auto free = ReaderRunner::of("gemma4v", scalar_kernels());
  const ImageRows& rows = free->read(picture_of(140, 60))[1].image;
  EXPECT_EQ(rows.n_rows, 13u * 6u);
  EXPECT_EQ(rows.grid_width, 0u);
  EXPECT_TRUE(rows.sees_all);
}

TEST(ImageReader, KnowsTheModelsThatSeeRowsInOrder) {
  const auto projector = find_projector("gemma4v");
  ASSERT_TRUE(projector.ok());
  EXPECT_FALSE(projector.value()->sees_all_in(1536));  // E2B
  EXPECT_FALSE(projector.value()->sees_all_in(2560));  // E4B
  EXPECT_TRUE(projector.value()->sees_all_in(2816));   // 26B-A4B
}

TEST(ImageReader, GoesStepByStepAndHearsOfACancelledCall) {
  const auto runner = ReaderRunner::of("idefics3-old", scalar_kernels(), 5);
  ImageReader& reader = *runner->reader;
  const TestPicture picture = picture_of(150, 100);
  std::atomic<uint32_t> word{0};
  ASSERT_TRUE(reader.begin(picture.view(), {&word, 1}).ok());
  EXPECT_EQ(reader.n_steps(), 5u * 4u);  // tiles × (patches, two layers, rows)
  for (size_t left = reader.n_steps(); left > 3; --left) {
    ASSERT_EQ(reader.n_left(), left);
    ASSERT_TRUE(reader.advance().ok());
  }
  word = 1;
  const Status status = reader.advance();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::cancelled);
  EXPECT_EQ(reader.n_left(), 0u);
  EXPECT_TRUE(reader.parts().empty());
  EXPECT_TRUE(reader.advance().ok());
  EXPECT_EQ(runner->read(picture).size(), 11u);
  EXPECT_EQ(reader.take_parts().size(), 11u);
  EXPECT_TRUE(reader.parts().empty());
  EXPECT_TRUE(reader.advance().ok());
}

TEST(ImageReader, SaysHowMuchMemoryItTakes) {
  for (const char* fixture : {"gemma3", "gemma4v", "gemma4v-Q8_0"}) {
    SCOPED_TRACE(fixture);
    const auto runner = ReaderRunner::of(fixture, scalar_kernels());
    EXPECT_EQ(runner->reader->bytes(), 0u);
    runner->read(picture_of(20, 20));
    const auto n = largest_tile(runner->model.config(), {20, 20});
    ASSERT_TRUE(n.ok());
    EXPECT_EQ(runner->reader->bytes(), runner->reader->bytes_for(n.value()));
  }
}

TEST(ImageReader, RefusesPicturesInWords) {
  const auto expect_refused = [](ReaderRunner& runner, const PictureView& picture,
                                 const std::string& words) {
    const Status status = runner.reader->begin(picture);
    ASSERT_FALSE(status.ok()) << words;
    EXPECT_EQ(status.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(status.error().message.find(words), std::string::npos) << status.error().message;
    EXPECT_TRUE(runner.reader->parts().empty());
    EXPECT_EQ(runner.reader->n_left(), 0u);
  };
  const auto runner = ReaderRunner::of("idefics3-old", scalar_kernels());
  const TestPicture small = picture_of(2, 2);
  expect_refused(*runner, {0, 2, {}}, "0 x 2 pixels, expected sides of 1 to 65536");
  expect_refused(*runner, {65537, 1, small.pixels}, "65537 x 1 pixels");
  expect_refused(*runner, {30000, 20000, small.pixels}, "at most 268435456 pixels");
  expect_refused(*runner, {3, 2, small.pixels}, "has 12 bytes, expected 18");
  const auto gemma = ReaderRunner::of("gemma4v", scalar_kernels());
  expect_refused(*gemma, picture_of(650, 60).view(),
                 "is 162 patches long, expected at most 52: the picture reader has no positions");
}

size_t rows_of(std::span<const ImagePart> parts) {
  size_t n = 0;
  for (const ImagePart& part : parts) n += part.image.n_rows;
  return n;
}

TEST(ImageReader, LaysOutPicturesOfAnyProportions) {
  struct Line {
    const char* fixture;
    size_t rows_across;  // for a line of 65,536 pixels
    size_t rows_down;
  };
  constexpr Line kLines[] = {
      {"idefics3", 3 * 25, 3 * 25}, {"idefics3-old", 257, 257},  // tiles, and the whole
      {"lfm2", 11 * 256, 11 * 256}, {"gemma3", 9, 9},           {"qwen2vl", 2048, 2048},
      {"qwen25vl", 2048, 2048},     {"qwen3vl", 2048, 2048},
  };
  for (const Line& line : kLines) {
    SCOPED_TRACE(line.fixture);
    const auto runner = ReaderRunner::of(line.fixture, scalar_kernels());
    const std::vector<uint8_t> pixels(size_t{65536} * kChannels, 100);
    const Status across = runner->reader->begin({65536, 1, pixels});
    ASSERT_TRUE(across.ok()) << across.error().message;
    EXPECT_EQ(rows_of(runner->reader->parts()), line.rows_across);
    const Status down = runner->reader->begin({1, 65536, pixels});
    ASSERT_TRUE(down.ok()) << down.error().message;
    EXPECT_EQ(rows_of(runner->reader->parts()), line.rows_down);
  }
}

TEST(ImageReader, ScalesLargePicturesDown) {
  const auto old = ReaderRunner::of("idefics3-old", scalar_kernels());
  ASSERT_TRUE(old->reader->begin(picture_of(3000, 600).view()).ok());
  EXPECT_EQ(rows_of(old->reader->parts()), 35u * 7 + 1);
  ASSERT_TRUE(old->reader->begin(picture_of(3000, 2000).view()).ok());
  EXPECT_EQ(rows_of(old->reader->parts()), 19u * 13 + 1);
  const auto begins = [](const char* fixture, size_t n_patches) {
    const auto runner = ReaderRunner::of(fixture, scalar_kernels());
    const auto n = largest_tile(runner->model.config(), {16000, 16000});
    ASSERT_TRUE(n.ok()) << n.error().message;
    EXPECT_EQ(n.value(), n_patches) << fixture;
  };
  begins("idefics3", 100);
  begins("idefics3-old", 16);
  begins("lfm2", 1024);
  begins("gemma3", 144);
  begins("gemma4v-Q8_0", 66 * 66);  // 1,089 rows of 2 x 2 patches
  begins("qwen25vl", 16384);
}

TEST(ImageReader, ReadsPicturesOfOnePixelInHeight) {
  const auto runner = ReaderRunner::of("idefics3", scalar_kernels());
  const auto parts = runner->read(picture_of(4000, 1));
  ASSERT_EQ(parts.size(), 7u);
  EXPECT_EQ(parts[2].text, "<fake_token_around_image><row_1_col_2>");
}

}  // namespace
}  // namespace kinglet
