#include "model/layer.h"

#include "model/blocks/attention.h"
#include "model/blocks/experts.h"
#include "model/blocks/feed_forward.h"
#include "model/step.h"

namespace kinglet {
namespace {

Status load_norms(LayerLoader& loader, Layer& layer) {
  const Architecture& traits = loader.traits();
  if (traits.pre_norms) {
    KINGLET_ASSIGN(layer.mixer_norm, loader.norm("attn_norm"));
    const bool may_be_parallel = traits.parallel == Presence::optional && !loader.has("ffn_norm");
    layer.parallel = traits.parallel == Presence::required || may_be_parallel;
    if (!layer.parallel) {
      KINGLET_ASSIGN(layer.ffn_norm, loader.norm("ffn_norm"));
    }
  }
  if (traits.post_norms) {
    KINGLET_ASSIGN(layer.mixer_post_norm, loader.norm("post_attention_norm"));
    KINGLET_ASSIGN(layer.ffn_post_norm, loader.norm("post_ffw_norm"));
  }
  return {};
}

}  // namespace

Result<Layer> load_layer(LayerLoader& loader) {
  Layer layer;
  KINGLET_ASSIGN(layer.mixer, Attention::load(loader));
  KINGLET_TRY(load_norms(loader, layer));
  const auto load_ffn = loader.config().n_experts > 0 ? Experts::load : FeedForward::load;
  KINGLET_ASSIGN(layer.ffn, load_ffn(loader));
  return layer;
}

Status run_layer(Step& step, const Layer& layer) {
  const float* mixer_input = step.normalize_stream(layer.mixer_norm);
  KINGLET_TRY(step.run(*layer.mixer, mixer_input));
  step.add_to_stream(layer.mixer_post_norm);

  const float* ffn_input = layer.parallel ? mixer_input : step.normalize_stream(layer.ffn_norm);
  KINGLET_TRY(step.run(*layer.ffn, ffn_input));
  step.add_to_stream(layer.ffn_post_norm);
  return {};
}

}  // namespace kinglet
