#include "session/image_prompt.h"

#include <algorithm>
#include <memory>

#include "base/format.h"

namespace kinglet {

namespace {

// Returns the parts of the ranges that are in the piece [begin, end) of a text, relative to
// `begin`.
std::vector<TextRange> ranges_in(std::span<const TextRange> ranges, size_t begin, size_t end) {
  std::vector<TextRange> inside;
  for (const TextRange& range : ranges) {
    const size_t from = std::max(range.begin, begin);
    const size_t to = std::min(range.end, end);
    if (from < to) inside.push_back({from - begin, to - begin});
  }
  return inside;
}

class Composer {
 public:
  explicit Composer(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void add_text(std::string_view text, const EncodeOptions& options,
                std::span<const TextRange> plain = {}) {
    append(tokenizer_.encode(text, options, plain));
  }

  void add_picture(std::span<const ImagePart> parts) {
    for (const ImagePart& part : parts) {
      if (part.is_text()) {
        add_text(part.text, {.add_bos = false, .parse_special = true});
      } else {
        prompt.images.push_back(std::make_shared<const ImageRows>(part.image));
        append(image_tokens(part.image));
      }
    }
  }

  ImagePrompt prompt;

 private:
  void append(const std::vector<TokenId>& tokens) {
    prompt.tokens.insert(prompt.tokens.end(), tokens.begin(), tokens.end());
  }

  const Tokenizer& tokenizer_;
};

}  // namespace

Result<ImagePrompt> encode_with_images(const Tokenizer& tokenizer, std::string_view text,
                                       std::span<const TextRange> plain, std::string_view marker,
                                       std::span<const std::vector<ImagePart>> pictures,
                                       EncodeOptions options) {
  Composer composer(tokenizer);
  size_t begin = 0;
  size_t n_markers = 0;
  for (size_t at = text.find(marker); at != text.npos; at = text.find(marker, begin)) {
    if (n_markers < pictures.size()) {
      composer.add_text(text.substr(begin, at - begin), options, ranges_in(plain, begin, at));
      composer.add_picture(pictures[n_markers]);
    }
    ++n_markers;
    begin = at + marker.size();
    options.add_bos = false;
  }
  if (n_markers != pictures.size()) {
    return Error{ErrorCode::invalid_argument,
                 cat("the text has places for ", n_markers, " pictures, but ", pictures.size(),
                     " were given")};
  }
  composer.add_text(text.substr(begin), options, ranges_in(plain, begin, text.size()));
  return std::move(composer.prompt);
}

}  // namespace kinglet
