#include "server/machine/windows/cim/connection_windows.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "csi_proxy/steady_time.h"
#include "server/base/status_macros.h"
#include "server/machine/cim/errors.h"
#include "server/machine/windows/cim/class_object_windows.h"
#include "server/names/win32_error.h"

namespace csi_proxy::cim {
namespace {

// The longest time until a wait notices a cancellation.
constexpr absl::Duration kLongestWait = absl::Milliseconds(100);

absl::Status StartComOnce(const LineFunction& warn) {
  // Never destroyed, because threads that connect may outlive main().
  static const auto* const kStarted = new absl::Status(StartCom(&CoInitializeSecurity, warn));
  return *kStarted;
}

absl::StatusOr<std::shared_ptr<Connection>> Connect(Namespace space, const LineFunction& warn) {
  const absl::Status started = StartComOnce(warn);
  if (!started.ok()) return started;
  ComPtr<IWbemLocator> locator;
  HRESULT result = CoCreateInstance(CLSID_WbemLocator, nullptr, CLSCTX_INPROC_SERVER,
                                    IID_IWbemLocator, reinterpret_cast<void**>(locator.Receive()));
  if (FAILED(result)) return ComError(result, "creating a WbemLocator");
  const std::string what = absl::StrCat("connecting to WMI's ", NamespaceName(space));
  ComPtr<IWbemServices> services;
  // The flag limits the wait to two minutes. Without the flag, there is no limit
  // (learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-iwbemlocator-connectserver).
  result =
      locator->ConnectServer(Bstr(NamespaceName(space)).get(), nullptr, nullptr, nullptr,
                             WBEM_FLAG_CONNECT_USE_MAX_WAIT, nullptr, nullptr, services.Receive());
  if (FAILED(result)) return ComError(result, what);
  const absl::Status secured = SecureProxy(services.get());
  if (!secured.ok()) return Prefixed(what, secured);
  return std::make_shared<Connection>(std::move(services));
}

}  // namespace

absl::Status StartCom(decltype(&CoInitializeSecurity) initialize_security,
                      const LineFunction& warn) {
  // Creates a multithreaded apartment that lasts as long as the process
  // (learn.microsoft.com/windows/win32/api/combaseapi/nf-combaseapi-coincrementmtausage). Every
  // thread that has joined no apartment then belongs to it implicitly, also the service's threads
  // and a driver's (APTTYPEQUALIFIER_IMPLICIT_MTA, .../objidl/ne-objidl-apttypequalifier).
  CO_MTA_USAGE_COOKIE cookie;
  const HRESULT joined = CoIncrementMTAUsage(&cookie);
  if (FAILED(joined)) return ComError(joined, "initialising COM");
  const HRESULT secured =
      initialize_security(nullptr, -1, nullptr, nullptr, RPC_C_AUTHN_LEVEL_PKT_PRIVACY,
                          RPC_C_IMP_LEVEL_IMPERSONATE, nullptr, EOAC_NONE, nullptr);
  // RPC_E_TOO_LATE means that the security of the process has already been set.
  if (FAILED(secured) && secured != RPC_E_TOO_LATE && warn != nullptr) {
    warn(absl::StrCat("the security that COM has by default in this process stays as it is: ",
                      ComError(secured, "CoInitializeSecurity").message()));
  }
  return absl::OkStatus();
}

absl::Status SecureProxy(IUnknown* proxy) {
  const HRESULT result = CoSetProxyBlanket(proxy, RPC_C_AUTHN_WINNT, RPC_C_AUTHZ_NONE, nullptr,
                                           RPC_C_AUTHN_LEVEL_PKT_PRIVACY,
                                           RPC_C_IMP_LEVEL_IMPERSONATE, nullptr, EOAC_NONE);
  // An object of this process has no proxy and no IClientSecurity
  // (learn.microsoft.com/windows/win32/api/objidl/nn-objidl-iclientsecurity).
  if (SUCCEEDED(result) || result == E_NOINTERFACE) return absl::OkStatus();
  return ComError(result, "CoSetProxyBlanket");
}

LONG WaitSlice(const CallContext& context) {
  const absl::Duration left = std::min(context.deadline() - SteadyTime::Now(), kLongestWait);
  return static_cast<LONG>(absl::ToInt64Milliseconds(
      absl::Ceil(std::max(left, absl::ZeroDuration()), absl::Milliseconds(1))));
}

absl::StatusOr<ComPtr<IWbemClassObject>> Await(const CallContext& context, absl::string_view what,
                                               ComPtr<IWbemClassObject> done,
                                               const ComPtr<IWbemCallResult>& pending) {
  if (!pending) return done;
  const absl::Status secured = SecureProxy(pending.get());
  if (!secured.ok()) return Prefixed(what, secured);
  while (true) {
    // Does not use GetCallStatus(), which clients must not call for GetObject() and ExecMethod()
    // (learn.microsoft.com/openspecs/windows_protocols/ms-wmi/2ca72c4d-2cae-44ae-9bb4-d199656d94d3).
    const HRESULT result = pending->GetResultObject(WaitSlice(context), done.Receive());
    if (FAILED(result)) return ComError(result, what);
    if (result != WBEM_S_TIMEDOUT) return done;
    const absl::Status call = context.Check();
    if (!call.ok()) return Prefixed(what, call);
  }
}

absl::StatusOr<ComPtr<IWbemClassObject>> Connection::Fetch(const CallContext& context,
                                                           absl::string_view what,
                                                           const std::string& path) const {
  ComPtr<IWbemClassObject> object;
  ComPtr<IWbemCallResult> pending;
  const HRESULT result = services_->GetObject(Bstr(path).get(), WBEM_FLAG_RETURN_IMMEDIATELY,
                                              nullptr, object.Receive(), pending.Receive());
  if (FAILED(result)) return ComError(result, what);
  absl::StatusOr<ComPtr<IWbemClassObject>> found = Await(context, what, std::move(object), pending);
  if (found.ok() && !*found) return HresultStatus(hresult::kNotFound, what);
  return found;
}

absl::StatusOr<ComPtr<IWbemClassObject>> Connection::GetClass(const CallContext& context,
                                                              const std::string& class_name) {
  {
    const MutexLock lock(mutex_);
    const auto known = classes_.find(class_name);
    if (known != classes_.end()) return known->second;
  }
  // Fetches without the lock, because a fetch may take long. Fetching a class twice does no harm.
  const absl::StatusOr<ComPtr<IWbemClassObject>> definition =
      Fetch(context, absl::StrCat("class ", class_name), class_name);
  if (HresultOf(definition.status()) == hresult::kNotFound) {
    return HresultStatus(hresult::kInvalidClass, absl::StrCat("class ", class_name));
  }
  if (!definition.ok()) return definition.status();
  const MutexLock lock(mutex_);
  return classes_.emplace(class_name, *definition).first->second;
}

absl::StatusOr<ComPtr<IWbemClassObject>> Connection::GetSignature(const CallContext& context,
                                                                  const std::string& class_name,
                                                                  const std::string& method) {
  ABSL_ASSIGN_OR_RETURN(const ComPtr<IWbemClassObject> definition, GetClass(context, class_name));
  const std::string what = absl::StrCat(class_name, ".", method);
  ComPtr<IWbemClassObject> in;
  // GetMethod() needs the lock, because no page says that threads may share a class definition
  // (doubt 41 of server/host/doubts.md).
  const MutexLock lock(mutex_);
  const HRESULT result =
      definition->GetMethod(win32::Utf16(method).c_str(), 0, in.Receive(), nullptr);
  if (static_cast<uint32_t>(result) == hresult::kNotFound) {
    return HresultStatus(hresult::kInvalidMethod, what);
  }
  if (FAILED(result)) return ComError(result, what);
  return in;
}

absl::StatusOr<ComPtr<IWbemClassObject>> Connection::Spawn(const CallContext& context,
                                                           const std::string& class_name) {
  ABSL_ASSIGN_OR_RETURN(const ComPtr<IWbemClassObject> definition, GetClass(context, class_name));
  ComPtr<IWbemClassObject> instance;
  const MutexLock lock(mutex_);
  const HRESULT result = definition->SpawnInstance(0, instance.Receive());
  if (FAILED(result)) return ComError(result, absl::StrCat("class ", class_name));
  return instance;
}

std::shared_ptr<Connections::Attempt> Connections::Begin(Namespace space) const {
  auto attempt = std::make_shared<Attempt>();
  attempt->space = space;
  attempt->warn = warn_;
  const auto run = [](PTP_CALLBACK_INSTANCE instance, void* argument) {
    CallbackMayRunLong(instance);
    const std::unique_ptr<std::shared_ptr<Attempt>> own(
        static_cast<std::shared_ptr<Attempt>*>(argument));
    Attempt& attempt = **own;
    attempt.connection = Connect(attempt.space, attempt.warn);
    attempt.done.Notify();
  };
  auto argument = std::make_unique<std::shared_ptr<Attempt>>(attempt);
  if (TrySubmitThreadpoolCallback(run, argument.get(), nullptr)) {
    argument.release();
  } else {
    attempt->connection = win32::LastError("starting a thread to connect to WMI");
    attempt->done.Notify();
  }
  return attempt;
}

absl::StatusOr<std::shared_ptr<Connection>> Connections::Get(const CallContext& context,
                                                             Namespace space) {
  std::shared_ptr<Attempt> attempt;
  {
    const MutexLock lock(mutex_);
    std::shared_ptr<Attempt>& latest = attempts_[space];
    if (latest == nullptr || (latest->done.HasBeenNotified() && !latest->connection.ok())) {
      latest = Begin(space);
    }
    attempt = latest;
  }
  while (!attempt->done.WaitForNotificationWithTimeout(absl::Milliseconds(WaitSlice(context)))) {
    const absl::Status call = context.Check();
    if (!call.ok()) {
      return Prefixed(absl::StrCat("connecting to WMI's ", NamespaceName(space)), call);
    }
  }
  return attempt->connection;
}

void Connections::Drop(Namespace space, const std::shared_ptr<Connection>& lost) {
  const MutexLock lock(mutex_);
  std::shared_ptr<Attempt>& latest = attempts_[space];
  // Keep a newer connection that another thread has begun.
  if (latest != nullptr && latest->done.HasBeenNotified() && latest->connection.ok() &&
      *latest->connection == lost) {
    latest = nullptr;
  }
}

}  // namespace csi_proxy::cim
