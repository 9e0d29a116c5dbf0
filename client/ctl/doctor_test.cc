#include "client/ctl/doctor.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <iterator>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/released.h"
#include "client/cpp/testing_posix.h"
#include "client/ctl/commands.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace csi_proxy::ctl {
namespace {

using testing::HasSubstr;

TEST(DoctorTest, TellsThePipeThatAnswersFromThoseThatAreNotThere) {
  const TemporaryDirectory directory;
  client::FakeServer server(directory.path());
  const PipeReport report = Examine(client::OptionsFor(directory), {}, "system", "v1alpha1");
  ASSERT_TRUE(report.status.ok()) << report.status;
  EXPECT_GT(report.connecting, absl::ZeroDuration());
  EXPECT_GT(report.answering, absl::ZeroDuration());

  std::ostringstream out;
  EXPECT_EQ(Doctor(Catalog(), client::OptionsFor(directory), {}, out), kOk);
  EXPECT_THAT(out.str(), HasSubstr("pipes " + directory.path()));
  EXPECT_THAT(out.str(), HasSubstr("system      v1alpha1  answers    "));
  EXPECT_THAT(out.str(), HasSubstr("volume      v1        no answer  "));
  EXPECT_THAT(out.str(), HasSubstr("volume v1: there is no pipe"));
  EXPECT_THAT(out.str(), HasSubstr(absl::StrCat("\n1 of ", std::size(api::kReleasedVersions),
                                                " pipes answer\n")));
  EXPECT_EQ(server.system.calls, 0) << "the doctor does no harm";
}

TEST(DoctorTest, FailsWhenNothingAnswers) {
  const TemporaryDirectory directory;
  std::ostringstream out;
  EXPECT_EQ(Doctor(Catalog(), client::OptionsFor(directory), {}, out), kCallFailed);
  EXPECT_THAT(out.str(), HasSubstr(absl::StrCat("\n0 of ", std::size(api::kReleasedVersions),
                                                " pipes answer\n")));
}

TEST(DoctorTest, AServiceThatSaysItDoesNotServeDoesNotAnswer) {
  const TemporaryDirectory directory;
  client::FakeServer server(directory.path());
  server.SetServing(false);
  const PipeReport report = Examine(client::OptionsFor(directory), {}, "system", "v1alpha1");
  EXPECT_TRUE(absl::IsUnavailable(report.status)) << report.status;
  EXPECT_THAT(std::string(report.status.message()), HasSubstr("is not serving"));
}

TEST(DoctorTest, AServiceThatAcceptsAndSaysNothingDoesNotHoldTheDoctorUp) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/csi-proxy-system-v1alpha1.sock";
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(fd, 5), 0);
  const absl::Time start = absl::Now();
  std::ostringstream out;
  EXPECT_EQ(Doctor(Catalog(), client::OptionsFor(directory), {}, out), kCallFailed);
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  EXPECT_THAT(out.str(), HasSubstr("system v1alpha1: nobody answers on the pipe " + path));
  close(fd);
}

}  // namespace
}  // namespace csi_proxy::ctl
