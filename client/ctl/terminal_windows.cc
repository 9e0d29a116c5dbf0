#include <windows.h>

#include "client/ctl/terminal.h"

namespace csi_proxy::ctl {

bool StandardOutputIsTerminal() {
  DWORD mode;
  return GetConsoleMode(GetStdHandle(STD_OUTPUT_HANDLE), &mode) != 0;
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
