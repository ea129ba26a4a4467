#include "session/speed_estimate.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/arena.h"
#include "base/clock.h"
#include "model/projection.h"
#include "model/weights.h"
#include "session/thread_choice.h"

namespace kinglet {
namespace {

// More than most caches hold: a model's weights come from memory.
constexpr uint64_t kMostWeights = uint64_t{32} << 20;

// Long enough for the coarse clocks of browsers.
constexpr double kProductSeconds = 0.008;

// So many rows of a prompt are multiplied at once that more would hardly be faster.
constexpr size_t kPromptRows = 32;

// Smaller matrices take no time worth measuring.
constexpr uint64_t kSmallShare = 500;

// Matrices of one type and shape.
struct Product {
  PackedMatrix matrix;
  double count = 0;           // products for each token
  bool makes_logits = false;  // only after the last token of a prompt

  uint64_t bytes() const {
    return uint64_t{matrix.n_rows} * dtype_info(matrix.type).row_bytes(matrix.n_columns);
  }
};

bool is_alike(const PackedMatrix& a, const PackedMatrix& b) {
  return a.type == b.type && a.n_rows == b.n_rows && a.n_columns == b.n_columns &&
         a.interleave == b.interleave && a.in_planes == b.in_planes;
}

std::vector<Product> products_of(const BoundWeights& bound) {
  const ModelConfig& config = bound.config;
  const PackedMatrix& output = bound.weights.output.matrix;
  std::vector<Product> products;
  if (output.n_rows > 0) products.push_back({output, 1, true});
  bound.fill.for_each_matrix([&](std::string_view name, const PackedMatrix& matrix) {
    if (matrix.n_rows == 1) return;  // a vector
    if (output.n_rows > 0 && matrix.data == output.data) return;
    const bool is_expert = config.n_experts > 0 && name.ends_with("_exps.weight");
    const double share = is_expert ? double(config.n_experts_used) / config.n_experts : 1;
    const auto found = std::find_if(products.begin(), products.end(), [&](const Product& other) {
      return !other.makes_logits && is_alike(other.matrix, matrix);
    });
    if (found == products.end()) {
      products.push_back({matrix, share});
    } else {
      found->count += share;
    }
  });
  double total = 0;
  for (const Product& product : products) total += product.count * double(product.bytes());
  std::erase_if(products, [&](const Product& product) {
    return product.count * double(product.bytes()) * kSmallShare < total;
  });
  return products;
}

// Multiplies matrices that are all zero: kernels take the same time for any numbers.
class ProductMeasurement {
 public:
  static Result<ProductMeasurement> create(std::vector<Product> products, const GgufHeader& header,
                                           const KernelSet& kernels, ThreadPool& pool) {
    ProductMeasurement made(std::move(products), kernels, pool);
    uint64_t weights = 0;
    uint64_t n_rows = 0;
    for (const Product& product : made.products_) {
      weights += product.bytes() * uint64_t(product.count + 1);
      made.n_columns_ = std::max<uint64_t>(made.n_columns_, product.matrix.n_columns);
      n_rows = std::max<uint64_t>(n_rows, product.matrix.n_rows);
    }
    KINGLET_ASSIGN(made.weights_, zeros(std::min(weights, kMostWeights)));
    KINGLET_ASSIGN(made.x_, zeros(kPromptRows * made.n_columns_ * sizeof(float)));
    KINGLET_ASSIGN(made.y_, zeros(kPromptRows * n_rows * sizeof(float)));
    const auto lay_out = [&](Arena& arena) {
      return ProjectionScratch::take(arena, kernels, kPromptRows, made.n_columns_, header);
    };
    Arena counting;
    lay_out(counting);
    KINGLET_ASSIGN(made.room_, zeros(counting.n_bytes()));
    Arena arena(made.room_.data());
    made.scratch_ = lay_out(arena);
    return made;
  }

