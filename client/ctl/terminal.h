// The terminal of standard input or output, if there is one.
#pragma once

namespace csi_proxy::ctl {

bool StandardInputIsTerminal();
bool StandardOutputIsTerminal();

// Makes the terminal at standard output interpret control sequences. Returns false if it cannot.
bool EnableControlSequences();
// The control sequence that moves the cursor to the top and clears everything below.
inline constexpr char kClearScreen[] = "\x1b[H\x1b[J";

// Turns off the echo of a terminal at standard input while the object lives.
class EchoOff {
 public:
  EchoOff();
  EchoOff(const EchoOff&) = delete;
  EchoOff& operator=(const EchoOff&) = delete;
  ~EchoOff();

  // Returns true if standard input is a terminal.
  bool is_terminal() const { return is_terminal_; }

 private:
  bool is_terminal_ = false;
  bool was_on_ = false;
};

}  // namespace csi_proxy::ctl
