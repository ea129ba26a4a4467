// Asks llama.cpp what a model answers if there are pictures between its tokens: writes
// tests/fixtures/image/NAME.json, which tests/fixtures/README.md describes. Build it against
// llama.cpp's include and ggml/include folders and their libraries. Usage: image-answers MODEL >
// ANSWERS.json. The rows of pictures see only those before them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "llama.h"

namespace {

constexpr llama_token kTokens[] = {1, 35, 157, 245, 57, 265, 251};
constexpr llama_token kBetween[] = {209, 190, 133, 193, 222, 90, 154, 229, 104};
constexpr llama_token kBehind[] = {204, 109, 238, 276, 20, 129};
constexpr int kFirstGrid[] = {5, 3};
constexpr int kSecondGrid[] = {2, 4};
constexpr int kPositions[] = {0, 6, 21, 22, 30, 38, 39, 44};
constexpr size_t kGreedy = 12;

// The same as picture_rows() in tests/session/pictures.h.
std::vector<float> picture_rows(uint32_t picture, size_t n) {
  std::vector<float> rows(n);
  for (size_t i = 0; i < n; ++i) {
    uint32_t x = (static_cast<uint32_t>(i) + picture * 1000003u) * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    rows[i] = static_cast<float>(x >> 16) / 32768.0f - 1.0f;
  }
  return rows;
}

class Answers {
 public:
  Answers(llama_model* model, llama_context* context)
      : context_(context),
        width_(static_cast<size_t>(llama_model_n_embd_inp(model))),
        n_tokens_(static_cast<size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model)))) {}

  size_t width() const { return width_; }
  const std::vector<std::vector<double>>& logprobs() const { return logprobs_; }

  bool add(const llama_token* tokens, size_t n) { return decode(n, tokens, nullptr); }
  bool add_picture(uint32_t picture, const int (&grid)[2]) {
    const auto n = static_cast<size_t>(grid[0]) * static_cast<size_t>(grid[1]);
    return decode(n, nullptr, picture_rows(picture, n * width_).data());
  }

 private:
  bool decode(size_t n, const llama_token* tokens, const float* rows) {
    llama_batch batch = llama_batch_init(static_cast<int32_t>(n),
                                         rows == nullptr ? 0 : static_cast<int32_t>(width_), 1);
    batch.n_tokens = static_cast<int32_t>(n);
    if (tokens != nullptr) std::copy_n(tokens, n, batch.token);
    if (rows != nullptr) std::copy_n(rows, n * width_, batch.embd);
    for (size_t i = 0; i < n; ++i) {
      batch.pos[i] = static_cast<llama_pos>(logprobs_.size() + i);
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = 0;
      batch.logits[i] = 1;
    }
    const bool is_ok = llama_decode(context_, batch) == 0;
    for (size_t i = 0; is_ok && i < n; ++i) {
      add_logprobs(llama_get_logits_ith(context_, static_cast<int32_t>(i)));
    }
    llama_batch_free(batch);
    return is_ok;
  }

  void add_logprobs(const float* logits) {
    const double most = *std::max_element(logits, logits + n_tokens_);
    double sum = 0;
    for (size_t i = 0; i < n_tokens_; ++i) sum += std::exp(logits[i] - most);
    std::vector<double> row;
    for (size_t i = 0; i < n_tokens_; ++i) row.push_back(logits[i] - most - std::log(sum));
    logprobs_.push_back(std::move(row));
  }

  llama_context* context_;
  size_t width_;
  size_t n_tokens_;
  std::vector<std::vector<double>> logprobs_;  // after each token and row
};

llama_token best_of(const std::vector<double>& row) {
  return static_cast<llama_token>(std::max_element(row.begin(), row.end()) - row.begin());
}

template <class Numbers>
void print(const char* name, const Numbers& numbers, const char* after = ",") {
  std::printf("\"%s\":[", name);
  const char* comma = "";
  for (const auto number : numbers) {
    std::printf("%s%.6g", comma, static_cast<double>(number));
    comma = ",";
  }
  std::printf("]%s", after);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: image-answers MODEL\n"), 1;
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  llama_backend_init();
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) return 1;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 256;
  params.n_threads = params.n_threads_batch = 1;
  params.type_k = params.type_v = GGML_TYPE_F32;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) return 1;

  Answers answers(model, context);
  const bool is_read =
      answers.add(kTokens, std::size(kTokens)) && answers.add_picture(1, kFirstGrid) &&
      answers.add(kBetween, std::size(kBetween)) && answers.add_picture(2, kSecondGrid) &&
      answers.add(kBehind, std::size(kBehind));
  if (!is_read) return 1;
  const std::string path = argv[1];
  std::printf("{\"model\":\"%s\",\"reference\":\"llama.cpp, F32 KV cache, CPU\",",
              path.substr(path.find_last_of('/') + 1).c_str());
  print("width", std::vector{answers.width()});
  print("tokens", kTokens);
  print("first_grid", kFirstGrid);
  print("between", kBetween);
  print("second_grid", kSecondGrid);
  print("behind", kBehind);
  std::printf("\"positions\":[");
  for (const int position : kPositions) {
    const auto& row = answers.logprobs()[static_cast<size_t>(position)];
    std::printf("%s{\"position\":%d,\"argmax\":%d,", position > 0 ? "," : "", position,
                best_of(row));
    print("logprobs", row, "}");
  }
  std::printf("],");
  std::vector<llama_token> greedy;
  while (greedy.size() < kGreedy) {
    greedy.push_back(best_of(answers.logprobs().back()));
    if (!answers.add(&greedy.back(), 1)) return 1;
  }
  print("greedy", greedy, "}\n");
}
