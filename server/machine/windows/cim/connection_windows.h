// Connections to WMI: one for each namespace, made when first asked for, kept, shared by all
// threads, and made anew once lost.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "csi_proxy/call_context.h"
#include "server/machine/cim/session.h"
#include "server/machine/windows/cim/com_windows.h"

namespace csi_proxy::cim {

// Gives the process a multithreaded apartment, and its proxies their defaults by
// `initialize_security`, which is CoInitializeSecurity. When the latter fails, WMI can be used all
// the same, since SecureProxy() secures each of our proxies; `warn` is told.
absl::Status StartCom(decltype(&CoInitializeSecurity) initialize_security,
                      const std::function<void(absl::string_view)>& warn);

// Has calls through a proxy encrypted, and lets WMI act for this process. To be called on every
// interface that comes from WMI and is called again.
absl::Status SecureProxy(IUnknown* proxy);

// Returns how long, in milliseconds, one wait in WMI may be until `context` is to be asked again.
LONG WaitSlice(const CallContext& context);

// Waits for the object of a call that GetObject or ExecMethod has begun; null when there is none.
// `done` is an object handed out at once, as by a server in this process; otherwise `pending` is
// polled until the call or `context` ends.
absl::StatusOr<ComPtr<IWbemClassObject>> Await(const CallContext& context, absl::string_view what,
                                               ComPtr<IWbemClassObject> done,
                                               const ComPtr<IWbemCallResult>& pending);

// Thread-safe.
class Connection {
 public:
  explicit Connection(ComPtr<IWbemServices> services) : services_(std::move(services)) {}

  // Any thread of the MTA may call it.
  IWbemServices* services() const { return services_.get(); }

  // The object at a path, `what` in errors. A class's name is a path, that of its definition.
  absl::StatusOr<ComPtr<IWbemClassObject>> Fetch(const CallContext& context, absl::string_view what,
                                                 const std::string& path) const;

  // The class of a method's in parameters; null when it takes none. Asks WMI for `class_name` once
  // only. WBEM_E_INVALID_CLASS, WBEM_E_INVALID_METHOD.
  absl::StatusOr<ComPtr<IWbemClassObject>> GetSignature(const CallContext& context,
                                                        const std::string& class_name,
                                                        const std::string& method);

  // A new, empty instance of a class.
  absl::StatusOr<ComPtr<IWbemClassObject>> Spawn(const CallContext& context,
                                                 const std::string& class_name);

 private:
  absl::StatusOr<ComPtr<IWbemClassObject>> GetClass(const CallContext& context,
                                                    const std::string& class_name);

  const ComPtr<IWbemServices> services_;
  absl::Mutex mutex_;
  std::map<std::string, ComPtr<IWbemClassObject>, NameLess> classes_ ABSL_GUARDED_BY(mutex_);
};

// Thread-safe.
class Connections {
 public:
  // Any thread may call `warn`, which may be empty.
  explicit Connections(std::function<void(absl::string_view)> warn) : warn_(std::move(warn)) {}

  // Waits for the connection as long as `context` allows; a waiter holds up nobody.
  absl::StatusOr<std::shared_ptr<Connection>> Get(const CallContext& context, Namespace space);

  // To be called when `lost` does not work any more: the next Get() connects anew.
  void Drop(Namespace space, const std::shared_ptr<Connection>& lost);

 private:
  struct Attempt {
    Namespace space;
    std::function<void(absl::string_view)> warn;
    absl::Notification done;
    // Set before `done`.
    absl::StatusOr<std::shared_ptr<Connection>> connection;
  };

  // Connects on a thread of the process's pool, because ConnectServer knows no deadline. (A
  // std::thread that is detached at once may never run with MinGW.)
  std::shared_ptr<Attempt> Begin(Namespace space) const;

  const std::function<void(absl::string_view)> warn_;
  absl::Mutex mutex_;
  std::map<Namespace, std::shared_ptr<Attempt>> attempts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace csi_proxy::cim
