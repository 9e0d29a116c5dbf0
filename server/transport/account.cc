#include "server/transport/account.h"

#include <algorithm>
#include <utility>

namespace csi_proxy::transport {

Http2Account::Http2Account(const Http2Limits& limits, std::shared_ptr<Http2Account> tenant)
    : limits_(limits),
      tenant_(std::move(tenant)),
      resets_(limits.resets),
      control_frames_(limits.control_frames),
      violations_(limits.violations),
      refused_calls_(limits.refused_calls),
      discarded_(limits.discarded),
      connections_(limits.connections) {}

bool Http2Account::TokenBucket::Pay(double price, Http2Time now) {
  if (now > since_) {
    if (since_ != Http2Time::min()) {
      Add(std::chrono::duration<double>(now - since_).count() * allowance_.per_second);
    }
    since_ = now;
  }
  if (left_ < price) return false;
  left_ -= price;
  return true;
}

void Http2Account::TokenBucket::Add(double more) {
  left_ = std::min(left_ + more, allowance_.burst);
}

bool Http2Account::Pay(TokenBucket Http2Account::*bucket, double price, Http2Time now) {
  const MutexLock lock(mutex_);
  return (this->*bucket).Pay(price, now);
}

bool Http2Account::PayReset(Http2Time now) { return Pay(&Http2Account::resets_, 1, now); }

bool Http2Account::PayControlFrames(double price, Http2Time now) {
  return Pay(&Http2Account::control_frames_, price, now);
}

bool Http2Account::PayConnection(Http2Time now) { return Pay(&Http2Account::connections_, 1, now); }

std::optional<Http2Violation> Http2Account::BeginCall() {
  const MutexLock lock(mutex_);
  if (calls_ >= limits_.calls) return Http2Violation::kStreams;
  if (unfinished_ >= limits_.unfinished) return Http2Violation::kUnfinished;
  if (tenant_ != nullptr && !tenant_->Hold(limits_.call_bytes)) return std::nullopt;
  ++calls_;
  ++unfinished_;
  control_frames_.Add(limits_.control_frames_per_call);
  return Http2Violation::kNone;
}

void Http2Account::EndRequest() {
  const MutexLock lock(mutex_);
  --unfinished_;
}

void Http2Account::EndCall() {
  if (tenant_ != nullptr) tenant_->Drop(limits_.call_bytes);
  const MutexLock lock(mutex_);
  --calls_;
}

void Http2Account::PayOrBar(TokenBucket Http2Account::*bucket, Http2Time now) {
  if (!Pay(bucket, 1, now)) barred_until_ = now + absl::ToChronoNanoseconds(limits_.bar);
}

void Http2Account::CountViolation(Http2Time now) { PayOrBar(&Http2Account::violations_, now); }

void Http2Account::CountRefusedCall(Http2Time now) { PayOrBar(&Http2Account::refused_calls_, now); }

void Http2Account::CountDiscarded(Http2Time now) { PayOrBar(&Http2Account::discarded_, now); }

bool Http2Account::barred(Http2Time now) const { return now < barred_until_.load(); }

size_t Http2Account::Read(size_t Http2Account::*count) const {
  const MutexLock lock(mutex_);
  return this->*count;
}

size_t Http2Account::unfinished() const { return Read(&Http2Account::unfinished_); }

size_t Http2Account::calls() const { return Read(&Http2Account::calls_); }

size_t Http2Account::held_bytes() const { return Read(&Http2Account::held_bytes_); }

size_t Http2Account::room_bytes() const { return Read(&Http2Account::room_bytes_); }

bool Http2Account::Hold(size_t bytes) {
  {
    const MutexLock lock(mutex_);
    if (held_bytes_ + bytes > limits_.held_bytes) return false;
    held_bytes_ += bytes;
  }
  if (tenant_ == nullptr || tenant_->Hold(bytes)) return true;
  const MutexLock lock(mutex_);
  held_bytes_ -= bytes;
  return false;
}

bool Http2Account::MayHold(size_t bytes) const {
  const MutexLock lock(mutex_);
  return held_bytes_ + bytes <= limits_.held_bytes;
}

void Http2Account::Drop(size_t bytes) {
  if (bytes == 0) return;
  if (tenant_ != nullptr) tenant_->Drop(bytes);
  const MutexLock lock(mutex_);
  held_bytes_ -= bytes;
}

void Http2Account::CreditSent(size_t bytes) {
  const MutexLock lock(mutex_);
  control_frames_.Add(static_cast<double>(bytes) / limits_.answer_bytes_per_control_frame);
}

void Http2Account::GrantRooms() {
  while (!waiting_.empty() && room_bytes_ + waiting_.front()->bytes_ <= limits_.room_bytes) {
    MessageRoom* const room = waiting_.front();
    waiting_.pop_front();
    room_bytes_ += room->bytes_;
    room->granted_ = true;
    room->waiter_->OnRoom();
  }
}

MessageRoom::MessageRoom(std::shared_ptr<Http2Account> account, size_t bytes, Waiter* waiter)
    : account_(std::move(account)),
      bytes_(std::min(bytes, account_->limits_.room_bytes)),
      waiter_(waiter) {
  const MutexLock lock(account_->mutex_);
  granted_ =
      account_->waiting_.empty() && account_->room_bytes_ + bytes_ <= account_->limits_.room_bytes;
  if (granted_) {
    account_->room_bytes_ += bytes_;
  } else {
    place_ = account_->waiting_.insert(account_->waiting_.end(), this);
  }
}

MessageRoom::~MessageRoom() {
  const MutexLock lock(account_->mutex_);
  if (granted_) {
    account_->room_bytes_ -= bytes_;
  } else {
    account_->waiting_.erase(place_);
  }
  account_->GrantRooms();
}

bool MessageRoom::granted() const {
  const MutexLock lock(account_->mutex_);
  return granted_;
}

}  // namespace csi_proxy::transport
