// Finding NaN and infinity in stored weights, by a look at their exponents where that will do.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "tensor/dtype.h"

namespace kinglet {

// The number of the first block that decodes to NaN or infinity; nothing where all are finite.
std::optional<size_t> find_not_finite(DType type, std::span<const std::byte> blocks);

}  // namespace kinglet
