// Continues a text: story MODEL.gguf "Once upon a time"
#include <cstdio>
#include <string>
#include <utility>

#include "gguf/file.h"
#include "session/generation.h"
#include "session/language_model.h"
#include "session/session.h"

// Every call that can fail returns a Result or a Status. KINGLET_ASSIGN and KINGLET_TRY return its
// error to the caller.
kinglet::Status tell(const std::string& path, const std::string& prompt) {
  KINGLET_ASSIGN(kinglet::GgufFile file, kinglet::read_gguf_file(path));
  KINGLET_ASSIGN(const kinglet::LanguageModel loaded,
                 kinglet::load_language_model(std::move(file)));
  kinglet::ThreadPool pool(1);
  KINGLET_ASSIGN(const auto session, kinglet::Session::create(loaded.model, pool, {}));

  const auto tokens = loaded.tokenizer->encode(prompt, {.add_bos = true});
  kinglet::GenerationOptions options;
  options.max_tokens = 32;
  options.sampler.temperature = 0;
  KINGLET_ASSIGN(auto generation,
                 kinglet::Generation::start(*session, *loaded.tokenizer, tokens, options));
  for (bool goes_on = true; goes_on;) {
    KINGLET_ASSIGN(const kinglet::GenerationStep step, generation.step());
    std::fputs(step.text.c_str(), stdout);
    goes_on = step.finish == kinglet::FinishReason::none;
  }
  std::fputc('\n', stdout);
  return {};
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: story MODEL.gguf TEXT\n");
    return 2;
  }
  const kinglet::Status status = tell(argv[1], argv[2]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "story: %s\n", status.error().message.c_str());
  return 1;
}
