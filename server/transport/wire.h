// gRPC on the wire, above HTTP/2: messages, timeouts and error texts, as
// https://github.com/grpc/grpc/blob/v1.51.1/doc/PROTOCOL-HTTP2.md defines them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace csi_proxy::transport {

// A message begins with one byte of flags and four of its length.
inline constexpr size_t kPrefixBytes = 5;

// Appends an uncompressed message to `*bytes`. REQUIRES: the message has less than 4 GiB.
void AppendMessage(absl::string_view message, std::string* bytes);

// Finds the messages in bytes that arrive in pieces. Not thread-safe.
class MessageReader {
 public:
  enum class Event { kNeedsMore, kPrefix, kMessage };

  // Takes bytes off the front of `*bytes` until a prefix is complete (kPrefix), its message is
  // complete (kMessage), or no bytes are left (kNeedsMore). Keeps the bytes of the message.
  // REQUIRES: after kMessage, TakeMessage() is called before the next Take().
  Event Take(absl::string_view* bytes);
  // Returns the complete message; the next one may follow.
  std::string TakeMessage();

  // Return the flags and the length of the message's prefix. REQUIRES: in_message().
  uint8_t flags() const { return static_cast<uint8_t>(prefix_[0]); }
  size_t length() const { return length_; }

  // Returns true between a prefix and the end of its message.
  bool in_message() const { return has_prefix_; }
  // Returns true if no byte has arrived since the last message.
  bool at_start() const { return prefix_.empty(); }
  // Returns how many bytes of the message have not arrived. REQUIRES: in_message().
  size_t missing() const { return length_ - message_.size(); }
  // Returns how many bytes of the message are kept.
  size_t kept() const { return message_.size(); }
  // Allocates the memory of the whole message, so that it does not grow in steps.
  void Reserve() { message_.reserve(length_); }

 private:
  std::string prefix_;
  bool has_prefix_ = false;
  size_t length_ = 0;
  std::string message_;
};

// Returns the value of `grpc-timeout`: up to eight digits and a unit. Returns nullopt for other
// texts. The largest value, 99,999,999 hours, is finite.
std::optional<absl::Duration> ParseTimeout(absl::string_view text);

// Returns true if a `content-type` is gRPC's, with or without a message format or parameters.
bool IsGrpcContentType(absl::string_view text);

// The most bytes of an error's text, before it is encoded. A header carries the text, and clients
// accept 8 KiB of headers. StatusForCaller() of calls/call.h leaves 2 KiB and a short note.
inline constexpr size_t kMaxStatusText = (2 << 10) + 64;

// Returns an error's text as `grpc-message` carries it: `%XX` for `%` and for every byte that is
// not printable ASCII. Cuts a text over kMaxStatusText, never within a character.
std::string EncodeStatusText(absl::string_view text);

}  // namespace csi_proxy::transport
