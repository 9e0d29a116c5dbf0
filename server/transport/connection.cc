#include "server/transport/connection.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace csi_proxy::transport {
namespace {

// The bytes of one write. A write that the client does not read keeps at most these bytes and one
// frame in memory.
constexpr size_t kWriteBytes = 16 << 10;

// After this many reads that ended synchronously, another thread reads on.
constexpr int kReadsInARow = 4;

// After this many requests in a row, posted work begins the rest, so that no client keeps a thread.
// With the default flags more than a connection has unary calls.
constexpr int kTurn = 128;

// A thread that begins several calls gathers their answers for this time before it sends them
// together. A write costs more than most calls.
constexpr auto kGathering = std::chrono::microseconds(100);

// The connection whose answers this thread gathers; null if it gathers none.
thread_local const Connection* gathers_answers = nullptr;

}  // namespace

Connection::Connection(std::shared_ptr<Stream> stream, std::shared_ptr<Http2Account> account,
                       std::unique_ptr<Service> service, ConnectionEvents events)
    : stream_(std::move(stream)),
      account_(std::move(account)),
      service_(std::move(service)),
      events_(std::move(events)) {
  stream_->SetEvents(this);
}

std::shared_ptr<Connection> Connection::New(std::shared_ptr<Stream> stream,
                                            const SessionOptions& options,
                                            std::shared_ptr<Http2Account> account,
                                            std::unique_ptr<Service> service,
                                            ConnectionEvents events) {
  const std::shared_ptr<Connection> made(
      new Connection(std::move(stream), std::move(account), std::move(service), std::move(events)));
  const MutexLock lock(made->mutex_);
  made->session_ = Session::New(options, made->account_, made.get());
  return made;
}

void Connection::Start(absl::string_view received) {
  const std::shared_ptr<Connection> self = shared_from_this();
  // If memory for the posted work is short, the connection ends.
  if (!stream_->Post([self, bytes = std::string(received)] {
        absl::string_view first = bytes;
        if (!first.empty() || self->stream_->Read(&first)) self->OnRead(first);
      })) {
    OnRead("");
  }
}

void Connection::OnRead(absl::string_view bytes) {
  const std::shared_ptr<Connection> self = shared_from_this();
  bool has_requests = false;
  for (int reads = 1;; ++reads) {
    const bool ended = bytes.empty();
    has_requests = Take(bytes);
    // The next read begins before the calls, so that a call that blocks does not stop the reading.
    if (ended || !stream_->Read(&bytes)) break;
    // A client that never stops sending must not keep this thread. `bytes` stay valid until the
    // next read, which OnRead() begins after it has taken them.
    if (reads == kReadsInARow) {
      if (stream_->Post([self, bytes] { self->OnRead(bytes); })) break;
      reads = 0;
    }
  }
  if (has_requests) Begin();
}

bool Connection::Take(absl::string_view bytes) {
  News news;
  bool has_requests = false;
  {
    const MutexLock lock(mutex_);
    if (bytes.empty()) {
      reading_ = false;
      session_->Cancel();
    } else {
      session_->Receive(bytes, Http2Time::clock::now());
    }
    has_requests = !arrivals_.empty();
    // Acknowledgements wait for the answers of calls that are about to begin.
    if (!has_requests || session_->violation() != Http2Violation::kNone) Send();
    news = Settle();
  }
  Tell(news);
  return has_requests;
}

void Connection::Begin() {
  const Rescuer::Run run(std::shared_ptr<Rescued>(shared_from_this(), this));
  BeginTurn(run.is_watched());
}

// Goes on with requests that arrive meanwhile. The thread that reads them may leave them to this
// one (PopArrival()).
void Connection::Rescue() { BeginTurn(/*may_block=*/false); }

void Connection::BeginTurn(bool may_block) {
  const Connection* const outer = std::exchange(gathers_answers, this);
  Http2Time sent = Http2Time::clock::now();
  int left = kTurn;
  for (Arrival arrival; PopArrival(&arrival);) {
    const CallId call = arrival.request.call;
    if (arrival.is_end) {
      service_->OnRequestsEnd(shared_from_this(), call);
    } else {
      service_->OnRequest(shared_from_this(), std::move(arrival.request), may_block);
    }
    Leave(call);
    if (--left == 0) {
      if (stream_->Post([self = shared_from_this()] { self->BeginTurn(/*may_block=*/false); })) {
        break;
      }
      left = kTurn;
    }
    if (Http2Time::clock::now() - sent < kGathering) continue;
    gathers_answers = nullptr;
    Change([] {});
    gathers_answers = this;
    sent = Http2Time::clock::now();
  }
  gathers_answers = outer;
  Change([] {});
}

