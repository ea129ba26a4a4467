// One fork-join pool, the same natively and on wasm threads.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace kinglet {

// for_range() cuts work into chunks, from which each thread takes the next one when it is free. It
// returns when all are done. The caller takes chunks too, and waits only for workers that have one:
// if the system gives a worker no core, the caller does that work instead of waiting.
//
// After a call, the workers spin for a moment, as a token's next step follows within microseconds.
// Then they sleep, so that an idle page uses no core. Only one caller at a time.
class ThreadPool {
 public:
  // Starts n_threads − 1 workers; the caller of for_range() is the other thread. If the system
  // refuses a thread, the pool is smaller: see n_threads().
  explicit ThreadPool(size_t n_threads = 1);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // The number of threads that take part in for_range(): all, unless limit() excluded some.
  size_t n_threads() const { return n_threads_.load(std::memory_order_relaxed); }

  // Lets only `n_threads` > 0 threads take part; the others sleep. A larger number than were
  // started means all of them.
  void limit(size_t n_threads);

  // Calls f(begin, end, thread) for parts of [0, n), cut at multiples of `grain` > 0. `thread` is
  // in [0, n_threads()); calls with the same `thread` never run at the same time.
  template <class F>
  void for_range(size_t n, size_t grain, const F& f) {
    const size_t n_used = n_threads();
    const Chunks chunks(n, grain, n_used);
    if (n_used == 1 || chunks.count() <= 1) {
      if (n > 0) f(size_t{0}, n, size_t{0});
      return;
    }
    const auto run_chunk = [&](size_t i, size_t thread) {
      f(chunks.begin(i), chunks.begin(i + 1), thread);
    };
    begin(chunks.count(), run_chunk);
    finish();
  }

  // Starts f(i, thread) for i in [0, n) on the other threads, one i at a time, and returns. Without
  // other threads, all calls are done on return. `f` must live until finish(); nothing else may
  // begin before that.
  template <class F>
  void begin(size_t n, const F& f) {
    open_round(n, &f, [](const void* function, size_t i, size_t thread) {
      (*static_cast<const F*>(function))(i, thread);
    });
  }

  // Whether finish() would return at once.
  bool is_done() const;

  // Helps with the work of begin(), until it is done.
  void finish();

 private:
  // The chunks of for_range(): first a large one for each thread, seven eighths of its share, which
  // a core prefetches as one stream; then a small one for each, which balances unequal speeds.
  class Chunks {
   public:
    Chunks(size_t n, size_t grain, size_t n_threads);

    size_t count() const { return n_large_ + n_small_; }
    // The beginning of chunk i, which is the end of the chunk before.
    size_t begin(size_t i) const;

   private:
    size_t n_;
    size_t large_;  // items
    size_t n_large_;
    size_t small_;
    size_t n_small_;
  };

  using Task = void (*)(const void* function, size_t chunk, size_t thread);
  struct Worker;

  void open_round(size_t n_chunks, const void* function, Task task);
  void take_chunks(size_t thread);
  void work(size_t thread);
  bool enter(uint32_t state);
  uint32_t wait_for_round(size_t thread, uint32_t last_round);
  void sleep(size_t thread, uint32_t last_round);
  bool is_left_out(size_t thread) const { return thread >= n_threads_.load(); }
  bool has_new_round(uint32_t state, uint32_t last_round) const;

  size_t n_started_ = 1;
  std::atomic<size_t> n_threads_{1};
  std::unique_ptr<Worker[]> workers_;

  // The work between begin() and finish() is a round. The state holds the round's number, whether
  // it is open to workers, and how many workers are in it. task_, function_ and n_chunks_ change
  // only while it is closed and empty.
  std::atomic<uint32_t> state_{0};
  Task task_ = nullptr;
  const void* function_ = nullptr;
  size_t n_chunks_ = 0;
  std::atomic<size_t> next_chunk_{0};

  std::atomic<bool> stopping_{false};
  std::atomic<uint32_t> sleepers_{0};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake_ = PTHREAD_COND_INITIALIZER;
  pthread_cond_t take_part_ = PTHREAD_COND_INITIALIZER;  // wakes threads that limit() excluded
};

}  // namespace kinglet
