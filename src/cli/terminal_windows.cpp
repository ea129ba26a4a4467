#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "cli/terminal.h"

namespace kinglet::cli {

namespace {

constexpr uint32_t kInterrupted = 1;
std::atomic<uint32_t> interruption{0};

// The console's code page for output before the program changed it. It is restored at exit, because
// the console outlives the program.
UINT code_page_before = 0;

bool is_console(DWORD stream) {
  DWORD mode = 0;
  return GetConsoleMode(GetStdHandle(stream), &mode) != 0;
}

// Makes the console interpret escape sequences instead of printing them.
void enable_styles(DWORD stream) {
  HANDLE const handle = GetStdHandle(stream);
  DWORD mode = 0;
  if (GetConsoleMode(handle, &mode) != 0) {
    SetConsoleMode(handle, mode | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
}

// Windows calls this on a thread of its own.
BOOL WINAPI on_interrupt(DWORD event) {
  if (event != CTRL_C_EVENT) return FALSE;
  interruption.store(kInterrupted, std::memory_order_relaxed);
  return TRUE;
}

}  // namespace

void prepare_streams() {
  for (std::FILE* stream : {stdin, stdout, stderr}) _setmode(_fileno(stream), _O_BINARY);
  // Unbuffered, the C library would write one byte at a time to a console, which breaks characters
  // of several bytes.
  std::setvbuf(stdout, nullptr, _IOFBF, size_t{1} << 16);
  code_page_before = GetConsoleOutputCP();
  if (code_page_before == 0) return;  // there is no console
  SetConsoleOutputCP(CP_UTF8);
  std::atexit([] { SetConsoleOutputCP(code_page_before); });
  enable_styles(STD_OUTPUT_HANDLE);
  enable_styles(STD_ERROR_HANDLE);
}

bool reads_from_terminal() { return is_console(STD_INPUT_HANDLE); }
bool writes_to_terminal() { return is_console(STD_OUTPUT_HANDLE); }
bool reports_to_terminal() { return is_console(STD_ERROR_HANDLE); }

void catch_interrupts() { SetConsoleCtrlHandler(on_interrupt, TRUE); }

Cancellation next_interrupt() {
  interruption.store(0, std::memory_order_relaxed);
  return {&interruption, kInterrupted};
}

}  // namespace kinglet::cli
