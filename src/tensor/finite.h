// Finds NaN and infinity in stored weights. It looks only at the exponents where that is enough.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "tensor/dtype.h"

namespace kinglet {

// Returns the index of the first block that decodes to NaN or infinity; nothing if all are finite.
std::optional<size_t> find_not_finite(DType type, std::span<const std::byte> blocks);

}  // namespace kinglet
