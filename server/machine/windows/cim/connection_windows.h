// Connections to WMI: one per namespace, made on first use, shared by all threads, and replaced
// when lost.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "csi_proxy/call_context.h"
#include "csi_proxy/log_function.h"
#include "server/base/condition.h"
#include "server/machine/cim/session.h"
#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::cim {

// Gives the process a multithreaded apartment, and sets COM's default security by
// `initialize_security` (CoInitializeSecurity or a test's substitute). If the process has set that
// security already, it stays. If `initialize_security` fails for another reason, calls `warn`. WMI
// works in both cases, because SecureProxy() secures each proxy.
absl::Status StartCom(decltype(&CoInitializeSecurity) initialize_security,
                      const LineFunction& warn);

// Encrypts calls through a proxy, and lets WMI act for this process. Must be called on every proxy
// that comes from WMI, before its first call. An IWbemClassObject is no proxy but a local copy.
absl::Status SecureProxy(IUnknown* proxy);

// Returns how many milliseconds to wait before the next check of `context`.
LONG WaitSlice(const CallContext& context);

// Waits for the result, perhaps null, of GetObject() or ExecMethod(). If `pending` is null, a
// server in this process has returned the result synchronously, as `done`. Otherwise polls
// `pending` until the call or `context` ends.
absl::StatusOr<ComPtr<IWbemClassObject>> Await(const CallContext& context, absl::string_view what,
                                               ComPtr<IWbemClassObject> done,
                                               const ComPtr<IWbemCallResult>& pending);

// A connection to one namespace. Thread-safe.
class Connection {
 public:
  explicit Connection(ComPtr<IWbemServices> services) : services_(std::move(services)) {}

  // Any thread of the multithreaded apartment may use the result.
  IWbemServices* services() const { return services_.get(); }

  // Fetches the object at a path, or a class definition by the class's name. `what` is for errors.
  absl::StatusOr<ComPtr<IWbemClassObject>> Fetch(const CallContext& context, absl::string_view what,
                                                 const std::string& path) const;

  // Returns the class of a method's in parameters; null if the method has none. Returns
  // WBEM_E_INVALID_CLASS or WBEM_E_INVALID_METHOD for an unknown class or method. Caches the class
  // definitions that it fetches from WMI.
  absl::StatusOr<ComPtr<IWbemClassObject>> GetSignature(const CallContext& context,
                                                        const std::string& class_name,
                                                        const std::string& method);

  // Returns a new, empty instance of a class.
  absl::StatusOr<ComPtr<IWbemClassObject>> Spawn(const CallContext& context,
                                                 const std::string& class_name);

 private:
  absl::StatusOr<ComPtr<IWbemClassObject>> GetClass(const CallContext& context,
                                                    const std::string& class_name);

  const ComPtr<IWbemServices> services_;
  Mutex mutex_;
  std::map<std::string, ComPtr<IWbemClassObject>, NameLess> classes_ ABSL_GUARDED_BY(mutex_);
};

// The connections to all namespaces. Thread-safe.
class Connections {
 public:
  // `warn` may be empty, and must be thread-safe.
  explicit Connections(LineFunction warn) : warn_(std::move(warn)) {}

  // Returns the connection to `space`. Connects if there is none, and waits for that at most until
  // `context` ends. Waiting calls do not delay other calls.
  absl::StatusOr<std::shared_ptr<Connection>> Get(const CallContext& context, Namespace space);

  // Forgets a connection that is lost, so that the next Get() makes a new one.
  void Drop(Namespace space, const std::shared_ptr<Connection>& lost);

 private:
  struct Attempt {
    Namespace space;
    LineFunction warn;
    absl::Notification done;
    // Must be set before `done`.
    absl::StatusOr<std::shared_ptr<Connection>> connection;
  };

  // Connects on a thread of the process's pool, because ConnectServer() takes no deadline. A
  // detached std::thread may never run with MinGW.
  std::shared_ptr<Attempt> Begin(Namespace space) const;

  const LineFunction warn_;
  Mutex mutex_;
  std::map<Namespace, std::shared_ptr<Attempt>> attempts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::cim
