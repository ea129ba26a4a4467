// One thread for each connection, up to a limit: such threads mostly wait.
#pragma once

#include <httplib.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace kinglet::server {

class ConnectionThreads final : public httplib::TaskQueue {
 public:
  static constexpr std::chrono::milliseconds kTick{100};

  // bool, whether the task was taken; in old versions of the library, void.
  using Enqueued = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));

  // `make_room` is called when a connection waits while all threads have one: it should end one
  // that does nothing.
  ConnectionThreads(size_t most, std::function<void()> make_room)
      : most_(most), make_room_(std::move(make_room)) {}
  ~ConnectionThreads() override { ConnectionThreads::shutdown(); }

  // Waits while all threads have a connection and as many connections wait for a thread. The
  // connections of further clients then wait in the operating system.
  Enqueued enqueue(std::function<void()> task) override {
    std::unique_lock lock(mutex_);
    // Connections may become idle meanwhile.
    while (!has_room_.wait_for(lock, kTick, [&] { return tasks_.size() < most_; })) make_room_();
    tasks_.push_back(std::move(task));
    if (tasks_.size() > n_idle_ && threads_.size() < most_) {
      threads_.emplace_back([this] { run(); });
    }
    has_task_.notify_one();
    lock.unlock();
    make_room_if_needed();
    return static_cast<Enqueued>(true);
  }

  // To be called also when a thread has begun to wait for its client, and from time to time: when
  // many connections come at once, none waits yet that could be ended.
  void make_room_if_needed() {
    const std::scoped_lock lock(mutex_);
    if (tasks_.size() > n_idle_ && threads_.size() == most_) make_room_();
  }

  // The library calls this every kTick while no client comes.
  void on_idle() override { make_room_if_needed(); }

  // Returns when all connections have ended.
  void shutdown() override {
    {
      const std::scoped_lock lock(mutex_);
      is_ending_ = true;
      has_task_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++n_idle_;
      has_task_.wait(lock, [&] { return is_ending_ || !tasks_.empty(); });
      --n_idle_;
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      has_room_.notify_one();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  const size_t most_;
  const std::function<void()> make_room_;
  std::mutex mutex_;
  std::condition_variable has_task_;
  std::condition_variable has_room_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  size_t n_idle_ = 0;
  bool is_ending_ = false;
};

}  // namespace kinglet::server
