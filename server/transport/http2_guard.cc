#include "server/transport/http2_guard.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

namespace csi_proxy::transport {
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

// The lengths that a frame of a type may have. DATA is bounded by flow control, and header blocks
// by a limit of their own.
struct Lengths {
  uint32_t least;
  uint32_t most;
  uint32_t multiple_of = 1;
};
constexpr Lengths kLengths[] = {
    /*DATA*/ {0, kAny},
    /*HEADERS*/ {0, kAny},
    /*PRIORITY*/ {5, 5},
    /*RST_STREAM*/ {4, 4},
    // 64 settings: more than are defined.
    /*SETTINGS*/ {0, 6 * 64, 6},
    /*PUSH_PROMISE*/ {0, kAny},
    /*PING*/ {8, 8},
    // With a reason for people to read.
    /*GOAWAY*/ {8, 1024},
    /*WINDOW_UPDATE*/ {4, 4},
    /*CONTINUATION*/ {0, kAny},
};
// A frame of a type that is not known is ignored (section 4.1), if it is no longer than every
// endpoint must take.
constexpr Lengths kUnknown = {0, 16 << 10};

}  // namespace

Http2Account::Http2Account(const Http2Limits& limits)
    : limits_(limits),
      resets_(limits.resets),
      control_frames_(limits.control_frames),
      violations_(limits.violations),
      refused_calls_(limits.refused_calls),
      discarded_(limits.discarded) {}

bool Http2Account::Purse::Pay(double price, absl::Time now) {
  if (now > since_) {
    if (since_ != absl::InfinitePast()) {
      Add(absl::ToDoubleSeconds(now - since_) * allowance_.per_second);
    }
    since_ = now;
  }
  if (left_ < price) return false;
  left_ -= price;
  return true;
}

void Http2Account::Purse::Add(double more) { left_ = std::min(left_ + more, allowance_.burst); }

bool Http2Account::PayReset(absl::Time now) {
  const std::lock_guard<Mutex> lock(mutex_);
  return resets_.Pay(1, now);
}

bool Http2Account::PayControlFrames(double price, absl::Time now) {
  const std::lock_guard<Mutex> lock(mutex_);
  return control_frames_.Pay(price, now);
}

Http2Violation Http2Account::BeginCall(bool whole) {
  const std::lock_guard<Mutex> lock(mutex_);
  if (calls_ >= limits_.calls_of_client) return Http2Violation::kStreams;
  if (!whole && unfinished_ >= limits_.unfinished) return Http2Violation::kUnfinished;
  ++calls_;
  if (!whole) ++unfinished_;
  control_frames_.Add(limits_.control_frames_per_call);
  return Http2Violation::kNone;
}

bool Http2Account::AddToRequest(size_t bytes) {
  const std::lock_guard<Mutex> lock(mutex_);
  if (unfinished_bytes_ + bytes > limits_.unfinished_bytes) return false;
  unfinished_bytes_ += bytes;
  return true;
}

void Http2Account::EndRequest(size_t bytes) {
  const std::lock_guard<Mutex> lock(mutex_);
  --unfinished_;
  unfinished_bytes_ -= bytes;
}

void Http2Account::EndCalls(size_t count) {
  const std::lock_guard<Mutex> lock(mutex_);
  calls_ -= count;
}

void Http2Account::Charge(Purse Http2Account::*purse, absl::Time now) {
  const std::lock_guard<Mutex> lock(mutex_);
  if (!(this->*purse).Pay(1, now)) barred_until_ = absl::ToUnixNanos(now + limits_.bar);
}

void Http2Account::Violated(absl::Time now) { Charge(&Http2Account::violations_, now); }

void Http2Account::CallRefused(absl::Time now) { Charge(&Http2Account::refused_calls_, now); }

void Http2Account::DiscardedUnused(absl::Time now) { Charge(&Http2Account::discarded_, now); }

bool Http2Account::barred(absl::Time now) const {
  const int64_t until = barred_until_, nanos = absl::ToUnixNanos(now);
  // A clock that goes back does not prolong it.
  return nanos < until && until - nanos <= absl::ToInt64Nanoseconds(limits_.bar);
}

size_t Http2Account::unfinished() const {
  const std::lock_guard<Mutex> lock(mutex_);
  return unfinished_;
}

Http2Guard::Http2Guard(std::shared_ptr<Http2Account> account) : account_(std::move(account)) {}

Http2Guard::~Http2Guard() {
  for (const Request& request : unfinished_) account_->EndRequest(request.bytes);
  const std::lock_guard<Mutex> lock(mutex_);
  account_->EndCalls(calls_.size());
}

bool Http2Frames::Next(absl::string_view* bytes, Http2Frame* frame) {
  const size_t skipped = std::min(skip_, bytes->size());
  skip_ -= skipped;
  bytes->remove_prefix(skipped);
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
  skip_ = frame->length;
  return true;
}

