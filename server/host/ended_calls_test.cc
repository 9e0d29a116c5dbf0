// A call that has ended, because its caller has left or its time is over, makes no further change.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "server/host/odd_machine_testing.h"
#include "server/host/operations_testing.h"
#include "server/names/win32_error.h"
#include "server/simulator/win32/os_double.h"
#include "server/simulator/wmi/session.h"

namespace csi_proxy::host {
namespace {

constexpr auto kCancelled = absl::StatusCode::kCancelled;
constexpr auto kLate = absl::StatusCode::kDeadlineExceeded;

class EndedCallsTest : public testing::Test {
 protected:
  std::string Everything() const {
    return machine::simulator::StateToProto(node_->Snapshot()).SerializeAsString();
  }
  // Delays the machine's next `call` until the caller's time is over.
  void SlowDown(const std::string& call) {
    FaultRule rule;
    rule.operation = call;
    rule.times = 1;
    rule.latency = absl::Milliseconds(300);
    ASSERT_THAT(node_->InjectFault(rule), IsOk());
  }
  static CallContext Hurried() { return CallContext().WithTimeout(absl::Milliseconds(150)); }

  const std::unique_ptr<Machine> node_ = *Machine::Create(PreparedNode());
  const std::unique_ptr<Host> host_ =
      std::make_unique<Host>(machine::simulator::wmi::NewSimulatedSession(node_->core()),
                             machine::simulator::NewSimulatedOs(node_->core()));
};

TEST_F(EndedCallsTest, ACancelledCallStartsNoOperation) {
  absl::Notification gone;
  gone.Notify();
  const CallContext context(absl::InfiniteFuture(), &gone, nullptr);
  const std::string before = Everything();
  for (const Operation& operation : HostOperations()) {
    EXPECT_THAT(operation.run(*host_, context), HasCode(kCancelled)) << operation.name;
    EXPECT_EQ(Everything(), before) << operation.name;
  }
}

TEST_F(EndedCallsTest, AListingFailsIfItsTimeEndsDuringAQuery) {
  SlowDown("win32.Control");
  EXPECT_THAT(host_->disk().ListDisks(Hurried(), AskDisks::kIds), HasCode(kLate));
  SlowDown("win32.ListVolumes");
  EXPECT_THAT(host_->volume().ListVolumes(Hurried(), 2, 0), HasCode(kLate));
}

// A call leaves a flush that does not return. The next flush of the volume waits for the end of the
// first.
TEST_F(EndedCallsTest, AHungFlushDoesNotPreventTheUnmount) {
  struct HangingOs final : OddOs {
    HangingOs(Machine& node, absl::Notification* end) : OddOs(node), end(*end) {}
    absl::Status Flush(const std::string& volume) override {
      ++flushes;
      end.WaitForNotification();
      return OddOs::Flush(volume);
    }
    absl::Notification& end;
    std::atomic<int> flushes = 0;
  };
  absl::Notification end;
  auto made = std::make_unique<HangingOs>(*node_, &end);
  const HangingOs& os = *made;
  Host host(machine::simulator::wmi::NewSimulatedSession(node_->core()), std::move(made));
  const CallContext limited = CallContext().WithTimeout(absl::Seconds(4));
  EXPECT_THAT(host.volume().FlushBeforeUnmount(limited, kVolume, Kubelet("mounted")),
              FailsWith(kInternal, "Windows has not finished the flush"));
  EXPECT_THAT(host.filesystem().Remove(limited, Kubelet("mounted"), true), IsOk());
  EXPECT_THAT(host.volume().GetVolumeAtMountPoint(CallContext(), Kubelet("mounted")),
              HasCode(absl::StatusCode::kNotFound));
  EXPECT_EQ(os.flushes, 1);
  end.Notify();
}

// Windows does not answer for the volume, and its mount manager refuses to end the mount.
TEST_F(EndedCallsTest, ASilentDiskAndARefusingMountManagerDoNotPreventTheUnmount) {
  struct SilentOs final : OddOs {
    SilentOs(Machine& node, absl::Notification* end) : OddOs(node), end(*end) {}
    absl::Status Flush(const std::string& volume) override {
      end.WaitForNotification();
      return OddOs::Flush(volume);
    }
    absl::StatusOr<machine::FileSystem> GetFileSystem(const std::string& volume) override {
      if (volume == kVolume.ToString()) end.WaitForNotification();
      return OddOs::GetFileSystem(volume);
    }
    absl::Status DeleteMountPoint(const std::string&) override {
      return Win32Status(win32_error::kAccessDenied, "refused");
    }
    absl::Notification& end;
  };
  using Call = std::function<absl::Status(Host&, const CallContext&)>;
  const Call calls[] = {
      [](Host& h, const CallContext& c) {
        return h.volume().Unmount(c, kVolume, Kubelet("mounted"));
      },
      [](Host& h, const CallContext& c) {
        return h.filesystem().Remove(c, Kubelet("mounted"), true);
      },
  };
  for (const Call& call : calls) {
    const auto node = Machine::Create(PreparedNode());
    absl::Notification end;
    Host host(machine::simulator::wmi::NewSimulatedSession((*node)->core()),
              std::make_unique<SilentOs>(**node, &end));
    EXPECT_THAT(call(host, CallContext().WithTimeout(absl::Seconds(4))), IsOk());
    EXPECT_THAT(host.volume().GetVolumeAtMountPoint(CallContext(), Kubelet("mounted")),
                HasCode(absl::StatusCode::kNotFound));
    end.Notify();
  }
}

TEST_F(EndedCallsTest, AnExpiredRemovalLeavesTheRestOfTheTree) {
  for (const char* name : {"pods\\p2", "pods\\p3"}) {
    ASSERT_THAT(host_->filesystem().MakeDirectories(CallContext(), Kubelet(name)), IsOk());
  }
  SlowDown("win32.Delete");
  EXPECT_THAT(host_->filesystem().RemoveContents(Hurried(), Kubelet("pods")), HasCode(kLate));
  int left = 0;
  for (const char* name : {"pods\\p1", "pods\\p2", "pods\\p3"}) {
    if (*host_->filesystem().Exists(CallContext(), Kubelet(name))) ++left;
  }
  EXPECT_EQ(left, 2);
}

TEST_F(EndedCallsTest, AnExpiredLookUpDoesNotReportAMissingTarget) {
  SlowDown("win32.ReadReparsePoint");
  EXPECT_THAT(host_->filesystem().ReadLink(Hurried(), Kubelet("link")), HasCode(kLate));
}

}  // namespace
}  // namespace csi_proxy::host
