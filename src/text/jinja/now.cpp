#include "text/jinja/now.h"

#include <ctime>

namespace kinglet::jinja {
namespace {

// A thread-safe std::localtime().
bool to_local(const std::time_t& time, std::tm& local) {
#if defined(_WIN32)
  return localtime_s(&local, &time) == 0;
#else
  return localtime_r(&time, &local) != nullptr;
#endif
}

}  // namespace

Now local_time() {
  std::tm local{};
  if (!to_local(std::time(nullptr), local)) return {};
  return {local.tm_year + 1900, local.tm_mon + 1, local.tm_mday,
          local.tm_hour,        local.tm_min,     local.tm_sec};
}

}  // namespace kinglet::jinja
