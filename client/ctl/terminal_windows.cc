#include <windows.h>

#include "client/ctl/terminal.h"

namespace csi_proxy::ctl {

namespace {

bool IsConsole(DWORD handle) {
  DWORD mode;
  return GetConsoleMode(GetStdHandle(handle), &mode) != 0;
}

}  // namespace

bool StandardInputIsTerminal() { return IsConsole(STD_INPUT_HANDLE); }
bool StandardOutputIsTerminal() { return IsConsole(STD_OUTPUT_HANDLE); }

bool EnableControlSequences() {
  // https://learn.microsoft.com/en-us/windows/console/console-virtual-terminal-sequences
  const HANDLE output = GetStdHandle(STD_OUTPUT_HANDLE);
  DWORD mode;
  return GetConsoleMode(output, &mode) != 0 &&
         SetConsoleMode(output, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}

EchoOff::EchoOff() {
  const HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
  DWORD mode;
  is_terminal_ = GetConsoleMode(input, &mode) != 0;
  if (!is_terminal_) return;
  was_on_ = (mode & ENABLE_ECHO_INPUT) != 0;
  SetConsoleMode(input, mode & ~DWORD{ENABLE_ECHO_INPUT});
}

EchoOff::~EchoOff() {
  const HANDLE input = GetStdHandle(STD_INPUT_HANDLE);
  DWORD mode;
  if (!was_on_ || GetConsoleMode(input, &mode) == 0) return;
  SetConsoleMode(input, mode | ENABLE_ECHO_INPUT);
}

}  // namespace csi_proxy::ctl
