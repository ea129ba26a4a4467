#include "model/blocks/short_convolution.h"

#include "model/step.h"

namespace kinglet {

Result<std::unique_ptr<Block>> ShortConvolution::load(LayerLoader& loader) {
  const uint32_t n = loader.config().hidden_dim;
  KINGLET_ASSIGN(const uint32_t width, loader.keys().size("shortconv.l_cache", kMaxConvolution));
  auto block = std::make_unique<ShortConvolution>();
  KINGLET_ASSIGN(const auto parts, loader.fused("shortconv.in_proj", {n, n, n}, Presence::no));
  block->b_ = parts[0];
  block->c_ = parts[1];
  block->z_ = parts[2];
  KINGLET_ASSIGN(block->convolution_,
                 CausalConvolution::load(loader, "shortconv.conv", width, n, Presence::no));
  KINGLET_ASSIGN(block->output_, loader.linear("shortconv.out_proj", n, n, Presence::no));
  return std::unique_ptr<Block>(std::move(block));
}

ShortConvolution::Buffers ShortConvolution::lay_out(Arena& arena, const BatchShape& batch) const {
  const uint64_t n = batch.n_tokens * convolution_.n_channels();
  return {.b = convolution_.take_input(arena, batch.n_tokens),
          .c = arena.take<float>(n),
          .z = arena.take<float>(n),
          .mixed = arena.take<float>(n)};
}

ScratchNeeds ShortConvolution::scratch_needs(const BatchShape& batch) const {
  Arena arena;
  lay_out(arena, batch);
  return {arena.n_bytes(), output_.matrix.n_columns};
}

Status ShortConvolution::run(Step& step, Arena arena, const float* x, float* out) const {
  const KernelSet& kernels = step.kernels();
  const size_t n = step.n_tokens() * convolution_.n_channels();
  const Buffers buffers = lay_out(arena, step.shape());
  step.project(x, step.n_tokens(), {{&b_, buffers.b}, {&c_, buffers.c}, {&z_, buffers.z}});
  step.for_each_part(n, [&](size_t begin, size_t end) {
    kernels.multiply(buffers.b + begin, buffers.z + begin, end - begin);
  });
  convolution_.run(step, buffers.b, buffers.mixed);
  step.for_each_part(n, [&](size_t begin, size_t end) {
    kernels.multiply(buffers.mixed + begin, buffers.c + begin, end - begin);
  });
  step.project(buffers.mixed, step.n_tokens(), {{&output_, out}});
  return {};
}

}  // namespace kinglet
