// The only access to WMI: queries, associations and methods of the local machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "csi_proxy/call_context.h"
#include "server/machine/cim/query.h"
#include "server/machine/cim/value.h"

namespace csi_proxy::cim {

enum class Namespace { kCimV2, kSmb, kStorage };

// Returns the name: `ROOT\CIMV2`, `ROOT\Microsoft\Windows\SMB`, `ROOT\Microsoft\Windows\Storage`.
constexpr absl::string_view NamespaceName(Namespace space) {
  switch (space) {
    case Namespace::kCimV2:
      return R"(ROOT\CIMV2)";
    case Namespace::kSmb:
      return R"(ROOT\Microsoft\Windows\SMB)";
    case Namespace::kStorage:
      return R"(ROOT\Microsoft\Windows\Storage)";
  }
  return "";
}

// The result of a method that ran. The method may have failed: the meaning of `return_value`
// depends on the class (see errors.h).
struct MethodResult {
  uint32_t return_value = 0;
  Object out;
};

// The in parameters of a method. A parameter that is left out has its default value.
using Arguments = Properties;

// A connection to the WMI of this machine that survives WMI's restarts. Thread-safe. Each call is a
// round trip to WMI and yields its worker slot for that time. REQUIRES: the caller holds no mutex
// (see YieldSlot). A call fails with DEADLINE_EXCEEDED or CANCELLED soon after its context ends,
// but WMI may still finish the operation. A call fails with INVALID_ARGUMENT for text with a NUL,
// or a query or path that is not UTF-8 or too long. Other errors are usually an HresultStatus().
class Session {
 public:
  virtual ~Session() = default;

  // Returns the instances that the query selects, in WMI's order. Each instance has a path.
  absl::StatusOr<std::vector<Object>> Query(const CallContext& context, Namespace space,
                                            const cim::Query& query) {
    const YieldSlot yielded(context);
    return DoQuery(context, space, query.ToWql());
  }

  // Returns the instances that are associated with the one at `path`.
  absl::StatusOr<std::vector<Object>> Associators(const CallContext& context, Namespace space,
                                                  const std::string& path,
                                                  const Association& association) {
    const YieldSlot yielded(context);
    return DoQuery(context, space, association.ToWql(path));
  }

  // Calls a method of the instance at `path`, or a static one if `path` is a class name. Returns OK
  // even if ReturnValue reports a failure. No error contains a secret argument.
  absl::StatusOr<MethodResult> Invoke(const CallContext& context, Namespace space,
                                      const std::string& path, const std::string& method,
                                      const Arguments& arguments = {}) {
    const YieldSlot yielded(context);
    return DoInvoke(context, space, path, method, arguments);
  }

 protected:
  virtual absl::StatusOr<std::vector<Object>> DoQuery(const CallContext& context, Namespace space,
                                                      const std::string& wql) = 0;
  virtual absl::StatusOr<MethodResult> DoInvoke(const CallContext& context, Namespace space,
                                                const std::string& path, const std::string& method,
                                                const Arguments& arguments) = 0;
};

}  // namespace csi_proxy::cim
