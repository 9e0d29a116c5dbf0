// Tests what `diagnose` finds in the metrics of the service.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "client/ctl/diagnose/diagnose_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl::diagnose {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// The metrics of a service that has low limits and is flooded by a client.
constexpr char kFlood[] =
    R"(csi_proxy_client_limited_total{client_image="a.exe",limit="calls"} 10228
grpc_server_handled_total{grpc_service="v1.Disk",grpc_method="Rescan",grpc_code="ResourceExhausted"} 10000
grpc_server_handled_total{grpc_service="v1.Disk",grpc_method="ListDiskIDs",grpc_code="ResourceExhausted"} 228
csi_proxy_flag{flag="max-workers",default="16"} 4
csi_proxy_flag{flag="max-queued",default="384"} 97
csi_proxy_flag{flag="require-privacy",default="true"} 0
csi_proxy_long_call_seconds{rpc="volume.UnmountVolume"} 75.4
)";

TEST_F(DiagnoseTest, ClientsOfOldVersionsAreFoundInTheMetrics) {
  const auto fetch = [] {
    return std::string(
        "process_start_time_seconds 1000\n"
        "csi_proxy_api_calls_total{client_image=\"old.exe\",group=\"disk\",version=\"v1beta1\"} 3\n"
        "csi_proxy_api_calls_total{client_image=\"none.exe\",group=\"disk\",version=\"v1beta2\"} "
        "0\n"
        "csi_proxy_api_calls_total{client_image=\"new.exe\",group=\"disk\",version=\"v1\"} 9\n"
        "csi_proxy_api_calls_total{client_image=\"next.exe\",group=\"volume\","
        "version=\"v2alpha1\"} 9\n"
        "csi_proxy_api_calls_total{client_image=\"only.exe\",group=\"system\","
        "version=\"v1alpha1\"} 9\n");
  };
  const Diagnosis diagnosis = Look(fetch);
  EXPECT_THAT(Summary(diagnosis), ElementsAre("old-clients old.exe"));
  const Finding& finding = diagnosis.findings(0);
  EXPECT_EQ(finding.what(), "disk v1beta1");
  EXPECT_EQ(finding.why(), "3 calls since the service began at 1970-01-01T00:16:40+00:00");
  EXPECT_THAT(finding.repair(), HasSubstr("one that calls v1"));
  EXPECT_THAT(diagnosis.not_known(), IsEmpty());
}

TEST_F(DiagnoseTest, UsedFallbacksAreShownButAreNotFindings) {
  const Diagnosis diagnosis = Look([] {
    return std::string(
        "csi_proxy_fallbacks_total{fallback=\"open-repeated\"} 3\n"
        "csi_proxy_fallbacks_total{fallback=\"plain-deletion\"} 0\n"
        "csi_proxy_fallbacks_total{fallback=\"from-a-later-\\nrelease\"} 1\n");
  });
  ASSERT_EQ(diagnosis.fallbacks_size(), 2);
  EXPECT_EQ(diagnosis.fallbacks(1).fallback(), "open-repeated");
  EXPECT_EQ(diagnosis.fallbacks(1).times(), 3);
  EXPECT_EQ(diagnosis.fallbacks(1).doubt(), 15);
  EXPECT_EQ(ExitCodeOf(diagnosis), kOk);
  EXPECT_EQ(Shown(diagnosis),
            "fallback from-a-later-\\x0arelease: taken 1 time\n"
            "fallback open-repeated: taken 3 times, see doubt 15 of server/host/doubts.md\n"
            "nothing found\n"
            "what is safe to do, and what never to do: server/troubleshooting.md\n");
}

TEST_F(DiagnoseTest, HungCallsFloodsAndLowLimitsAreFoundInTheMetrics) {
  const Diagnosis diagnosis = Look([] { return std::string(kFlood); });
  EXPECT_THAT(Summary(diagnosis), ElementsAre("long-calls volume.UnmountVolume",
                                              "limited-clients a.exe", "low-limits --max-workers"));
  EXPECT_THAT(diagnosis.findings(0).why(), HasSubstr("75 s"));
  EXPECT_EQ(diagnosis.findings(1).why(),
            "10228 times since the service began; refused calls: v1.Disk/Rescan 10000, "
            "v1.Disk/ListDiskIDs 228");
  EXPECT_EQ(diagnosis.flags(),
            "limits and switches: --max-workers=4 (default 16), --max-queued=97 (default 384), "
            "--require-privacy=false (default true)");
}

TEST_F(DiagnoseTest, FindingsAreShownWhenTheirCheckEndsAndHungCallsFirst) {
  MakeIll(&pipes_);
  for (const char* rpc :
       {"storage.ListDisks", "storage.ListVolumeHealth", "storage.ListSmbMappings"}) {
    pipes_.answers[rpc].status = absl::DeadlineExceededError("WMI");
  }
  std::vector<std::string> parts;
  const auto diagnosis = Diagnose(
      rpcs_, [] { return std::string(kFlood); },
      [&](const Diagnosis& part) {
        parts.push_back(absl::StrCat(pipes_.sent.size(), " ", PartText(part)));
      });
  ASSERT_TRUE(diagnosis.ok()) << diagnosis.status();
  EXPECT_THAT(parts[0], AllOf(StartsWith("0 KIND"), HasSubstr("WmiPrvSE.exe")));
  EXPECT_THAT(parts[1], AllOf(StartsWith("2 KIND"), HasSubstr("filled-folders")));
  EXPECT_THAT(parts[2], AllOf(StartsWith("3 not known: disks: DEADLINE_EXCEEDED"),
                              Not(HasSubstr("filled-folders"))));
}

TEST_F(DiagnoseTest, AStoppedInitiatorIsAFindingIfAClientUsesIscsi) {
  const auto asks = [this](const std::string& metrics) {
    return Summary(Look([&] { return metrics + "csi_proxy_start_time_seconds 1\n"; }));
  };
  const auto calls = [](const char* image) {
    return absl::Substitute(
        "csi_proxy_api_calls_total{client_image=\"$0\",group=\"iscsi\",version=\"v1alpha2\"} 1\n",
        image);
  };
  const auto is_found = ElementsAre("stopped-initiator MSiSCSI");
  pipes_.answers["system.GetService"].json = R"({"display_name": "i", "status": "STOPPED"})";
  EXPECT_THAT(asks(calls("csi-proxyctl.exe")), IsEmpty());
  EXPECT_THAT(asks(calls("driver.exe")), is_found);
  EXPECT_THAT(asks("grpc_server_handled_total{grpc_service=\"v1alpha1.Storage\","
                   "grpc_method=\"StageTarget\",grpc_code=\"OK\"} 1\n"),
              is_found);
  pipes_.answers["iscsi.ListTargetPortals"].json = R"({"target_portals": [{}]})";
  EXPECT_THAT(asks(""), is_found);
  pipes_.answers["system.GetService"].json = R"({"status": "RUNNING"})";
  EXPECT_THAT(asks(calls("driver.exe")), IsEmpty());
}

TEST_F(DiagnoseTest, UnreadableMetricsAreARemarkAndNotAFinding) {
  for (const absl::StatusOr<std::string>& answer : std::vector<absl::StatusOr<std::string>>{
           absl::UnavailableError("nobody there"), std::string("<html>")}) {
    const Diagnosis diagnosis = Look([&] { return answer; });
    EXPECT_THAT(diagnosis.not_known(), ElementsAre(HasSubstr("clients at a limit")));
    EXPECT_EQ(ExitCodeOf(diagnosis), kOk);
  }
}

}  // namespace
}  // namespace csi_proxy::ctl::diagnose
