// The host wipes passwords and CHAP secrets that it passes to WMI, before it frees their memory.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "server/base/testing_freed_posix.h"
#include "server/host/host.h"
#include "server/host/testing.h"
#include "server/simulator/win32/os_double.h"

namespace csi_proxy::host {
namespace {

constexpr char kSecret[] = "hunter2-7f3a9c51d0-hunter2";

// WMI with one iSCSI target and one session. New portals require credentials.
class FakeSession final : public cim::Session {
  absl::StatusOr<std::vector<cim::Object>> DoQuery(const CallContext&, cim::Namespace,
                                                   const std::string& wql) override {
    if (absl::StrContains(wql, "MSFT_iSCSITargetPortal")) return std::vector<cim::Object>();
    return std::vector<cim::Object>{{"X",
                                     "X=1",
                                     {{"NodeAddress", cim::Value::String("iqn.x:t")},
                                      {"SessionIdentifier", cim::Value::String("1")},
                                      {"IsPersistent", cim::Value::Boolean(false)}}}};
  }
  absl::StatusOr<cim::MethodResult> DoInvoke(const CallContext&, cim::Namespace, const std::string&,
                                             const std::string& method,
                                             const cim::Arguments&) override {
    return cim::MethodResult{method == "New" ? 0xEFFF0009 : 0, {}};
  }
};

TEST(SecretsTest, FreedMemoryContainsNoSecret) {
  const std::unique_ptr<Machine> node = TestNode();
  Host host(std::make_unique<FakeSession>(), NewSimulatedOs(node->core()));
  const CallContext context;
  const SmbCredentials smb = {"EX\\u", Secret(kSecret)};
  const ChapCredentials chap = {ChapMode::kMutual, "u", Secret(kSecret)};
  const IscsiPortal portal = {"10.0.0.5", 3260};
  using testing_freed::CountWith;
  EXPECT_EQ(
      CountWith(kSecret, [&] { (void)host.smb().CreateMapping(context, "\\\\h\\s", smb, true); }),
      0);
  EXPECT_EQ(CountWith(kSecret, [&] { (void)host.iscsi().AddPortal(context, portal, chap); }), 0);
  EXPECT_EQ(CountWith(kSecret,
                      [&] {
                        EXPECT_THAT(host.iscsi().OpenSession(context, portal, "iqn.x:t", chap, {}),
                                    IsOk());
                      }),
            0);
  EXPECT_EQ(CountWith(kSecret,
                      [&] {
                        EXPECT_THAT(
                            host.iscsi().MakePersistent(context, "iqn.x:t", {"1"}, chap, false),
                            IsOk());
                      }),
            0);
  EXPECT_EQ(CountWith(kSecret,
                      [&] {
                        EXPECT_THAT(host.iscsi().SetMutualChapSecret(context, chap.secret), IsOk());
                      }),
            0);
  EXPECT_GT(CountWith(kSecret, [] { const std::string left(kSecret); }), 0);
}

}  // namespace
}  // namespace csi_proxy::host
