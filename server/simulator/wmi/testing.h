// The common part of the simulated WMI's tests: a session over the small simulated node.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/machine/cim/errors.h"
#include "server/node/simulated_host.h"
#include "server/simulator/testing.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::machine::simulator::wmi {

using cim::Query;
using cim::Value;
using enum cim::Namespace;

MATCHER_P(FailsWithHresult, code, "") {
  *result_listener << StatusOf(arg);
  return cim::HresultOf(StatusOf(arg)) == static_cast<uint32_t>(code);
}
// Matches a method that ran and returned `code`.
MATCHER_P(Returns, code, "") {
  *result_listener << StatusOf(arg);
  if (!arg.ok()) return false;
  *result_listener << "returned " << arg->return_value;
  return arg->return_value == static_cast<uint32_t>(code);
}

class WmiTest : public testing::Test {
 protected:
  explicit WmiTest(absl::string_view more = "")
      : node_(TestNode(more)),
        host_(NewSimulatedHost(*node_)),
        session_(NewSimulatedSession(node_->core())) {}

  absl::StatusOr<std::vector<cim::Object>> All(const Query& query,
                                               cim::Namespace space = kStorage) {
    return session_->Query(context_, space, query);
  }
  // Returns the one object that a query finds.
  cim::Object One(const Query& query, cim::Namespace space = kStorage) {
    const auto objects = All(query, space);
    EXPECT_THAT(objects, IsOk());
    EXPECT_EQ(objects.ok() ? objects->size() : 0, 1U) << query.ToWql();
    return objects.ok() && !objects->empty() ? objects->front() : cim::Object();
  }
  cim::Object Disk(uint32_t number) {
    return One(Query("MSFT_Disk").Where("Number", Value::Uint32(number)));
  }
  cim::Object Partition(uint32_t disk, uint32_t number) {
    return One(Query("MSFT_Partition")
                   .Where("DiskNumber", Value::Uint32(disk))
                   .Where("PartitionNumber", Value::Uint32(number)));
  }
  cim::Object Volume(const VolumeId& id) {
    return One(Query("MSFT_Volume").Where("UniqueId", Value::String(id.ToString())));
  }
  absl::StatusOr<cim::MethodResult> Invoke(const cim::Object& self, const std::string& method,
                                           const cim::Arguments& arguments = {},
                                           cim::Namespace space = kStorage) {
    return session_->Invoke(context_, space, self.path(), method, arguments);
  }
  absl::StatusOr<cim::MethodResult> InvokeStatic(const std::string& of, const std::string& method,
                                                 const cim::Arguments& arguments = {},
                                                 cim::Namespace space = kStorage) {
    return session_->Invoke(context_, space, of, method, arguments);
  }

  const CallContext context_{};
  const std::unique_ptr<Machine> node_;
  const std::unique_ptr<host::Host> host_;
  const std::unique_ptr<SimulatedSession> session_;
};

}  // namespace csi_proxy::machine::simulator::wmi
