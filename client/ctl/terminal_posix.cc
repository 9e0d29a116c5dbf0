#include <termios.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/string_view.h"
#include "client/ctl/terminal.h"

namespace csi_proxy::ctl {

bool StandardInputIsTerminal() { return isatty(STDIN_FILENO) == 1; }
bool StandardOutputIsTerminal() { return isatty(STDOUT_FILENO) == 1; }

bool EnableControlSequences() {
  const char* const type = std::getenv("TERM");
  return type != nullptr && *type != '\0' && absl::string_view(type) != "dumb";
}

EchoOff::EchoOff() {
  termios settings;
  is_terminal_ = tcgetattr(STDIN_FILENO, &settings) == 0;
  if (!is_terminal_) return;
  was_on_ = (settings.c_lflag & ECHO) != 0;
  settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings);
}

EchoOff::~EchoOff() {
  termios settings;
  if (!was_on_ || tcgetattr(STDIN_FILENO, &settings) != 0) return;
  settings.c_lflag |= ECHO;
  tcsetattr(STDIN_FILENO, TCSANOW, &settings);
}

}  // namespace csi_proxy::ctl
