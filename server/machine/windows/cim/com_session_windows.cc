#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/status_macros.h"
#include "server/machine/cim/errors.h"
#include "server/machine/windows/cim/class_object_windows.h"
#include "server/machine/windows/cim/com_session.h"
#include "server/machine/windows/cim/connection_windows.h"
#include "server/names/unicode.h"
#include "server/names/win32_error.h"

namespace csi_proxy::cim {
namespace {

// Returns INVALID_ARGUMENT for text that WMI would cut off at a NUL, that is not UTF-8, or that
// exceeds WMI's limits (learn.microsoft.com/windows/win32/api/wbemcli/ne-wbemcli-wbem_limits).
absl::Status CheckText(absl::string_view what, absl::string_view text, int64_t limit) {
  if (absl::StrContains(text, '\0')) {
    return absl::InvalidArgumentError(absl::StrCat("a WMI ", what, " has a NUL in it"));
  }
  const int64_t length = Utf16Length(text);
  if (length < 0) return absl::InvalidArgumentError(absl::StrCat("a WMI ", what, " is not UTF-8"));
  if (length > limit) {
    return absl::InvalidArgumentError(
        absl::StrCat("a WMI ", what, " is of ", length, " characters; WMI takes ", limit));
  }
  return absl::OkStatus();
}

// Returns the text for an error message, cut to 300 bytes and `...` if it is longer.
std::string Shown(absl::string_view text) {
  constexpr size_t kMost = 300;
  if (text.size() <= kMost) return std::string(text);
  size_t end = kMost;
  // Do not cut within a character.
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "...");
}

// Returns the class in an object path: the text between the colon and the dot of
// `\\host\namespace:Class.Key="..."`, the name in `Class=@`, or a class name itself.
std::string ClassOf(absl::string_view path) {
  const size_t colon = absl::StartsWith(path, R"(\\)") ? path.find(':') : absl::string_view::npos;
  if (colon != absl::string_view::npos) path.remove_prefix(colon + 1);
  return std::string(path.substr(0, path.find_first_of(".=")));
}

// The maximum number of objects that one Next() returns. A Next() is a round trip to WMI's process
// (learn.microsoft.com/openspecs/windows_protocols/ms-wmi/fcf30bd4-7ba4-4896-bd87-0c3fdb6340a0).
constexpr ULONG kObjectsAtOnce = 64;

// Returns true if the error proves that the call has not run.
bool IsCertainlyNotRun(uint32_t result) {
  return result == hresult::kRpcServerUnavailable || result == hresult::kRpcDisconnected ||
         result == hresult::kRpcCallFailedDne;
}

absl::StatusOr<std::vector<Object>> RunQuery(const CallContext& context,
                                             const Connection& connection, const std::string& wql) {
  const std::string what = absl::StrCat("query `", Shown(wql), "`");
  ComPtr<IEnumWbemClassObject> found;
  HRESULT result = connection.services()->ExecQuery(
      Bstr("WQL").get(), Bstr(wql).get(),
      WBEM_FLAG_FORWARD_ONLY | WBEM_FLAG_RETURN_IMMEDIATELY | WBEM_FLAG_ENSURE_LOCATABLE, nullptr,
      found.Receive());
  if (FAILED(result)) return ComError(result, what);
  const absl::Status secured = SecureProxy(found.get());
  if (!secured.ok()) return Prefixed(what, secured);
  std::vector<Object> objects;
  // WBEM_S_FALSE marks the end. Both WBEM_S_FALSE and WBEM_S_TIMEDOUT may come with objects
  // (learn.microsoft.com/windows/win32/api/wbemcli/nf-wbemcli-ienumwbemclassobject-next).
  while (result != WBEM_S_FALSE) {
    IWbemClassObject* given[kObjectsAtOnce] = {};
    ULONG count = 0;
    result = found->Next(WaitSlice(context), kObjectsAtOnce, given, &count);
    const std::vector<ComPtr<IWbemClassObject>> next(given, given + count);
    if (FAILED(result)) return ComError(result, what);
    for (const ComPtr<IWbemClassObject>& one : next) {
      absl::StatusOr<Object> object = ToObject(one.get());
      if (!object.ok()) return Prefixed(what, object.status());
      objects.push_back(*std::move(object));
    }
    const absl::Status call = context.Check();
    if (!call.ok() && result != WBEM_S_FALSE) return Prefixed(what, call);
  }
  return objects;
}

absl::StatusOr<MethodResult> ToMethodResult(absl::string_view what, IWbemClassObject* out) {
  MethodResult result;
  if (out == nullptr) return result;
  absl::StatusOr<Object> object = ToObject(out);
  if (!object.ok()) return Prefixed(what, object.status());
  Properties properties = object->properties();
  const auto value = properties.find("ReturnValue");
  if (value != properties.end()) {
    if (!value->second.is_null()) {
      const absl::StatusOr<int64_t> number = value->second.AsSint64();
      if (!number.ok()) return Prefixed(absl::StrCat(what, ": ReturnValue"), number.status());
      result.return_value = static_cast<uint32_t>(*number);
    }
    properties.erase(value);
  }
  result.out = Object(object->class_name(), object->path(), std::move(properties));
  return result;
}

// Returns FAILED_PRECONDITION on a thread of a single-threaded apartment, because connections
// belong to the multithreaded apartment
// (learn.microsoft.com/windows/win32/com/multithreaded-apartments). A driver that embeds this code
// may have such threads.
absl::Status CheckApartment() {
  APTTYPE type;
  APTTYPEQUALIFIER qualifier;
  if (FAILED(CoGetApartmentType(&type, &qualifier)) ||
      (type != APTTYPE_STA && type != APTTYPE_MAINSTA)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "this thread is in a single-threaded COM apartment, where WMI cannot be called: call from "
      "another thread");
}

class ComSession : public Session {
 public:
  explicit ComSession(LineFunction warn) : connections_(std::move(warn)) {}

