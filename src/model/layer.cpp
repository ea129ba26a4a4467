#include "model/layer.h"

#include <utility>

#include "model/blocks/attention.h"
#include "model/blocks/beside.h"
#include "model/blocks/bidirectional_attention.h"
#include "model/blocks/delta_net.h"
#include "model/blocks/experts.h"
#include "model/blocks/feed_forward.h"
#include "model/blocks/layer_input.h"
#include "model/blocks/mamba2.h"
#include "model/blocks/short_convolution.h"
#include "model/step.h"

namespace kinglet {
namespace {

using BlockLoader = Result<std::unique_ptr<Block>> (*)(LayerLoader& loader);

Result<std::unique_ptr<Block>> load_attention_beside_mamba2(LayerLoader& loader) {
  KINGLET_ASSIGN(auto attention, Attention::load(loader));
  KINGLET_ASSIGN(auto mamba2, Mamba2::load(loader));
  return std::unique_ptr<Block>(std::make_unique<Beside>(std::move(attention), std::move(mamba2),
                                                         loader.config().hidden_dim));
}

BlockLoader mixer_loader(MixerKind kind) {
  switch (kind) {
    case MixerKind::attention:
      return Attention::load;
    case MixerKind::bidirectional_attention:
      return BidirectionalAttention::load;
    case MixerKind::short_convolution:
      return ShortConvolution::load;
    case MixerKind::delta_net:
      return DeltaNet::load;
    case MixerKind::mamba2:
      return Mamba2::load;
    case MixerKind::attention_beside_mamba2:
      return load_attention_beside_mamba2;
    case MixerKind::feed_forward:
      return FeedForward::load;
  }
  return nullptr;
}

Status load_norms(LayerLoader& loader, Layer& layer) {
  const Architecture& traits = loader.traits();
  if (traits.norms.before) {
    const bool may_lack = traits.norms.may_lack_first && loader.index() == 0;
    if (!may_lack || loader.has("attn_norm")) {
      KINGLET_ASSIGN(layer.mixer_norm, loader.norm("attn_norm"));
    }
    const bool may_be_parallel =
        traits.ffn.parallel == Presence::optional && !loader.has("ffn_norm");
    layer.parallel = traits.ffn.parallel == Presence::required || may_be_parallel;
    if (traits.ffn.exists && !layer.parallel) {
      KINGLET_ASSIGN(layer.ffn_norm, loader.norm(traits.norms.ffn_name));
    }
  }
  if (loader.wants("post_attention_norm", traits.norms.after)) {
    KINGLET_ASSIGN(layer.mixer_post_norm, loader.norm("post_attention_norm"));
    KINGLET_ASSIGN(layer.ffn_post_norm, loader.norm("post_ffw_norm"));
  }
  if (traits.norms.of_sums) {
    KINGLET_ASSIGN(layer.mixer_sum_norm, loader.norm("attn_output_norm"));
    if (loader.has("attn_norm_2")) {
      KINGLET_ASSIGN(layer.mixer_second_norm, loader.norm("attn_norm_2"));
    }
    KINGLET_ASSIGN(layer.ffn_sum_norm, loader.norm("layer_output_norm"));
  }
  return {};
}

// Loads the parts after the feed-forward block.
Status load_input(LayerLoader& loader, Layer& layer) {
  if (loader.config().layer_input_dim > 0) {
    KINGLET_ASSIGN(layer.input, LayerInput::load(loader));
    KINGLET_ASSIGN(layer.input_post_norm, loader.norm("post_norm"));
  }
  if (loader.wants("layer_output_scale", loader.traits().scales.layers)) {
    KINGLET_ASSIGN(layer.scale, loader.number("layer_output_scale"));
  }
  return {};
}

Status load_parts(LayerLoader& loader, Layer& layer) {
  KINGLET_ASSIGN(layer.mixer, mixer_loader(loader.layer().mixer)(loader));
  KINGLET_TRY(load_norms(loader, layer));
  if (loader.traits().ffn.exists) {
    const BlockLoader load_ffn = loader.layer().has_experts ? Experts::load : FeedForward::load;
    KINGLET_ASSIGN(layer.ffn, load_ffn(loader));
  }
  return load_input(loader, layer);
}

}  // namespace

Result<Layer> load_layer(LayerLoader& loader) {
  Layer layer;
  KINGLET_TRY(load_parts(loader, layer));
  return layer;
}

void derive_layer(Layer& layer) {
  for (Block* block : {layer.mixer.get(), layer.ffn.get(), layer.input.get()}) {
    if (block != nullptr) block->derive();
  }
}

void prepare_layer(Step& step, const Layer& layer) {
  step.prepare(*layer.mixer, step.normalize_stream(layer.mixer_norm));
}

Status run_layer(Step& step, const Layer& layer) {
  const float* mixer_input = step.normalize_stream(layer.mixer_norm);
  KINGLET_TRY(step.run(*layer.mixer, mixer_input));
  const bool is_normed_twice = layer.mixer_second_norm.weight != nullptr;
  const float* input = is_normed_twice ? step.copy_stream() : nullptr;
  step.add_to_stream(layer.mixer_post_norm);
  step.replace_stream(layer.mixer_sum_norm);
  if (is_normed_twice) {
    step.add_to_stream(input);
    step.replace_stream(layer.mixer_second_norm);
  }

  if (layer.ffn != nullptr) {
    const float* ffn_input = layer.parallel ? mixer_input : step.normalize_stream(layer.ffn_norm);
    KINGLET_TRY(step.run(*layer.ffn, ffn_input));
    step.add_to_stream(layer.ffn_post_norm);
    step.replace_stream(layer.ffn_sum_norm);
  }
  if (layer.input != nullptr) {
    KINGLET_TRY(step.run(*layer.input, step.stream()));
    step.add_to_stream(layer.input_post_norm);
  }
  if (layer.scale != nullptr) step.scale_stream(*layer.scale);
  return {};
}

}  // namespace kinglet
