#include "base/thread_pool.h"

#include <sched.h>

#include <new>

namespace kinglet {
namespace {

// The fields of state_: the number of workers in the round, whether the round is open, and the
// round's number (which may wrap).
constexpr uint32_t kWorkers = 0xffff;
constexpr uint32_t kOpen = 1u << 16;
constexpr uint32_t kOneRound = 1u << 17;
constexpr uint32_t kRound = ~(kOneRound - 1);

// About a millisecond: longer than the gap between two tokens, but short for a person. x86's pause
// takes about 40 cycles; without it, an iteration of the loop takes a few.
#if defined(__x86_64__) || defined(__i386__)
constexpr int kSpinsBeforeSleep = 50'000;
inline void pause() { __builtin_ia32_pause(); }
#else
constexpr int kSpinsBeforeSleep = 500'000;
inline void pause() {}
#endif

// After this many spins, a waiting caller yields its core to the worker that it waits for.
constexpr int kSpinsBeforeYield = 2'000;

}  // namespace

// Uses pthreads because the constructor of std::thread can only report failure by an exception.
struct ThreadPool::Worker {
  ThreadPool* pool;
  size_t thread;
  pthread_t handle;

  static void* main(void* self) {
    const auto* worker = static_cast<const Worker*>(self);
    worker->pool->work(worker->thread);
    return nullptr;
  }
};

ThreadPool::ThreadPool(size_t n_threads) {
  if (n_threads <= 1) return;
  n_threads = std::min<size_t>(n_threads, kWorkers);
  workers_.reset(new (std::nothrow) Worker[n_threads - 1]);
  if (!workers_) return;
  n_threads_.store(n_threads);  // before the workers check is_left_out()
  while (n_started_ < n_threads) {
    Worker& worker = workers_[n_started_ - 1];
    worker.pool = this;
    worker.thread = n_started_;
    if (pthread_create(&worker.handle, nullptr, Worker::main, &worker) != 0) break;
    ++n_started_;
  }
  n_threads_.store(n_started_);
}

ThreadPool::~ThreadPool() {
  pthread_mutex_lock(&mutex_);
  stopping_.store(true);
  pthread_cond_broadcast(&wake_);
  pthread_cond_broadcast(&take_part_);
  pthread_mutex_unlock(&mutex_);
  for (size_t i = 0; i + 1 < n_started_; ++i) pthread_join(workers_[i].handle, nullptr);
}

void ThreadPool::limit(size_t n_threads) {
  pthread_mutex_lock(&mutex_);
  n_threads_.store(std::clamp<size_t>(n_threads, 1, n_started_));
  pthread_cond_broadcast(&take_part_);
  pthread_mutex_unlock(&mutex_);
}

ThreadPool::Chunks::Chunks(size_t n, size_t grain, size_t n_threads) : n_(n) {
  const auto grains_in = [grain](size_t items) { return (items + grain - 1) / grain; };
  large_ = grains_in(n) * 7 / (8 * n_threads) * grain;
  n_large_ = large_ > 0 ? n_threads : 0;
  const size_t rest = n - n_large_ * large_;
  small_ = grains_in((rest + n_threads - 1) / n_threads) * grain;
  n_small_ = rest > 0 ? (rest + small_ - 1) / small_ : 0;
}

size_t ThreadPool::Chunks::begin(size_t i) const {
  if (i <= n_large_) return i * large_;
  return std::min(n_, n_large_ * large_ + (i - n_large_) * small_);
}

void ThreadPool::open_round(size_t n_chunks, const void* function, Task task) {
  task_ = task;
  function_ = function;
  n_chunks_ = n_chunks;
  next_chunk_.store(0, std::memory_order_relaxed);
  if (n_threads() == 1) {
    take_chunks(0);
    return;
  }
  // state_ and sleepers_ are accessed sequentially consistently: either a worker that goes to sleep
  // sees the new round, or this thread sees the sleeper.
  const uint32_t round = (state_.load() & kRound) + kOneRound;
  state_.store(round | kOpen);
  if (sleepers_.load() > 0) {
    pthread_mutex_lock(&mutex_);
    pthread_cond_broadcast(&wake_);
    pthread_mutex_unlock(&mutex_);
  }
}

bool ThreadPool::is_done() const {
  return next_chunk_.load(std::memory_order_relaxed) >= n_chunks_ &&
         (state_.load(std::memory_order_acquire) & kWorkers) == 0;
}

void ThreadPool::finish() {
  take_chunks(0);
  state_.fetch_and(~kOpen);
  for (int spins = 0; (state_.load(std::memory_order_acquire) & kWorkers) != 0; ++spins) {
    if (spins < kSpinsBeforeYield) {
      pause();
    } else {
      sched_yield();
    }
  }
}

void ThreadPool::take_chunks(size_t thread) {
  while (true) {
    const size_t chunk = next_chunk_.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= n_chunks_) return;
    task_(function_, chunk, thread);
  }
}

void ThreadPool::work(size_t thread) {
  uint32_t last_round = 0;
  while (true) {
    const uint32_t state = wait_for_round(thread, last_round);
    if (stopping_.load()) return;
    if (!enter(state)) continue;
    last_round = state & kRound;
    take_chunks(thread);
    state_.fetch_sub(1, std::memory_order_release);
  }
}

// Returns false if the state has changed: the round was closed, or another worker entered or left.
bool ThreadPool::enter(uint32_t state) {
  return state_.compare_exchange_strong(state, state + 1, std::memory_order_acquire);
}

bool ThreadPool::has_new_round(uint32_t state, uint32_t last_round) const {
  return (state & kOpen) != 0 && (state & kRound) != last_round;
}

// After a worker has been woken, it spins again: the round that woke it may be over, and the next
// rounds follow sooner than a worker can be woken for each.
uint32_t ThreadPool::wait_for_round(size_t thread, uint32_t last_round) {
  while (true) {
    for (int spins = 0; spins < kSpinsBeforeSleep; ++spins) {
      const uint32_t state = state_.load();
      if (stopping_.load(std::memory_order_relaxed)) return state;
      if (is_left_out(thread)) break;  // after the load of state: limit() came before its round
      if (has_new_round(state, last_round)) return state;
      pause();
    }
    sleep(thread, last_round);
  }
}

// Sleeps until a round is opened; returns at once if one is open already. A thread that is left out
// sleeps until the next limit() instead: it is not one of sleepers_, as no round wakes it.
void ThreadPool::sleep(size_t thread, uint32_t last_round) {
  pthread_mutex_lock(&mutex_);
  if (is_left_out(thread)) {
    if (!stopping_.load()) pthread_cond_wait(&take_part_, &mutex_);
  } else {
    sleepers_.fetch_add(1);
    if (!has_new_round(state_.load(), last_round) && !stopping_.load()) {
      pthread_cond_wait(&wake_, &mutex_);
    }
    sleepers_.fetch_sub(1);
  }
  pthread_mutex_unlock(&mutex_);
}

}  // namespace kinglet
