#include "kernels/measured.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "kernels/instruction_sets.h"

namespace kinglet {
namespace {

class Recorder {
 public:
  void add(double microseconds) {
    const std::lock_guard lock(mutex_);
    latencies_.add(microseconds);
  }
  LatencyHistogram latencies() {
    const std::lock_guard lock(mutex_);
    return latencies_;
  }
  void reset() {
    const std::lock_guard lock(mutex_);
    latencies_ = {};
  }

 private:
  std::mutex mutex_;
  LatencyHistogram latencies_;
};

// Records the time from its construction to its destruction.
class Stopwatch {
 public:
  explicit Stopwatch(Recorder& recorder) : recorder_(recorder), begin_(Clock::now()) {}
  ~Stopwatch() { recorder_.add(1e6 * seconds_since(begin_)); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  Recorder& recorder_;
  Clock::time_point begin_;
};

// The functions of one set's measured form. They have no argument that says which set they measure,
// so each set has its own functions.
template <size_t kSet>
struct Measured {
  static inline const KernelSet* inner = nullptr;
  static inline Recorder recorder;

  template <auto kFunction>
  struct Call;
  template <class Answer, class... Arguments, Answer (*KernelSet::*kFunction)(Arguments...)>
  struct Call<kFunction> {
    static Answer call(Arguments... arguments) {
      const Stopwatch stopwatch(recorder);
      return (inner->*kFunction)(arguments...);
    }
  };

  template <auto... kFunctions>
  static void replace(KernelSet& set) {
    ((set.*kFunctions = Call<kFunctions>::call), ...);
  }

  static void multiply(const PackedMatrix& w, const Activations& x, size_t n_tokens, float* y,
                       size_t y_stride, size_t row_begin, size_t row_end) {
    const Stopwatch stopwatch(recorder);
    matmul_kernel(*inner, w.type).multiply(w, x, n_tokens, y, y_stride, row_begin, row_end);
  }

  template <size_t kKind>
  static void score(const Queries& queries, size_t n_rows, const KvRows& keys, size_t n_positions,
                    float* scores) {
    const Stopwatch stopwatch(recorder);
    inner->attention[kKind].score(queries, n_rows, keys, n_positions, scores);
  }

  template <size_t kKind>
  static void weigh(const float* weights, const float* factors, size_t n_rows, const KvRows& values,
                    size_t n_positions, size_t head_dim, float* const* outputs) {
    const Stopwatch stopwatch(recorder);
    inner->attention[kKind].weigh(weights, factors, n_rows, values, n_positions, head_dim, outputs);
  }

  template <size_t kKind>
  static void widen(const KvRows& rows, size_t n_positions, size_t head_dim, size_t stride,
                    float* out) {
    const Stopwatch stopwatch(recorder);
    inner->attention[kKind].widen(rows, n_positions, head_dim, stride, out);
  }

  template <size_t kKind>
  static void replace_attention(AttentionKernels& kernels) {
    const bool widens = kernels.widen != nullptr;
    kernels = {score<kKind>, weigh<kKind>, widens ? widen<kKind> : nullptr};
  }

  template <size_t... kKinds>
  static void replace_attention(KernelSet& set, std::index_sequence<kKinds...> /*kinds*/) {
    (replace_attention<kKinds>(set.attention[kKinds]), ...);
  }

  static KernelSet make(const KernelSet& kernels) {
    inner = &kernels;
    KernelSet set = kernels;
    replace<&KernelSet::quantize, &KernelSet::tabulate, &KernelSet::rms_norm,
            &KernelSet::layer_norm, &KernelSet::add_scaled, &KernelSet::multiply,
            &KernelSet::convolve, &KernelSet::delta_rule, &KernelSet::state_space, &KernelSet::silu,
            &KernelSet::sigmoid_multiply, &KernelSet::silu_multiply, &KernelSet::gelu_multiply,
            &KernelSet::gelu, &KernelSet::relu_squared, &KernelSet::xielu, &KernelSet::softcap,
            &KernelSet::rope_interleaved, &KernelSet::rope_halves, &KernelSet::softmax_part,
            &KernelSet::largest, &KernelSet::quantize_query>(set);
    for (MatmulKernel& kernel : set.matmul) {
      if (kernel.multiply != nullptr) kernel.multiply = multiply;
    }
    replace_attention(set, std::make_index_sequence<kNKvKinds>());
    return set;
  }
};

struct MeasuredSets {
  std::array<KernelSet, kInstructionSets.size()> sets;
  std::array<Recorder*, kInstructionSets.size()> recorders;
};

template <size_t... kSets>
MeasuredSets make_sets(std::index_sequence<kSets...> /*sets*/) {
  const auto available = available_kernels();
  const auto set_or_last = [&](size_t i) -> const KernelSet& {
    return *available[std::min(i, available.size() - 1)];
  };
  return {{Measured<kSets>::make(set_or_last(kSets))...}, {&Measured<kSets>::recorder...}};
}

const MeasuredSets& measured_sets() {
  static const MeasuredSets sets = make_sets(std::make_index_sequence<kInstructionSets.size()>());
  return sets;
}

size_t index_of(const KernelSet& kernels) {
  const auto available = available_kernels();
  const auto same = std::find_if(available.begin(), available.end(),
                                 [&](const KernelSet* set) { return set->name == kernels.name; });
  return static_cast<size_t>(same - available.begin());
}

}  // namespace

const KernelSet& measured_kernels(const KernelSet& kernels) {
  return measured_sets().sets[index_of(kernels)];
}

LatencyHistogram kernel_latencies(const KernelSet& kernels) {
  return measured_sets().recorders[index_of(kernels)]->latencies();
}

void reset_kernel_latencies(const KernelSet& kernels) {
  measured_sets().recorders[index_of(kernels)]->reset();
}

}  // namespace kinglet
