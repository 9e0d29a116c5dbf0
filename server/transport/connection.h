// A client's connection. It moves bytes between a stream and a session, and it moves requests and
// answers between the session and a service.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/base/condition.h"
#include "server/transport/account.h"
#include "server/transport/rescuer.h"
#include "server/transport/session.h"
#include "server/transport/stream.h"

namespace csi_proxy::transport {

class Connection;

// The methods that a connection offers. Thread-safe.
class Service {
 public:
  using Method = SessionHandler::Method;

  virtual ~Service() = default;

  // Returns the kind of a method.
  virtual Method Find(absl::string_view path) const = 0;

  // Begins a call, or receives the call's next request; see SessionHandler. Runs on a thread of the
  // transport, without a lock, and may answer before it returns. May block only if `may_block` is
  // true. Then other threads go on reading, also from this connection, and take over the waiting
  // requests of the connection if this call is slow.
  virtual void OnRequest(const std::shared_ptr<Connection>& connection, Request request,
                         bool may_block) = 0;
  // Reports that a call of kManyRequests has no more requests. The service must finish the call.
  virtual void OnRequestsEnd(const std::shared_ptr<Connection>& connection, CallId call) = 0;
};

// The events of a connection for its owner. Each function is called at most once, on any thread and
// without a lock.
struct ConnectionEvents {
  // The session ends the connection for a violation.
  std::function<void(Http2Violation violation)> violated;
  // The connection has ended, its calls are cancelled, and no thread will begin another call. Then
  // the owner may release the connection.
  std::function<void()> ended;
};

// Thread-safe.
class Connection final : public std::enable_shared_from_this<Connection>,
                         private Stream::Events,
                         private SessionHandler,
                         private Rescued {
 public:
  // Receives the cancellation of a call.
  class Canceller {
   public:
    // Called at most once, under the connection's lock: must not block and must not call the
    // connection.
    virtual void Cancel() = 0;

   protected:
    ~Canceller() = default;
  };

  // Makes the connection. The connection lives until the owner and its calls have released it.
  static std::shared_ptr<Connection> New(std::shared_ptr<Stream> stream,
                                         const SessionOptions& options,
                                         std::shared_ptr<Http2Account> account,
                                         std::unique_ptr<Service> service, ConnectionEvents events);

  // Handles `received`, the bytes that the listener has read, and then reads on. Does so on another
  // thread, because the listener's thread must not block. Without memory for that, ends the
  // connection on this thread. REQUIRES: called once; the owner keeps it until it has ended.
  void Start(absl::string_view received);

  // Sets the canceller of a call, until the call is finished. Returns false if the call has already
  // been cancelled or finished. REQUIRES: the service's OnRequest() was called for the call;
  // Register() is called once for a call.
  bool Register(CallId call, Canceller* canceller);

  // Send an answer; see Session. Do nothing if the call has been cancelled or finished. After
  // Finish() and Answer() the call's canceller is not called.
  void Write(CallId call, absl::string_view message);
  void Finish(CallId call, const absl::Status& status);
  void Answer(CallId call, const absl::Status& status, absl::string_view message);

  // Lets calls under way finish, accepts no more, then ends the connection. With `only_if_idle`,
  // has no effect if calls are under way.
  void GoAway(bool only_if_idle = false);
  // Ends the connection immediately. Clients see a broken connection; gRPC reports it as
  // UNAVAILABLE. HangUp() itself does not call the functions of ConnectionEvents.
  void HangUp() { stream_->HangUp(); }

 private:
  // A request, or the end of a call's requests.
  struct Arrival {
    Request request;
    bool is_end = false;
  };
  // The events to report to the owner after the lock is released.
  struct News {
    Http2Violation violation = Http2Violation::kNone;
    bool ended = false;
  };

  Connection(std::shared_ptr<Stream> stream, std::shared_ptr<Http2Account> account,
             std::unique_ptr<Service> service, ConnectionEvents events);

  // Stream::Events.
  void OnRead(absl::string_view bytes) override;
  void OnWritten(bool ok) override;

  // SessionHandler. Called by the session, under the lock.
  Method Find(absl::string_view path) override { return service_->Find(path); }
  void OnRequest(Request request) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnRequestsEnd(CallId call) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnCancel(CallId call) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // On any thread.
  void OnRoom() override;

  // Rescued.
  void Rescue() override;

  // Hands bytes to the session. Cancels the calls if `bytes` is empty, which is the end of input.
  // Returns true if requests wait for Begin().
  bool Take(absl::string_view bytes);
  // Begin requests that wait. BeginTurn() leaves the requests after the first kTurn to posted work,
  // which must not block.
  void Begin();
  void BeginTurn(bool may_block);
  bool PopArrival(Arrival* arrival);
  void Leave(CallId call);
  // Calls `function` under the lock, sends unless this thread gathers answers, and reports the news
  // to the owner.
  template <typename Function>
  void Change(Function function);
  void Send() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndWrite(bool ok) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  News Settle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tell(const News& news);

  const std::shared_ptr<Stream> stream_;
  const std::shared_ptr<Http2Account> account_;
  const std::unique_ptr<Service> service_;
  const ConnectionEvents events_;

  Mutex mutex_;
  std::unique_ptr<Session> session_ ABSL_GUARDED_BY(mutex_);
  // The calls that the service has or will get. The canceller is null until Register().
  absl::flat_hash_map<CallId, Canceller*> calls_ ABSL_GUARDED_BY(mutex_);
  // The requests that wait for Begin(), in order.
  std::deque<Arrival> arrivals_ ABSL_GUARDED_BY(mutex_);
  // The calls whose request a thread is passing to the service now. A call's requests begin in
  // order.
  absl::InlinedVector<CallId, 4> beginning_ ABSL_GUARDED_BY(mutex_);
  bool reading_ ABSL_GUARDED_BY(mutex_) = true;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  // True after a failed write, or a pending write that the account cannot hold.
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  bool hung_up_ ABSL_GUARDED_BY(mutex_) = false;
  bool told_violation_ ABSL_GUARDED_BY(mutex_) = false;
  bool told_end_ ABSL_GUARDED_BY(mutex_) = false;
  // The bytes of the write under way, and whether the account holds them.
  std::string out_ ABSL_GUARDED_BY(mutex_);
  bool is_charged_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t writes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace csi_proxy::transport
