// One fork-join pool, the same natively and on wasm threads.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace kinglet {

// A half-open range of indices.
struct Range {
  size_t begin;
  size_t end;
};

// The part of [0, n) that falls to thread `thread` of `n_threads`, in whole multiples of `grain`
// (but for the end): every index belongs to exactly one thread.
constexpr Range split_range(size_t n, size_t grain, size_t thread, size_t n_threads) {
  const size_t grains = (n + grain - 1) / grain;
  const size_t begin = grains * thread / n_threads * grain;
  const size_t end = grains * (thread + 1) / n_threads * grain;
  return {begin < n ? begin : n, end < n ? end : n};
}

// run() hands one function to every thread and returns when all are through. Between two calls the
// workers spin for a moment, as a token's next step follows within microseconds, then sleep, so
// that an idle page burns no core. Not itself thread-safe: one caller at a time.
class ThreadPool {
 public:
  // Starts n_threads − 1 workers; the caller of run() is the other thread. Where the system refuses
  // a thread the pool is smaller: see n_threads().
  explicit ThreadPool(size_t n_threads = 1);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  size_t n_threads() const { return n_threads_; }

  // Calls f(thread) once for every thread in [0, n_threads()), each on its own.
  template <class F>
  void run(const F& f) {
    if (n_threads_ == 1) return f(size_t{0});
    fork([](const void* function, size_t thread) { (*static_cast<const F*>(function))(thread); },
         &f);
  }

  // Calls f(begin, end) for parts of [0, n), cut at multiples of `grain`, one part per thread.
  template <class F>
  void for_range(size_t n, size_t grain, const F& f) {
    run([&](size_t thread) {
      const Range range = split_range(n, grain, thread, n_threads_);
      if (range.begin < range.end) f(range.begin, range.end);
    });
  }

 private:
  using Task = void (*)(const void* function, size_t thread);
  struct Worker;

  void fork(Task task, const void* function);
  void work(size_t thread);
  void sleep_until_changed(uint32_t round);

  size_t n_threads_ = 1;
  std::unique_ptr<Worker[]> workers_;

  Task task_ = nullptr;
  const void* function_ = nullptr;
  std::atomic<uint32_t> round_{0};       // counts calls of run(); a change starts the workers
  std::atomic<uint32_t> unfinished_{0};  // workers still busy with this round
  std::atomic<bool> stopping_{false};

  std::atomic<uint32_t> sleepers_{0};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake_ = PTHREAD_COND_INITIALIZER;
};

}  // namespace kinglet
