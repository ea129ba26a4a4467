#include "base/thread_pool.h"

#include <sched.h>

#include <new>

namespace kinglet {
namespace {

// About a millisecond: longer than the pause between two tokens, short beside a person's.
constexpr int kSpinsBeforeSleep = 20000;

// Past this a joining thread offers its core: its worker may have lost its own.
constexpr int kSpinsBeforeYield = 2000;

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

// pthreads rather than std::thread, whose constructor can only report failure by an exception.
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
  workers_.reset(new (std::nothrow) Worker[n_threads - 1]);
  if (!workers_) return;
  while (n_threads_ < n_threads) {
    Worker& worker = workers_[n_threads_ - 1];
    worker.pool = this;
    worker.thread = n_threads_;
    if (pthread_create(&worker.handle, nullptr, Worker::main, &worker) != 0) break;
    ++n_threads_;
  }
}

ThreadPool::~ThreadPool() {
  stopping_.store(true);
  if (n_threads_ > 1) fork([](const void*, size_t) {}, nullptr);
  for (size_t i = 0; i + 1 < n_threads_; ++i) pthread_join(workers_[i].handle, nullptr);
}

void ThreadPool::fork(Task task, const void* function) {
  task_ = task;
  function_ = function;
  unfinished_.store(static_cast<uint32_t>(n_threads_ - 1), std::memory_order_relaxed);
  // Sequentially consistent with the sleepers' count: either the worker sees the new round, or this
  // thread sees the sleeper.
  round_.fetch_add(1);
  if (sleepers_.load() > 0) {
    pthread_mutex_lock(&mutex_);
    pthread_cond_broadcast(&wake_);
    pthread_mutex_unlock(&mutex_);
  }
  task(function, 0);
  for (int spins = 0; unfinished_.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins < kSpinsBeforeYield) {
      pause();
    } else {
      sched_yield();
    }
  }
}

void ThreadPool::work(size_t thread) {
  uint32_t round = 0;
  while (true) {
    for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
      if (spins < kSpinsBeforeSleep) {
        pause();
      } else {
        sleep_until_changed(round);
      }
    }
    ++round;
    task_(function_, thread);
    const bool stopping = stopping_.load(std::memory_order_relaxed);
    unfinished_.fetch_sub(1, std::memory_order_release);
    if (stopping) return;
  }
}

void ThreadPool::sleep_until_changed(uint32_t round) {
  pthread_mutex_lock(&mutex_);
  sleepers_.fetch_add(1);
  while (round_.load() == round) pthread_cond_wait(&wake_, &mutex_);
  sleepers_.fetch_sub(1);
  pthread_mutex_unlock(&mutex_);
}

}  // namespace kinglet