Http2Violation Http2Guard::Received(absl::string_view bytes, absl::Time now) {
  Http2Frame frame;
  if (violation_ != Http2Violation::kNone) return violation_;
  if (account_->barred(now)) return violation_ = Http2Violation::kBarred;
  if (sent_too_many_resets_) violation_ = Http2Violation::kResets;
  while (violation_ == Http2Violation::kNone && received_.Next(&bytes, &frame)) {
    violation_ = Judge(frame, now);
  }
  if (violation_ != Http2Violation::kNone) account_->Violated(now);
  return violation_;
}

void Http2Guard::Sent(absl::string_view bytes, absl::Time now) {
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
  const std::lock_guard<Mutex> lock(mutex_);
  if (calls_.size() >= account_->limits().calls) return Http2Violation::kStreams;
  const Http2Violation refused = account_->BeginCall(whole);
  if (refused == Http2Violation::kNone) calls_.push_back(stream);
  return refused;
}

void Http2Guard::Close(uint32_t stream) {
  const std::lock_guard<Mutex> lock(mutex_);
  const auto found = std::find(calls_.rbegin(), calls_.rend(), stream);
  if (found == calls_.rend()) return;
  *found = calls_.back();
  calls_.pop_back();
  account_->EndCalls(1);
}

Http2Violation Http2Guard::Judge(const Http2Frame& frame, absl::Time now) {
  const bool known = frame.type < std::size(kLengths);
  const Lengths& lengths = known ? kLengths[frame.type] : kUnknown;
  if (frame.length < lengths.least || frame.length > lengths.most ||
      frame.length % lengths.multiple_of != 0) {
    return Http2Violation::kFrameSize;
  }
  if (frame.type == kContinuation) return OnContinuation(frame);
  if (open_block_ != 0) return Http2Violation::kContinuations;
  const bool ends_stream = (frame.flags & kEndStream) != 0;
  double price = 1;
  switch (frame.type) {
    case kHeaders:
      return OnHeaders(frame);
    case kPushPromise:
      return Http2Violation::kPush;
    case kData: {
      Request* const request = Find(frame.stream);
      if (request == nullptr) return Http2Violation::kStream;
      if (ends_stream) {
        Finish(request);
        return Http2Violation::kNone;
      }
      if (frame.length == 0) break;
      if (!account_->AddToRequest(frame.length)) return Http2Violation::kUnfinished;
      request->bytes += frame.length;
      return Http2Violation::kNone;
    }
    case kRstStream:
      if (frame.stream == 0 || frame.stream > newest_stream_) return Http2Violation::kStream;
      if (Request* const request = Find(frame.stream)) Finish(request);
      Close(frame.stream);
      return account_->PayReset(now) ? Http2Violation::kNone : Http2Violation::kResets;
    default:
      if (!known) price += frame.length / account_->limits().unknown_bytes_per_control_frame;
      break;
  }
  return account_->PayControlFrames(price, now) ? Http2Violation::kNone
                                                : Http2Violation::kControlFrames;
}

Http2Guard::Request* Http2Guard::Find(uint32_t stream) {
  const auto found = std::find_if(unfinished_.begin(), unfinished_.end(),
                                  [&](const Request& request) { return request.stream == stream; });
  return found != unfinished_.end() ? &*found : nullptr;
}

void Http2Guard::Finish(Request* request) {
  account_->EndRequest(request->bytes);
  // Their order does not matter.
  *request = unfinished_.back();
  unfinished_.pop_back();
}

// A new stream, or a call's trailers, which no gRPC client sends.
Http2Violation Http2Guard::OnHeaders(const Http2Frame& frame) {
  // Streams of clients have odd numbers that only grow (section 5.1.1).
  if (frame.stream % 2 == 0 || frame.stream <= newest_stream_) return Http2Violation::kStream;
  newest_stream_ = frame.stream;
  const bool whole = (frame.flags & kEndStream) != 0;
  const Http2Violation refused = Open(frame.stream, whole);
  if (refused != Http2Violation::kNone) return refused;
  if (!whole) unfinished_.push_back({.stream = frame.stream});
  block_bytes_ = frame.length;
  continuations_ = 0;
  if ((frame.flags & kEndHeaders) == 0) open_block_ = frame.stream;
  return block_bytes_ <= account_->limits().header_block_bytes ? Http2Violation::kNone
                                                               : Http2Violation::kHeaderBlock;
}

Http2Violation Http2Guard::OnContinuation(const Http2Frame& frame) {
  if (open_block_ == 0 || frame.stream != open_block_) return Http2Violation::kContinuations;
  if (++continuations_ > account_->limits().continuations) return Http2Violation::kContinuations;
  block_bytes_ += frame.length;
  if ((frame.flags & kEndHeaders) != 0) open_block_ = 0;
  return block_bytes_ <= account_->limits().header_block_bytes ? Http2Violation::kNone
                                                               : Http2Violation::kHeaderBlock;
}

}  // namespace csi_proxy::transport
