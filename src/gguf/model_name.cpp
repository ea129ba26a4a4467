#include "gguf/model_name.h"

#include <algorithm>
#include <vector>

#include "base/ascii.h"
#include "gguf/file.h"
#include "gguf/split.h"

namespace kinglet {
namespace {

// Converters that find no better name take that of the model's folder, which is often where a
// training run wrote. Such names consist of these words, numbers and single letters.
constexpr std::string_view kPlaceWords[] = {
    "adapter", "adapters",    "artifact",    "artifacts",  "autotrain",    "axolotl",
    "best",    "bf",          "bit",         "checkpoint", "checkpoints",  "ckpt",
    "content", "converted",   "data",        "dpo",        "epoch",        "epochs",
    "exp",     "experiment",  "experiments", "export",     "exported",     "exports",
    "final",   "fine",        "finetune",    "finetuned",  "folder",       "fp",
    "full",    "ggml",        "gguf",        "global",     "grpo",         "hf",
    "home",    "huggingface", "iter",        "last",       "latest",       "llm",
    "local",   "log",         "logs",        "lora",       "main",         "merge",
    "merged",  "mnt",         "model",       "models",     "my",           "new",
    "none",    "orpo",        "out",         "output",     "outputs",      "path",
    "ppo",     "pretrain",    "pretrained",  "pytorch",    "quantized",    "result",
    "results", "root",        "run",         "runs",       "save",         "saved",
    "saves",   "sft",         "shard",       "sharded",    "snapshot",     "snapshots",
    "step",    "steps",       "temp",        "test",       "the",          "tmp",
    "torch",   "train",       "trained",     "training",   "transformers", "tuned",
    "unknown", "unnamed",     "unsloth",     "untitled",   "user",         "users",
    "wandb",   "weights",     "work",        "workspace"};

// Words that count the steps of a run, if a number follows: "Checkpoint 1200", "Ep2".
constexpr std::string_view kCounters[] = {"checkpoint", "ckpt", "ep", "epoch", "iter", "lr"};

constexpr size_t kHashDigits = 16;  // a commit has 40
constexpr size_t kStepDigits = 3;   // "Step 5000" is of a run, and "Step 3.5" a model

enum class CharKind { other, letter, digit };

CharKind char_kind(char c) {
  if (is_digit(c)) return CharKind::digit;
  // Bytes above ASCII belong to words of other scripts.
  return is_letter(c) || static_cast<unsigned char>(c) >= 0x80 ? CharKind::letter : CharKind::other;
}

// Returns the runs of letters and of digits, in lower case: "Ep2-f16" is ep, 2, f, 16.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  CharKind before = CharKind::other;
  for (const char c : name) {
    const CharKind kind = char_kind(c);
    if (kind != CharKind::other) {
      if (kind != before) words.emplace_back();
      words.back() += to_lower(c);
    }
    before = kind;
  }
  return words;
}

bool has_hash(std::string_view name) {
  size_t n_digits = 0;
  for (const char c : name) {
    n_digits = hex_digit(c) ? n_digits + 1 : 0;
    if (n_digits == kHashDigits) return true;
  }
  return false;
}

// Whether it is a path. "owner/model" is none: it is a model's name on the hub.
bool is_path(std::string_view name) {
  return name.find('\\') != name.npos || name.starts_with('/') || name.starts_with('.') ||
         name.starts_with('~') || std::count(name.begin(), name.end(), '/') > 1;
}

bool is_of_run(std::string_view name) {
  const std::vector<std::string> words = words_of(name);
  const auto says_nothing = [](const std::string& word) {
    return word.size() == 1 || is_digit(word[0]) || is_among(word, kPlaceWords);
  };
  if (std::all_of(words.begin(), words.end(), says_nothing)) return true;
  if (words[0].starts_with("tmp") || has_hash(name) || is_path(name)) return true;
  for (size_t i = 1; i < words.size(); ++i) {
    if (!is_digit(words[i][0])) continue;
    const bool is_step = words[i - 1] == "step" && words[i].size() >= kStepDigits;
    if (is_step || is_among(words[i - 1], kCounters)) return true;
  }
  return false;
}

std::string file_name(std::string_view path) {
  std::string stem(part_stem(path.substr(path.find_last_of("/\\") + 1)));
  const size_t end = stem.size() - std::min(stem.size(), kGgufExtension.size());
  if (equal_ignoring_case(std::string_view(stem).substr(end), kGgufExtension)) stem.resize(end);
  return stem;
}

}  // namespace

std::string model_name(const GgufHeader& header, std::string_view path) {
  const auto found = header.get_string("general.name", "");
  const std::string_view name = found.ok() ? found.value() : std::string_view();
  if (!is_of_run(name)) return std::string(name);
  std::string file = file_name(path);
  return file.empty() || (!name.empty() && is_of_run(file)) ? std::string(name) : file;
}

}  // namespace kinglet
