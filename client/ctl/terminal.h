// The terminal a person sits at, if there is one.
#pragma once

namespace csi_proxy::ctl {

bool StandardInputIsTerminal();
bool StandardOutputIsTerminal();

// Makes the terminal at standard output understand control sequences, such as the one that clears
// it; false when it cannot.
bool EnableControlSequences();
// One of them: cursor to the top, and all below it cleared.
inline constexpr char kClearScreen[] = "\x1b[H\x1b[J";

// While it lives, what is typed at standard input does not show. Does nothing when that is not
// a terminal.
class EchoOff {
 public:
  EchoOff();
  EchoOff(const EchoOff&) = delete;
  EchoOff& operator=(const EchoOff&) = delete;
  ~EchoOff();

  // Tells whether somebody types.
  bool is_terminal() const { return is_terminal_; }

 private:
  bool is_terminal_ = false;
  bool was_on_ = false;
};

}  // namespace csi_proxy::ctl
