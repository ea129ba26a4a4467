#include "text/token_names.h"

#include <limits>

namespace kinglet {
namespace {

// Each list of names is one text, with a space around every name: pages download less this way.

// Tokens that end a turn in the chat formats of model families whose files often declare only their
// eos. The list is llama.cpp's. The spellings are too unusual to mean anything else, whatever type
// the file gives them.
constexpr std::string_view kEndsOfTurn =
    " </s>"                   // Llama 2, Mistral; Phi-3, whose eos is another one
    " <eos>"                  // Gemma
    " <|im_end|>"             // ChatML: Qwen, SmolLM, Hermes
    " <|eot_id|>"             // Llama 3
    " <|eom_id|>"             // Llama 3.1, before a tool's answer
    " <end_of_turn>"          // Gemma
    " <turn|>"                // Gemma 4
    " <|tool_response>"       // ... before a tool's answer
    " <|end|>"                // Phi-3
    " <|endoftext|>"          // GPT-2, Qwen, Phi
    " <|end_of_text|>"        // Llama 3, Granite
    " <｜end▁of▁sentence｜>"  // DeepSeek
    " <EOT>"                  // Code Llama
    " ▁<EOT>"                 // ... with the mark of a space
    " _<EOT>"                 // ... in some of its files
    " [EOT]"                  // Kimi
    " [EOS]"                  // ... at the end of a text
    " [e~["                   // MiniMax
    " <end_of_utterance>"     // SmolVLM
    " <|return|>"             // o200k, in the format of gpt-oss
    " <|call|>"               // ... before a tool's answer
    " <|flush|>"              // Solar
    " <|calls|> ";            // ... before a tool's answer

// Marks around parts of code: a text with a gap, files of a repository. If a file gives the id of a
// part, it means that token and no other. If it gives none, the names below are marks of structure,
// whatever type the file gives them.
struct CodeMark {
  std::string_view key;      // the metadata key of the id
  std::string_view old_key;  // its older name
  bool ends_generation;      // because padding or another file follows
  std::string_view names;
};
constexpr CodeMark kCodeMarks[] = {
    {"tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.prefix_token_id", false,
     " <|fim_prefix|> <fim-prefix> <fim_prefix> <｜fim▁begin｜> <PRE> ▁<PRE> <|code_prefix|>"
     " <|prefix|> "},
    {"tokenizer.ggml.fim_suf_token_id", "tokenizer.ggml.suffix_token_id", false,
     " <|fim_suffix|> <fim-suffix> <fim_suffix> <｜fim▁hole｜> <SUF> ▁<SUF> <|code_suffix|>"
     " <|suffix|> "},
    {"tokenizer.ggml.fim_mid_token_id", "tokenizer.ggml.middle_token_id", false,
     " <|fim_middle|> <fim-middle> <fim_middle> <｜fim▁end｜> <MID> ▁<MID> <|code_middle|>"
     " <|middle|> "},
    {"tokenizer.ggml.fim_pad_token_id", "tokenizer.ggml.fim_pad_token_id", true,
     " <|fim_pad|> <fim-pad> <fim_pad> <PAD> [PAD] "},
    {"tokenizer.ggml.fim_rep_token_id", "tokenizer.ggml.fim_rep_token_id", true,
     " <|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame> "},
    {"tokenizer.ggml.fim_sep_token_id", "tokenizer.ggml.fim_sep_token_id", true, " <|file_sep|> "},
};

// `text` must not contain a space.
bool has(std::string_view names, std::string_view text) {
  for (size_t at = 0; (at = names.find(text, at)) != std::string_view::npos; ++at) {
    if (names[at - 1] == ' ' && names[at + text.size()] == ' ') return true;
  }
  return false;
}

// Most tokens are words: for these, no list needs to be searched.
bool may_be_mark(std::string_view text) {
  if (text.empty() || text.find(' ') != std::string_view::npos) return false;
  const char last = text.back();
  return last == '>' || last == ']' || last == '[';
}

bool gives_id(const GgufHeader& header, std::string_view key) {
  const MetadataValue* id = header.find(key);
  return id != nullptr && !means_no_token(*id);
}

}  // namespace

bool means_no_token(const MetadataValue& id) {
  const auto number = id.as_uint();
  return id.as_int() == -1 || number == std::numeric_limits<uint32_t>::max() ||
         number == std::numeric_limits<uint64_t>::max();
}

NameMeaning meaning_of_name(const GgufHeader& header, std::string_view text) {
  if (!may_be_mark(text)) return NameMeaning::none;
  if (has(kEndsOfTurn, text)) return NameMeaning::end;
  for (const CodeMark& mark : kCodeMarks) {
    if (!has(mark.names, text)) continue;
    if (gives_id(header, mark.key) || gives_id(header, mark.old_key)) break;
    return mark.ends_generation ? NameMeaning::end : NameMeaning::mark;
  }
  return NameMeaning::none;
}

}  // namespace kinglet
