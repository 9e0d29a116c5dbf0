// The objects that represent running WMI calls: the enumerator of a query and the result of a call.
#include <algorithm>
#include <mutex>
#include <utility>

#include "integration/wine/double/error_info_windows.h"
#include "integration/wine/double/wmi_calls_windows.h"
#include "server/machine/windows/cim/testing/com_objects_windows.h"

namespace csi_proxy::node_double {
namespace {

using cim::ComPtr;

constexpr LONG kInfinite = WBEM_INFINITE;

// A running query, which is cancelled when its last reader is released.
class Query {
 public:
  Query(std::shared_ptr<Pending<Objects>> pending, std::string text)
      : pending_(std::move(pending)), text_(std::move(text)) {}
  ~Query() { pending_->Cancel(); }

  bool Wait(LONG timeout) { return pending_->Wait(timeout); }
  const absl::StatusOr<Objects>& result() const { return pending_->result(); }
  const std::string& text() const { return text_; }

 private:
  const std::shared_ptr<Pending<Objects>> pending_;
  const std::string text_;
};

class Enumerator final : public cim::EnumeratorBase {
 public:
  Enumerator(std::shared_ptr<Query> query, bool forward_only, size_t next = 0)
      : query_(std::move(query)), forward_only_(forward_only), next_(next) {}

  HRESULT STDMETHODCALLTYPE Next(LONG timeout, ULONG count, IWbemClassObject** objects,
                                 ULONG* returned) override {
    if (objects == nullptr || returned == nullptr || count == 0) return WBEM_E_INVALID_PARAMETER;
    *returned = 0;
    const HRESULT ready = Ready(timeout, "Next");
    if (ready != WBEM_S_NO_ERROR) return ready;
    const std::lock_guard lock(mutex_);
    const Objects& found = *query_->result();
    for (; *returned < count && next_ < found.size(); ++*returned) {
      objects[*returned] = HandOut(found[next_++]);
    }
    return *returned == count ? WBEM_S_NO_ERROR : WBEM_S_FALSE;
  }

  HRESULT STDMETHODCALLTYPE Skip(LONG timeout, ULONG count) override {
    const HRESULT ready = Ready(timeout, "Skip");
    if (ready != WBEM_S_NO_ERROR) return ready;
    const std::lock_guard lock(mutex_);
    const size_t left = query_->result()->size() - next_;
    next_ += std::min<size_t>(count, left);
    return count <= left ? WBEM_S_NO_ERROR : WBEM_S_FALSE;
  }

  HRESULT STDMETHODCALLTYPE Reset() override {
    if (forward_only_) return Fail(WBEM_E_INVALID_OPERATION, "Reset", query_->text());
    const std::lock_guard lock(mutex_);
    next_ = 0;
    return WBEM_S_NO_ERROR;
  }

  HRESULT STDMETHODCALLTYPE Clone(IEnumWbemClassObject** clone) override {
    if (clone == nullptr) return WBEM_E_INVALID_PARAMETER;
    if (forward_only_) return Fail(WBEM_E_INVALID_OPERATION, "Clone", query_->text());
    const std::lock_guard lock(mutex_);
    *clone = new Enumerator(query_, forward_only_, next_);
    return WBEM_S_NO_ERROR;
  }

 private:
  // Returns WBEM_S_NO_ERROR once the query has its objects.
  HRESULT Ready(LONG timeout, absl::string_view operation) {
    if (timeout < kInfinite) return WBEM_E_INVALID_PARAMETER;
    if (!query_->Wait(timeout)) return WBEM_S_TIMEDOUT;
    if (query_->result().ok()) return WBEM_S_NO_ERROR;
    return Fail(query_->result().status(), operation, query_->text());
  }

  const std::shared_ptr<Query> query_;
  const bool forward_only_;
  std::mutex mutex_;
  size_t next_;  // guarded by mutex_
};

class CallResult final : public cim::CallResultBase {
 public:
  CallResult(std::shared_ptr<Pending<ComPtr<WmiObject>>> pending, std::string operation,
             std::string path)
      : pending_(std::move(pending)), operation_(std::move(operation)), path_(std::move(path)) {}

  HRESULT STDMETHODCALLTYPE GetCallStatus(LONG timeout, LONG* status) override {
    if (status == nullptr || timeout < kInfinite) return WBEM_E_INVALID_PARAMETER;
    if (!pending_->Wait(timeout)) return WBEM_S_TIMEDOUT;
    const absl::Status& ended = pending_->result().status();
    *status = ended.ok() ? static_cast<LONG>(WBEM_S_NO_ERROR) : HresultOf(ended);
    return WBEM_S_NO_ERROR;
  }

  // Returns the call's error if the call failed.
  HRESULT STDMETHODCALLTYPE GetResultObject(LONG timeout, IWbemClassObject** object) override {
    if (object == nullptr || timeout < kInfinite) return WBEM_E_INVALID_PARAMETER;
    const bool done = pending_->Wait(timeout);
    if (!done) return WBEM_S_TIMEDOUT;
    const absl::StatusOr<ComPtr<WmiObject>>& result = pending_->result();
    if (!result.ok()) return Fail(result.status(), operation_, path_);
    *object = HandOut(*result);
    return WBEM_S_NO_ERROR;
  }

 private:
  const std::shared_ptr<Pending<ComPtr<WmiObject>>> pending_;
  const std::string operation_;
  const std::string path_;
};

}  // namespace

ComPtr<IEnumWbemClassObject> NewEnumerator(std::shared_ptr<Pending<Objects>> pending,
                                           std::string query, bool forward_only) {
  return ComPtr<IEnumWbemClassObject>(
      new Enumerator(std::make_shared<Query>(std::move(pending), std::move(query)), forward_only));
}

ComPtr<IWbemCallResult> NewCallResult(std::shared_ptr<Pending<ComPtr<WmiObject>>> pending,
                                      std::string operation, std::string path) {
  return ComPtr<IWbemCallResult>(
      new CallResult(std::move(pending), std::move(operation), std::move(path)));
}

}  // namespace csi_proxy::node_double