// Takes the next request to begin. Returns false if no request waits, or if another thread is
// beginning a request of the same call: that thread will take it.
bool Connection::PopArrival(Arrival* arrival) {
  const MutexLock lock(mutex_);
  while (!arrivals_.empty()) {
    const CallId call = arrivals_.front().request.call;
    if (std::find(beginning_.begin(), beginning_.end(), call) != beginning_.end()) return false;
    *arrival = std::move(arrivals_.front());
    arrivals_.pop_front();
    if (!calls_.contains(call)) continue;  // cancelled, or answered by an error
    beginning_.push_back(call);
    return true;
  }
  return false;
}

void Connection::Leave(CallId call) {
  const MutexLock lock(mutex_);
  beginning_.erase(std::find(beginning_.begin(), beginning_.end(), call));
}

void Connection::OnWritten(bool ok) {
  const std::shared_ptr<Connection> self = shared_from_this();
  Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { EndWrite(ok); });
}

template <typename Function>
void Connection::Change(Function function) {
  News news;
  {
    const MutexLock lock(mutex_);
    function();
    if (gathers_answers != this) Send();
    news = Settle();
  }
  Tell(news);
}

bool Connection::Register(CallId call, Canceller* canceller) {
  const MutexLock lock(mutex_);
  const auto found = calls_.find(call);
  if (found == calls_.end()) return false;
  found->second = canceller;
  return true;
}

void Connection::Write(CallId call, absl::string_view message) {
  Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { session_->Write(call, message); });
}

void Connection::Finish(CallId call, const absl::Status& status) {
  Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (calls_.erase(call) > 0) session_->Finish(call, status);
  });
}

void Connection::Answer(CallId call, const absl::Status& status, absl::string_view message) {
  Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (calls_.erase(call) > 0) session_->Answer(call, status, message);
  });
}

void Connection::GoAway(bool only_if_idle) {
  const std::shared_ptr<Connection> self = shared_from_this();
  Change([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!only_if_idle || session_->calls() == 0) session_->GoAway();
  });
}

void Connection::OnRequest(Request request) {
  calls_.try_emplace(request.call, nullptr);
  arrivals_.push_back({.request = std::move(request)});
}

void Connection::OnRequestsEnd(CallId call) {
  calls_.try_emplace(call, nullptr);
  Arrival& end = arrivals_.emplace_back();
  end.request.call = call;
  end.is_end = true;
}

void Connection::OnCancel(CallId call) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return;
  if (found->second != nullptr) found->second->Cancel();
  calls_.erase(found);
}

void Connection::OnRoom() {
  const bool posted = stream_->Post([weak = weak_from_this()] {
    const std::shared_ptr<Connection> self = weak.lock();
    if (self == nullptr) return;
    self->Change([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { self->session_->OpenWindows(); });
  });
  // Without memory for the posted work, the connection ends, because its message would wait on.
  if (!posted) stream_->HangUp();
}

// Writes what the session has for the client, until a write does not end synchronously.
void Connection::Send() {
  while (!writing_ && !broken_) {
    session_->Send(kWriteBytes, &out_);
    if (out_.empty()) return;
    // Charges the client, because the bytes stay in memory until the client reads.
    is_charged_ = account_->Hold(out_.size());
    writing_ = true;
    const uint64_t write = ++writes_;
    bool ok = false;
    // Writes without the lock, because other threads must not wait for the system. Other threads
    // queue bytes, and this thread then takes them.
    const absl::string_view bytes = out_;
    mutex_.Unlock();
    const bool ended = stream_->Write(bytes, &ok);
    mutex_.Lock();
    if (ended) {
      EndWrite(ok);
    } else {
      if (writing_ && writes_ == write && !is_charged_) broken_ = true;
      return;
    }
  }
}

void Connection::EndWrite(bool ok) {
  if (is_charged_) account_->Drop(out_.size());
  out_.clear();
  writing_ = false;
  if (!ok) broken_ = true;
}

// Ends the connection if it is broken, has violated a rule, or is done. Returns the news.
Connection::News Connection::Settle() {
  News news;
  const Http2Violation violation = session_->violation();
  if (violation != Http2Violation::kNone && !std::exchange(told_violation_, true)) {
    news.violation = violation;
  }
  const bool over = broken_ || !reading_ || violation != Http2Violation::kNone ||
                    (!writing_ && session_->ended());
  if (over && !std::exchange(hung_up_, true)) {
    // After HangUp(), a client that does not read could keep the write from ending.
    if (writing_) {
      stream_->Disconnect();
    } else {
      stream_->HangUp();
    }
  }
  if (!reading_ && !writing_ && beginning_.empty()) news.ended = !std::exchange(told_end_, true);
  return news;
}

void Connection::Tell(const News& news) {
  if (news.violation != Http2Violation::kNone) events_.violated(news.violation);
  if (news.ended) events_.ended();
}

}  // namespace csi_proxy::transport
