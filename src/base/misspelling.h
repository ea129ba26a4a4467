// Finds the name that was meant by one that is not known.
#pragma once

#include <span>
#include <string_view>

namespace kinglet {

// Returns the known name, of at least four letters, that differs in one letter that was added, left
// out, replaced or swapped with its neighbour, or in two if both names are longer than five; empty
// if there is none. Ignores case.
std::string_view meant_by(std::string_view name, std::span<const std::string_view> known);

}  // namespace kinglet
