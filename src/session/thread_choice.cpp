#include "session/thread_choice.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "model/scratch.h"
#include "model/step.h"

namespace kinglet {
namespace {

// A round is as long as that of a small model's layer. There are enough rounds for the coarse
// clocks of browsers, and together they read more weights than second-level caches hold.
constexpr size_t kMeasuredBytes = size_t{1} << 20;
constexpr size_t kRounds = 6;

// How often each number of threads is measured, in turns. The sum of the times counts, not the best
// time: on a busy machine several threads wait for the one that has no processor, in the
// measurement as later.
constexpr int kTurns = 8;

// Measures products of the model's last matrix with one row, as each drawn token needs them.
class Measurement {
 public:
  Measurement(const Model& model, ThreadPool& pool, Scratch& scratch)
      : kernels_(model.kernels()),
        pool_(pool),
        matrix_(model.weights().output.matrix),
        x_{scratch.normed, matrix_.n_columns, scratch.activations, scratch.tables,
           scratch.negative_sums},
        y_(scratch.logits) {
    std::fill_n(scratch.normed, matrix_.n_columns, 1.0f);
    const ActivationFormat format = matmul_kernel(kernels_, matrix_.type).activations;
    if (format != ActivationFormat::f32) prepare_activations(kernels_, format, x_, 0);
  }

  bool is_clearly_faster(size_t n_threads, size_t n_fewer) {
    double sum = 0;
    double sum_of_fewer = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
      sum += seconds(n_threads);
      sum_of_fewer += seconds(n_fewer);
    }
    return sum_of_fewer < kClearlyFaster * sum;
  }

 private:
  double seconds(size_t n_threads) {
    pool_.limit(n_threads);
    multiply_next();  // wakes the threads that take part
    const Clock::time_point begin = Clock::now();
    for (size_t i = 0; i < kRounds; ++i) multiply_next();
    return seconds_since(begin);
  }

  void multiply_next() {
    const size_t row_bytes = dtype_info(matrix_.type).row_bytes(matrix_.n_columns);
    const size_t n_rows = (kMeasuredBytes / row_bytes / kPartGrain + 1) * kPartGrain;
    if (first_ + n_rows > matrix_.n_rows) first_ = 0;
    const size_t first = std::exchange(first_, first_ + n_rows);
    const size_t n = std::min(n_rows, matrix_.n_rows - first);
    pool_.for_range(n, kPartGrain, [&](size_t begin, size_t end, size_t) {
      multiply_rows(kernels_, matrix_, x_, 1, y_, matrix_.n_rows, first + begin, first + end);
    });
  }

  const KernelSet& kernels_;
  ThreadPool& pool_;
  const PackedMatrix& matrix_;
  Activations x_;
  float* y_;
  size_t first_ = 0;  // row of the next round
};

}  // namespace

Status choose_threads(const Model& model, ThreadPool& pool) {
  const size_t n_started = pool.n_threads();
  // Encoders draw no tokens: their products are of many rows, which all threads make faster.
  const bool draws_tokens = model.has_weights() && model.weights().output.matrix.n_rows > 0;
  if (n_started == 1 || !draws_tokens) return {};
  KINGLET_ASSIGN(Scratch scratch, Scratch::create(model, 1, n_started));
  Measurement measurement(model, pool, scratch);
  pool.limit(fastest_threads(n_started, [&](size_t n, size_t n_fewer) {
    return measurement.is_clearly_faster(n, n_fewer);
  }));
  return {};
}

}  // namespace kinglet
