// Counts how deep something is nested.
#pragma once

namespace kinglet::jinja {

// Adds one level to a count for as long as this object lives.
class Level {
 public:
  explicit Level(int& depth) : depth_(depth) { ++depth_; }
  ~Level() { --depth_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  int& depth_;
};

}  // namespace kinglet::jinja