  double token_seconds(size_t n_threads) {
    pool_.limit(n_threads);
    double sum = 0;
    for (const Product& product : products_) sum += product.count * seconds(product, 1);
    return sum;
  }

  double prompt_seconds(size_t n_threads) {
    pool_.limit(n_threads);
    double sum = 0;
    for (const Product& product : products_) {
      if (!product.makes_logits) sum += product.count * seconds(product, kPromptRows);
    }
    return sum / kPromptRows;
  }

 private:
  ProductMeasurement(std::vector<Product> products, const KernelSet& kernels, ThreadPool& pool)
      : products_(std::move(products)), kernels_(kernels), pool_(pool) {}

  static Result<AlignedBuffer> zeros(uint64_t bytes) {
    KINGLET_ASSIGN(AlignedBuffer buffer, AlignedBuffer::allocate(bytes, "measuring the speed"));
    if (buffer.size() > 0) std::memset(buffer.data(), 0, buffer.size());
    return buffer;
  }

  // Returns the time of one product with n_rows rows.
  double seconds(const Product& product, size_t n_rows) {
    const size_t row_bytes = dtype_info(product.matrix.type).row_bytes(product.matrix.n_columns);
    Linear weights{.matrix = product.matrix};
    // Of a large matrix, the first rows.
    const size_t n_room = weights_.size() / row_bytes;
    const size_t n_measured =
        product.matrix.n_rows <= n_room ? product.matrix.n_rows : n_room / kPartGrain * kPartGrain;
    weights.matrix.n_rows = n_measured;
    multiply_next(weights, n_rows);  // wakes the threads
    const Clock::time_point begin = Clock::now();
    size_t n = 0;
    double elapsed = 0;
    for (; elapsed < kProductSeconds; ++n) {
      multiply_next(weights, n_rows);
      elapsed = seconds_since(begin);
    }
    return elapsed / double(n) * double(product.matrix.n_rows) / double(n_measured);
  }

  void multiply_next(Linear& weights, size_t n_rows) {
    const PackedMatrix& matrix = weights.matrix;
    const size_t bytes = matrix.n_rows * dtype_info(matrix.type).row_bytes(matrix.n_columns);
    if (next_ + bytes > weights_.size()) next_ = 0;
    weights.matrix.data = weights_.data() + next_;
    next_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    project_rows(kernels_, pool_, scratch_, x_.as<float>().data(), n_rows,
                 {{&weights, y_.as<float>().data()}});
  }

  std::vector<Product> products_;
  const KernelSet& kernels_;
  ThreadPool& pool_;
  uint64_t n_columns_ = 0;
  AlignedBuffer weights_;
  AlignedBuffer x_;
  AlignedBuffer y_;
  AlignedBuffer room_;
  ProjectionScratch scratch_;
  size_t next_ = 0;  // byte of weights_ at which the next product begins
};

}  // namespace

Result<SpeedEstimate> estimate_speed(GgufFile outline, const KernelSet& kernels, ThreadPool& pool,
                                     bool chooses_threads) {
  KINGLET_ASSIGN(const BoundWeights bound, bind_weights(outline, kernels));
  const bool makes_text = bound.config.makes_text();
  KINGLET_ASSIGN(ProductMeasurement measurement,
                 ProductMeasurement::create(products_of(bound), outline.header(), kernels, pool));
  SpeedEstimate estimate{.n_threads = pool.n_threads()};
  if (chooses_threads && makes_text) {
    estimate.n_threads = fastest_threads(estimate.n_threads, [&](size_t n, size_t n_fewer) {
      return measurement.token_seconds(n_fewer) < kClearlyFaster * measurement.token_seconds(n);
    });
  }
  if (makes_text) estimate.token_seconds = measurement.token_seconds(estimate.n_threads);
  estimate.prompt_seconds = measurement.prompt_seconds(estimate.n_threads);
  return estimate;
}

}  // namespace kinglet
