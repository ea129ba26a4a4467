#include "cli/line_editor.h"

#ifdef KINGLET_HAS_LIBEDIT

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <filesystem>
#include <system_error>

#include "cli/terminal.h"

namespace kinglet::cli {
namespace {

// The path of the history, in the folder for programs' state. Source: the XDG Base Directory
// Specification.
std::string history_path() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder;
  if (state != nullptr && *state == '/') {
    folder = state;
  } else if (home != nullptr && *home == '/') {
    folder = std::filesystem::path(home) / ".local/state";
  } else {
    return {};
  }
  folder /= "kinglet";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? std::string() : (folder / "chat-history").string();
}

// Replaces libedit's function, which does not return on Ctrl-C if another thread gets the signal.
int read_key(EditLine*, wchar_t* key) {
  std::mbstate_t state = {};
  for (;;) {
    pollfd events[] = {{STDIN_FILENO, POLLIN, 0}, {interrupt_descriptor(), POLLIN, 0}};
    if (poll(events, std::size(events), -1) < 0) {
      if (errno == EINTR) continue;
      return -1;
    }
    if (events[1].revents != 0) return -1;
    char byte = 0;
    const ssize_t n = ::read(STDIN_FILENO, &byte, 1);
    if (n <= 0) return static_cast<int>(n);
    constexpr auto kInvalid = static_cast<size_t>(-1);
    constexpr auto kIncomplete = static_cast<size_t>(-2);
    const size_t length = std::mbrtowc(key, &byte, 1, &state);
    if (length == kIncomplete) continue;
    if (length == kInvalid) *key = L'\ufffd';
    return 1;
  }
}

class LibeditLineEditor final : public LineEditor {
 public:
  LibeditLineEditor()
      : editor_(el_init("kinglet", stdin, stdout, stderr)),
        history_(history_init()),
        history_path_(history_path()) {
    constexpr int kMostLines = 1000;
    HistEvent event;
    history(history_, &event, H_SETSIZE, kMostLines);
    history(history_, &event, H_SETUNIQUE, 1);
    if (!history_path_.empty()) history(history_, &event, H_LOAD, history_path_.c_str());
    el_set(editor_, EL_CLIENTDATA, this);
    el_set(editor_, EL_PROMPT, &LibeditLineEditor::prompt_of);
    el_set(editor_, EL_EDITOR, "emacs");
    el_set(editor_, EL_HIST, history, history_);
    el_set(editor_, EL_GETCFN, &read_key);
    el_source(editor_, nullptr);  // the user's settings in ~/.editrc
  }

  ~LibeditLineEditor() override {
    HistEvent event;
    // Only the user may read the history.
    if (!history_path_.empty() && history(history_, &event, H_SAVE, history_path_.c_str()) != -1) {
      std::error_code ignored;
      std::filesystem::permissions(history_path_, std::filesystem::perms(0600), ignored);
    }
    history_end(history_);
    el_end(editor_);
  }

  LibeditLineEditor(const LibeditLineEditor&) = delete;
  LibeditLineEditor& operator=(const LibeditLineEditor&) = delete;

  std::optional<std::string> read(const char* prompt) override {
    prompt_ = prompt;
    el_resize(editor_);
    const Cancellation interrupt = next_interrupt();
    int n_bytes = 0;
    const char* const line = el_gets(editor_, &n_bytes);
    if (interrupt.requested()) {
      std::fputc('\n', stdout);
      return "";
    }
    if (line == nullptr || n_bytes <= 0) return std::nullopt;
    std::string text(line, static_cast<size_t>(n_bytes));
    if (text.ends_with('\n')) text.pop_back();
    HistEvent event;
    if (!text.empty()) history(history_, &event, H_ENTER, text.c_str());
    return text;
  }

 private:
  static char* prompt_of(EditLine* editor) {
    void* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return static_cast<LibeditLineEditor*>(self)->prompt_.data();
  }

  EditLine* editor_;
  History* history_;
  std::string history_path_;  // empty: nothing is kept
  std::string prompt_;
};

}  // namespace

std::unique_ptr<LineEditor> open_line_editor() {
  // Keys are characters in the encoding of the locale, or in UTF-8 if the locale sets none.
  std::setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
  return std::make_unique<LibeditLineEditor>();
}

}  // namespace kinglet::cli

#else

namespace kinglet::cli {
std::unique_ptr<LineEditor> open_line_editor() { return nullptr; }
}  // namespace kinglet::cli

#endif
