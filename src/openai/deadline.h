// How long a request is worked on.
#pragma once

#include <functional>

#include "base/cancellation.h"
#include "openai/api_error.h"

namespace kinglet::openai {

// Fails when the client has gone, the time is up or the server gives up.
struct Deadline {
  // Checks whether to go on, and why not. Called between the steps of all work on a request. Null:
  // the work goes on.
  std::function<ApiStatus()> check = {};
  // Requested soon after check() would fail. For loops whose length a client chooses: they end with
  // ErrorCode::cancelled, or early, and the next check() says why.
  Cancellation cancellation = {};

  ApiStatus operator()() const { return check ? check() : ApiStatus(); }

  // Fails once the cancellation is requested. Costs nothing before, so it can be called for each
  // item of a list.
  ApiStatus check_cancelled() const {
    if (!cancellation.requested()) return {};
    ApiStatus status = (*this)();
    return status.ok() ? Error{ErrorCode::cancelled, "cancelled"} : status;
  }
};

}  // namespace kinglet::openai