 protected:
  absl::StatusOr<std::vector<Object>> DoQuery(const CallContext& context, Namespace space,
                                              const std::string& wql) override {
    const absl::Status valid = CheckText("query", wql, WBEM_MAX_QUERY);
    if (!valid.ok()) return valid;
    return OnConnection<std::vector<Object>>(
        context, space, [&](Connection& connection) { return RunQuery(context, connection, wql); },
        [] { return true; });
  }

  absl::StatusOr<MethodResult> DoInvoke(const CallContext& context, Namespace space,
                                        const std::string& path, const std::string& method,
                                        const Arguments& arguments) override {
    const absl::Status valid = CheckText("object path", path, WBEM_MAX_PATH);
    if (!valid.ok()) return valid;
    bool may_have_run = false;
    return OnConnection<MethodResult>(
        context, space,
        [&](Connection& connection) {
          return Call(context, connection, path, method, arguments, &may_have_run);
        },
        [&] { return !may_have_run; });
  }

 private:
  // Runs `call` on the connection. If the connection is lost and `may_repeat()` returns true, runs
  // `call` once more on a new connection.
  template <typename T, typename Call, typename MayRepeat>
  absl::StatusOr<T> OnConnection(const CallContext& context, Namespace space, const Call& call,
                                 const MayRepeat& may_repeat) {
    ABSL_RETURN_IF_ERROR(CheckApartment());
    for (bool again = false;; again = true) {
      const absl::Status wanted = context.Check();
      if (!wanted.ok()) return wanted;
      // Clears the error info of an earlier call on this thread, because ComError() would report
      // that info for this call.
      SetErrorInfo(0, nullptr);
      const absl::StatusOr<std::shared_ptr<Connection>> connection =
          connections_.Get(context, space);
      absl::StatusOr<T> result = connection.ok() ? call(**connection) : connection.status();
      if (!IsConnectionLost(result.status())) return result;
      if (connection.ok()) connections_.Drop(space, *connection);
      if (again || !may_repeat()) return result;
    }
  }

  static absl::StatusOr<MethodResult> Call(const CallContext& context, Connection& connection,
                                           const std::string& path, const std::string& method,
                                           const Arguments& arguments, bool* may_have_run) {
    const std::string class_name = ClassOf(path);
    const std::string what = absl::StrCat(class_name, ".", method);
    ABSL_ASSIGN_OR_RETURN(const ComPtr<IWbemClassObject> signature,
                          connection.GetSignature(context, class_name, method));
    ComPtr<IWbemClassObject> in;
    if (signature) {
      const HRESULT result = signature->SpawnInstance(0, in.Receive());
      if (FAILED(result)) return ComError(result, what);
      const Spawn spawn = [&](const std::string& name) { return connection.Spawn(context, name); };
      const absl::Status put = PutProperties(arguments, what, spawn, in.get());
      if (!put.ok()) return put;
    } else if (!arguments.empty()) {
      return HresultStatus(hresult::kInvalidMethodParameters, what, "it takes no parameters");
    }
    const absl::Status wanted = context.Check();
    if (!wanted.ok()) return Prefixed(what, wanted);
    ComPtr<IWbemClassObject> out;
    ComPtr<IWbemCallResult> pending;
    const HRESULT result = connection.services()->ExecMethod(
        Bstr(path).get(), Bstr(method).get(), WBEM_FLAG_RETURN_IMMEDIATELY, nullptr, in.get(),
        out.Receive(), pending.Receive());
    *may_have_run = !IsCertainlyNotRun(static_cast<uint32_t>(result));
    if (FAILED(result)) return ComError(result, what);
    ABSL_ASSIGN_OR_RETURN(const ComPtr<IWbemClassObject> answer,
                          Await(context, what, std::move(out), pending));
    return ToMethodResult(what, answer.get());
  }

  Connections connections_;
};

}  // namespace

std::unique_ptr<Session> NewComSession(LineFunction warn) {
  return std::make_unique<ComSession>(std::move(warn));
}

}  // namespace csi_proxy::cim
