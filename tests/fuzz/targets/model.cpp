// Small models with some changed bytes: they are loaded, or refused with a message. A loaded model
// generates text, or reports an error.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "fuzz/input.h"
#include "model/tiny_model.h"
#include "session/generation.h"
#include "session/language_model.h"
#include "support.h"

namespace kinglet::fuzz {
namespace {

// One for each difference between models: norms, gates, experts, fused tensors, rotations,
// tokenizers, recurrent layers.
constexpr const char* kModels[] = {"arch/starcoder2",    "arch/phi3-short",
                                   "arch/gemma2-caps",   "arch/mixtral",
                                   "arch/olmo2",         "arch/qwen2-yarn",
                                   "arch/smollm3",       "arch/stablelm-parallel",
                                   "arch/gemma3-linear", "arch/olmoe",
                                   "hybrid/lfm2moe",     "hybrid/qwen35-mtp",
                                   "hybrid/mamba2",      "hybrid/granitehybrid-moe",
                                   "hybrid/falcon-h1",   "quant/qwen3-NVFP4",
                                   "quant/qwen3-Q1_0",   "arch/apertus",
                                   "arch/cohere2",       "arch/glm4-sections",
                                   "arch/hunyuan-dense", "arch/mistral3",
                                   "arch/nemotron",      "arch/minicpm-long",
                                   "hybrid/qwen35moe",   "arch/gemma4",
                                   "arch/gemma4-kv",     "arch/k2-horizon",
                                   "hybrid/lfm3",        "hybrid/nemotron_h-Q4_0"};
constexpr uint32_t kMaxGenerated = 4;
constexpr int kMaxModelChanges = 16;

constexpr uint64_t kNumbers[] = {0,          1,          2,          3,
                                 7,          8,          0x7fffffff, 0x80000000,
                                 0xfffffffe, 0xffffffff, 1ull << 32, (1ull << 63) - 1,
                                 1ull << 63, ~0ull - 1,  ~0ull};
constexpr float kFloats[] = {0.0f,  -0.0f,  1.0f,   -1.0f, 1e-30f,   1e30f,
                             3e38f, 1e-45f, -3e38f, NAN,   INFINITY, -INFINITY};

::kinglet::Bytes base_file(uint32_t choice) {
  if (choice == 0) return TinyModel().build();
  return read_fixture(cat(kModels[choice - 1], ".gguf"));
}

struct Base {
  ::kinglet::Bytes bytes;
  size_t header_bytes;
};

Base make_base(uint32_t choice) {
  ::kinglet::Bytes bytes = base_file(choice);
  const auto header = parse_gguf_header(bytes);
  const size_t n = header.ok() ? static_cast<size_t>(header.value().data_offset) : bytes.size();
  return {std::move(bytes), n};
}

template <class T>
void put(::kinglet::Bytes& file, size_t at, T value) {
  const size_t n = std::min(sizeof value, file.size() - at);
  std::memcpy(file.data() + at, &value, n);
}

// An offset in [begin, end).
size_t place(Input& input, size_t begin, size_t end) {
  return begin + input.number<uint32_t>() % std::max<size_t>(end - begin, 1);
}

void change_model(Input& input, ::kinglet::Bytes& file, size_t n_header) {
  const uint32_t how = input.up_to(7);
  const size_t in_header = place(input, 0, n_header);
  switch (how) {
    case 0:
      return put(file, in_header, input.number<uint8_t>());
    case 1:
      return put(file, in_header, kNumbers[input.up_to(std::size(kNumbers) - 1)]);
    case 2:
      return put(file, in_header,
                 static_cast<uint32_t>(kNumbers[input.up_to(std::size(kNumbers) - 1)]));
    case 3:
      return put(file, in_header, kFloats[input.up_to(std::size(kFloats) - 1)]);
    case 4:
      return put(file, place(input, n_header, file.size() - 1), input.number<uint8_t>());
    case 5:
      return put(file, place(input, n_header, file.size() - 4) / 4 * 4,
                 kFloats[input.up_to(std::size(kFloats) - 1)]);
    case 6:
      file.erase(file.begin() + static_cast<ptrdiff_t>(in_header));
      return;
    default:
      file.insert(file.begin() + static_cast<ptrdiff_t>(in_header),
                  static_cast<std::byte>(input.number<uint8_t>()));
  }
}

Status generate(const LanguageModel& loaded, const SequenceOptions& session_options) {
  ThreadPool pool(1);
  KINGLET_ASSIGN(auto session, Session::create(loaded.model, pool, session_options));
  const auto prompt = loaded.tokenizer->encode("abcde");
  GenerationOptions options;
  options.max_tokens = kMaxGenerated;
  options.shifts_context = true;
  KINGLET_ASSIGN(Generation generation,
                 Generation::start(*session, *loaded.tokenizer, prompt, options));
  while (true) {
    KINGLET_ASSIGN(const GenerationStep step, generation.step());
    if (step.finish != FinishReason::none) return {};
    check(step.token == kNoToken || (step.token >= 0 && static_cast<uint32_t>(step.token) <
                                                            loaded.model.config().vocab_size),
          "a token outside the vocabulary");
  }
}

Status load_and_generate(const ::kinglet::Bytes& file, std::string_view kernels,
                         const SequenceOptions& options) {
  KINGLET_ASSIGN(GgufFile read, load_gguf(file));
  KINGLET_ASSIGN(const LanguageModel loaded, load_language_model(std::move(read), kernels));
  return generate(loaded, options);
}

}  // namespace

void model(Bytes bytes) {
  static const auto bases = [] {
    std::vector<Base> files;
    for (uint32_t i = 0; i <= std::size(kModels); ++i) files.push_back(make_base(i));
    return files;
  }();
  Input input(bytes);
  const Base& base = bases[input.up_to(std::size(kModels))];
  ::kinglet::Bytes file = base.bytes;
  const auto sets = available_kernels();
  const std::string_view kernels = sets[input.up_to(static_cast<uint32_t>(sets.size()) - 1)]->name;
  const SequenceOptions options{.n_ctx = 1 + input.up_to(11),
                                .n_batch = 1 + input.up_to(5),
                                .k_kind = static_cast<KvKind>(input.up_to(kNKvKinds - 1)),
                                .v_kind = static_cast<KvKind>(input.up_to(kNKvKinds - 1)),
                                .page_positions = input.up_to(4)};
  for (int i = 0; i < kMaxModelChanges && !input.empty(); ++i)
    change_model(input, file, base.header_bytes);
  const Status status = load_and_generate(file, kernels, options);
  check(status.ok() || !status.error().message.empty(), "an error without words");
}

}  // namespace kinglet::fuzz
