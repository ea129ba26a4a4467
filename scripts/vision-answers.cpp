// Asks llama.cpp's libmtmd how it reads pictures, for the fixtures of
// scripts/make-vision-fixtures.mjs. Build it against llama.cpp's include, ggml/include and
// tools/mtmd folders and their libraries. Usage: vision-answers TEXT_MODEL MMPROJ WIDTHxHEIGHT… >
// ANSWERS.json
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "llama.h"
#include "mtmd.h"

namespace {

// The same as picture_of() in tests/vision/pictures.h.
std::vector<unsigned char> picture_of(int width, int height) {
  std::vector<unsigned char> pixels;
  pixels.reserve(static_cast<size_t>(width) * height * 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int ramps[] = {255 * x / std::max(width - 1, 1), 255 * y / std::max(height - 1, 1),
                           255 * (x + y) / std::max(width + height - 2, 1)};
      const int square = (x / 8 + y / 8) % 2 == 0 ? 0 : 40;
      for (int c = 0; c < 3; ++c) {
        const int grain = (13 * x + 29 * y + 17 * c) % 31;
        pixels.push_back(static_cast<unsigned char>(std::clamp(ramps[c] - square + grain, 0, 255)));
      }
    }
  }
  return pixels;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? std::string("\\n") : std::string(1, c);
  return out;
}

void print_numbers(const char* name, const std::vector<double>& numbers, const char* after) {
  std::printf("\"%s\":[", name);
  for (size_t i = 0; i < numbers.size(); ++i) std::printf("%s%.6g", i > 0 ? "," : "", numbers[i]);
  std::printf("]%s", after);
}

// Of all rows: four of them, their mean, and the mean of row i times (i + 1) / n, which tells
// orders apart.
void print_rows(const float* rows, size_t n, size_t width) {
  std::vector<double> some, mean(width), slope(width);
  for (const size_t row : {size_t{0}, n / 3, 2 * n / 3, n - 1}) {
    some.insert(some.end(), rows + row * width, rows + (row + 1) * width);
  }
  for (size_t i = 0; i < n * width; ++i) {
    mean[i % width] += rows[i] / static_cast<double>(n);
    slope[i % width] += rows[i] / static_cast<double>(n) * static_cast<double>(i / width + 1) /
                        static_cast<double>(n);
  }
  std::printf("{\"n_rows\":%zu,", n);
  print_numbers("rows", some, ",");
  print_numbers("mean", mean, ",");
  print_numbers("slope", slope, "}");
}

void print_text(const llama_vocab* vocab, const mtmd_input_chunk* chunk) {
  size_t n = 0;
  const llama_token* tokens = mtmd_input_chunk_get_tokens_text(chunk, &n);
  std::string text;
  for (size_t i = 0; i < n; ++i) {
    char piece[256];
    text.append(piece, static_cast<size_t>(
                           llama_token_to_piece(vocab, tokens[i], piece, sizeof piece, 0, true)));
  }
  std::printf("{\"text\":\"%s\"}", escaped(text).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: vision-answers TEXT MMPROJ WIDTHxHEIGHT…\n"), 1;
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  llama_backend_init();
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) return 1;
  mtmd_context_params params = mtmd_context_params_default();
  params.use_gpu = false;
  params.n_threads = 1;
  params.warmup = false;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  mtmd_context* context = mtmd_init_from_file(argv[2], model, params);
  if (context == nullptr) return 1;
  const size_t width = static_cast<size_t>(llama_model_n_embd_inp(model));

  std::printf("{\"pictures\":[");
  for (int i = 3; i < argc; ++i) {
    char* end = nullptr;
    const int w = static_cast<int>(std::strtol(argv[i], &end, 10));
    const int h = static_cast<int>(std::strtol(end + 1, nullptr, 10));
    const auto pixels = picture_of(w, h);
    mtmd_bitmap* bitmap = mtmd_bitmap_init(w, h, pixels.data());
    mtmd_input_chunks* chunks = mtmd_input_chunks_init();
    const std::string marker = mtmd_default_marker();
    const mtmd_input_text text{marker.c_str(), marker.size(), false, true};
    const mtmd_bitmap* bitmaps[] = {bitmap};
    if (mtmd_tokenize(context, chunks, &text, bitmaps, 1) != 0) return 1;
    std::printf("%s\n{\"width\":%d,\"height\":%d,\"parts\":[", i > 3 ? "," : "", w, h);
    for (size_t k = 0; k < mtmd_input_chunks_size(chunks); ++k) {
      const mtmd_input_chunk* chunk = mtmd_input_chunks_get(chunks, k);
      std::printf("%s\n", k > 0 ? "," : "");
      if (mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_TEXT) {
        print_text(llama_model_get_vocab(model), chunk);
        continue;
      }
      if (mtmd_encode_chunk(context, chunk) != 0) return 1;
      print_rows(mtmd_get_output_embd(context), mtmd_input_chunk_get_n_tokens(chunk), width);
    }
    std::printf("]}");
    mtmd_input_chunks_free(chunks);
    mtmd_bitmap_free(bitmap);
  }
  std::printf("]}\n");
}
