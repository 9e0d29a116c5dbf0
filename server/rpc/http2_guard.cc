#include "server/rpc/http2_guard.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace csi_proxy::rpc {
namespace {

// RFC 9113, section 6.
enum FrameType : uint8_t {
  kData,
  kHeaders,
  kPriority,
  kRstStream,
  kSettings,
  kPushPromise,
  kPing,
  kGoAway,
  kWindowUpdate,
  kContinuation,
};
constexpr uint8_t kEndStream = 0x1;
constexpr uint8_t kEndHeaders = 0x4;

constexpr uint32_t kAny = std::numeric_limits<uint32_t>::max();

// The longest frame that the server's settings allow, which is the default (section 6.5.2). gRPC
// would end the connection of a longer one, but let the client dial again and again.
constexpr uint32_t kLongest = 16 << 10;

// The lengths that a frame of a type may have. Header blocks have a separate limit.
struct Lengths {
  uint32_t least;
  uint32_t most;
  uint32_t multiple_of = 1;
};
constexpr Lengths kLengths[] = {
    /*DATA*/ {0, kLongest},
    /*HEADERS*/ {0, kAny},
    /*PRIORITY*/ {5, 5},
    /*RST_STREAM*/ {4, 4},
    // 64 settings, more than are defined.
    /*SETTINGS*/ {0, 6 * 64, 6},
    /*PUSH_PROMISE*/ {0, kAny},
    /*PING*/ {8, 8},
    // The payload may end with a reason for people to read.
    /*GOAWAY*/ {8, 1024},
    /*WINDOW_UPDATE*/ {4, 4},
    /*CONTINUATION*/ {0, kAny},
};
// Frames of unknown types are ignored (section 4.1).
constexpr Lengths kUnknown = {0, kLongest};

}  // namespace

Http2Guard::Http2Guard(std::shared_ptr<Http2Account> account) : account_(std::move(account)) {}

Http2Guard::~Http2Guard() {
  for (const Request& request : unfinished_) account_->EndRequest(request.bytes);
  account_->LetGo(block_kept_);
  const MutexLock lock(mutex_);
  account_->EndCalls(calls_.size());
}

absl::string_view Http2Frames::TakePayload(absl::string_view* bytes) {
  const absl::string_view payload = bytes->substr(0, payload_left_);
  payload_left_ -= payload.size();
  bytes->remove_prefix(payload.size());
  return payload;
}

bool Http2Frames::Next(absl::string_view* bytes, Http2Frame* frame) {
  TakePayload(bytes);
  const size_t part = std::min(kHeader - have_, bytes->size());
  std::copy_n(bytes->begin(), part, header_.begin() + static_cast<std::ptrdiff_t>(have_));
  have_ += part;
  bytes->remove_prefix(part);
  if (have_ < kHeader) return false;
  have_ = 0;
  const auto number = [&](size_t at, size_t size) {
    uint32_t value = 0;
    for (size_t i = at; i < at + size; ++i) value = value << 8 | header_[i];
    return value;
  };
  *frame = {.length = number(0, 3),
            .type = header_[3],
            .flags = header_[4],
            // The highest bit is reserved, and ignored.
            .stream = number(5, 4) & 0x7fffffffu};
  payload_left_ = frame->length;
  return true;
}

Http2Violation Http2Guard::Received(absl::string_view bytes, Http2Time now,
                                    std::vector<absl::string_view>* pieces) {
  if (violation_ != Http2Violation::kNone) return violation_;
  if (account_->barred(now)) return violation_ = Http2Violation::kBarred;
  if (sent_too_many_resets_) violation_ = Http2Violation::kResets;
  if (!std::exchange(begun_, true) && !account_->PayConnection(now)) {
    violation_ = Http2Violation::kConnections;
  }
  if (violation_ == Http2Violation::kNone && received_.payload_left() > 0 && !bytes.empty()) {
    violation_ = Keep(account_->limits().piece_bytes);
  }
  // The first byte that no piece contains yet.
  const char* uncut = bytes.data();
  const auto cut = [&](const char* end) {
    if (pieces != nullptr && end > uncut) pieces->emplace_back(uncut, end - uncut);
    uncut = end;
  };
  while (violation_ == Http2Violation::kNone && !bytes.empty()) {
    const bool in_frame = received_.payload_left() > 0;
    const absl::string_view payload = received_.TakePayload(&bytes);
    if (frame_.type == kData && !payload.empty()) {
      cut(payload.data());
      cut(bytes.data());
      violation_ = OnData(payload);
      if (violation_ != Http2Violation::kNone) break;
    }
    if (in_frame && received_.payload_left() == 0) EndFrame();
    if (!received_.Next(&bytes, &frame_)) break;
    violation_ = Judge(now);
    if (violation_ == Http2Violation::kNone && frame_.length == 0) EndFrame();
  }
  if (violation_ != Http2Violation::kNone) account_->CountViolation(now);
  cut(bytes.data() + bytes.size());
  return violation_;
}

void Http2Guard::Sent(absl::string_view bytes, Http2Time now) {
  Http2Frame frame;
  while (sent_.Next(&bytes, &frame)) {
    if (frame.type == kRstStream && !account_->PayReset(now)) sent_too_many_resets_ = true;
    const bool may_end = frame.type == kHeaders || frame.type == kData;
    if (frame.type == kRstStream || (may_end && (frame.flags & kEndStream) != 0)) {
      Close(frame.stream);
    }
  }
}

