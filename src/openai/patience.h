// How long a request is worked on.
#pragma once

#include <functional>

#include "openai/api_error.h"

namespace kinglet::openai {

// Checks whether to go on with a request. Fails when the client has gone, the time is up or the
// server gives up. It is called between the steps of all work on a request.
using Patience = std::function<ApiStatus()>;

inline ApiStatus endless_patience() { return {}; }

}  // namespace kinglet::openai
