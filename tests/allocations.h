// How often this program has asked for memory.
#pragma once

#include <cstddef>

namespace kinglet {

// Calls of malloc and its kin, of any thread, from this program's own code and its operators new.
size_t n_allocations();

}  // namespace kinglet