Http2Violation Http2Guard::Open(uint32_t stream, bool whole) {
  const MutexLock lock(mutex_);
  if (calls_.size() >= account_->limits().calls) return Http2Violation::kStreams;
  const Http2Violation refused = account_->BeginCall(whole);
  if (refused == Http2Violation::kNone) calls_.push_back(stream);
  return refused;
}

void Http2Guard::Close(uint32_t stream) {
  const MutexLock lock(mutex_);
  const auto found = std::find(calls_.rbegin(), calls_.rend(), stream);
  if (found == calls_.rend()) return;
  *found = calls_.back();
  calls_.pop_back();
  account_->EndCalls(1);
}

Http2Violation Http2Guard::Judge(Http2Time now) {
  const bool known = frame_.type < std::size(kLengths);
  const Lengths& lengths = known ? kLengths[frame_.type] : kUnknown;
  if (frame_.length < lengths.least || frame_.length > lengths.most ||
      frame_.length % lengths.multiple_of != 0) {
    return Http2Violation::kFrameSize;
  }
  if (frame_.type == kContinuation) return OnContinuation();
  if (open_block_ != 0) return Http2Violation::kContinuations;
  double price = 1;
  switch (frame_.type) {
    case kHeaders:
      return OnHeaders();
    case kPushPromise:
      return Http2Violation::kPush;
    case kData: {
      if (Find(frame_.stream) == nullptr) return Http2Violation::kStream;
      const Http2Violation refused = Keep(frame_.length + account_->limits().piece_bytes);
      const bool does_nothing = frame_.length == 0 && (frame_.flags & kEndStream) == 0;
      if (refused != Http2Violation::kNone || !does_nothing) return refused;
      break;
    }
    case kRstStream:
      if (frame_.stream == 0 || frame_.stream > newest_stream_) return Http2Violation::kStream;
      if (Request* const request = Find(frame_.stream)) Finish(request);
      Close(frame_.stream);
      return account_->PayReset(now) ? Http2Violation::kNone : Http2Violation::kResets;
    default:
      if (!known) price += frame_.length / account_->limits().unknown_bytes_per_control_frame;
      break;
  }
  return account_->PayControlFrames(price, now) ? Http2Violation::kNone
                                                : Http2Violation::kControlFrames;
}

Http2Violation Http2Guard::Keep(size_t bytes) {
  size_t* kept = nullptr;
  if (frame_.type == kData) kept = &Find(frame_.stream)->bytes;
  if (frame_.type == kHeaders || frame_.type == kContinuation) kept = &block_kept_;
  // gRPC keeps no bytes of other frames, because it parses them as they arrive.
  if (kept == nullptr) return Http2Violation::kNone;
  if (!account_->Keep(bytes)) return Http2Violation::kUnfinished;
  *kept += bytes;
  return Http2Violation::kNone;
}

void Http2Guard::EndFrame() {
  if (frame_.type == kData && (frame_.flags & kEndStream) != 0) Finish(Find(frame_.stream));
  const bool of_block = frame_.type == kHeaders || frame_.type == kContinuation;
  if (of_block && (frame_.flags & kEndHeaders) != 0) {
    account_->LetGo(std::exchange(block_kept_, 0));
  }
}

// If a message's flag is neither 0 (plain) nor 1 (compressed), gRPC 1.51 calls the method with an
// empty message instead (src/core/ext/transport/chttp2/transport/frame_data.cc).
Http2Violation Http2Guard::OnData(absl::string_view payload) {
  Request* const request = Find(frame_.stream);
  if (std::exchange(request->begun, true)) return Http2Violation::kNone;
  return static_cast<uint8_t>(payload[0]) <= 1 ? Http2Violation::kNone : Http2Violation::kMessage;
}

Http2Guard::Request* Http2Guard::Find(uint32_t stream) {
  const auto found = std::find_if(unfinished_.begin(), unfinished_.end(),
                                  [&](const Request& request) { return request.stream == stream; });
  return found != unfinished_.end() ? &*found : nullptr;
}

void Http2Guard::Finish(Request* request) {
  account_->EndRequest(request->bytes);
  // The order of `unfinished_` does not matter.
  *request = unfinished_.back();
  unfinished_.pop_back();
}

// Opens a new stream. Refuses the trailers of an open one, because no gRPC client sends trailers.
Http2Violation Http2Guard::OnHeaders() {
  // Streams of clients have odd numbers that only grow (section 5.1.1).
  if (frame_.stream % 2 == 0 || frame_.stream <= newest_stream_) return Http2Violation::kStream;
  newest_stream_ = frame_.stream;
  const bool whole = (frame_.flags & kEndStream) != 0;
  const Http2Violation refused = Open(frame_.stream, whole);
  if (refused != Http2Violation::kNone) return refused;
  if (!whole) unfinished_.push_back({.stream = frame_.stream});
  block_bytes_ = 0;
  continuations_ = 0;
  return OnBlock();
}

Http2Violation Http2Guard::OnContinuation() {
  if (open_block_ == 0 || frame_.stream != open_block_) return Http2Violation::kContinuations;
  if (++continuations_ > account_->limits().continuations) return Http2Violation::kContinuations;
  return OnBlock();
}

Http2Violation Http2Guard::OnBlock() {
  block_bytes_ += frame_.length;
  open_block_ = (frame_.flags & kEndHeaders) != 0 ? 0 : frame_.stream;
  if (block_bytes_ > account_->limits().header_block_bytes) return Http2Violation::kHeaderBlock;
  return Keep(frame_.length + account_->limits().piece_bytes);
}

}  // namespace csi_proxy::rpc
