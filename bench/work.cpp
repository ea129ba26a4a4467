// Prints the work per token as JSON: the multiplications and the bytes of weights of a model's
// matrices. Attention is left out, because it grows with the context. Usage: kinglet_work MODEL
#include <cstdio>

#include "gguf/file.h"

namespace kinglet {
namespace {

struct Work {
  uint64_t multiply_adds = 0;
  uint64_t bytes = 0;

  void add(const TensorInfo& tensor) {
    multiply_adds += tensor.shape[0] * tensor.shape[1];
    bytes += tensor.bytes;
  }
};

void print_work(const GgufHeader& header) {
  Work layers;
  Work output;  // the logits, which are needed only once per prompt
  const bool tied = header.find_tensor("output.weight") == nullptr;
  for (const TensorInfo& tensor : header.tensors) {
    const bool is_embedding = tensor.name == "token_embd.weight";
    if (is_embedding ? tied : tensor.name == "output.weight") {
      output.add(tensor);
    } else if (!is_embedding && tensor.shape[1] > 1) {
      layers.add(tensor);
    }
  }
  const auto print = [](const char* name, const Work& work, const char* separator) {
    std::printf("\"%s\":{\"multiplyAdds\":%llu,\"bytes\":%llu}%s", name,
                static_cast<unsigned long long>(work.multiply_adds),
                static_cast<unsigned long long>(work.bytes), separator);
  };
  std::printf("{");
  print("layers", layers, ",");
  print("output", output, "}\n");
}

}  // namespace
}  // namespace kinglet

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: kinglet_work MODEL\n");
    return 1;
  }
  const auto file = kinglet::read_gguf_file(argv[1]);
  if (!file.ok()) {
    std::fprintf(stderr, "kinglet_work: %s\n", file.error().message.c_str());
    return 1;
  }
  kinglet::print_work(file.value().header());
}
