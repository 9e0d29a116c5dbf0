// The requests and answers of AskHttp() may be secret. So AskHttp() must wipe their memory before
// it frees the memory.
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/base/testing_freed_posix.h"
#include "server/http/http_client.h"
#include "server/http/http_testing.h"

namespace csi_proxy {
namespace {

constexpr char kSecret[] = "hunter2-7f3a9c51d0";

// Returns the number of blocks that AskHttp() frees with the secret in them.
int CountLeft(const HttpQuestion& question, int code) {
  return testing_freed::CountWith(kSecret, [&] {
    const auto reply = AskHttp(question);
    EXPECT_TRUE(reply.ok() && reply->code == code) << reply.status();
  });
}

TEST(HttpClientMemoryTest, RequestAndAnswerAreWipedFromMemory) {
  for (const size_t size : {size_t{0}, size_t{100}, size_t{5000}, size_t{100'000}}) {
    const std::string around(size, 'x');
    const std::string body = absl::StrCat(around, kSecret, around);
    const std::string header = absl::StrCat(around.substr(0, 5000), kSecret);
    for (const int code : {200, 403}) {
      const http_testing::RawServer server(
          absl::StrCat("HTTP/1.1 ", code, " x\r\nX-Secret: ", header, "\r\n\r\n", body));
      const HttpQuestion question = {.address = server.address(),
                                     .target = "/",
                                     .headers = {{"X-Token", Secret(header)}},
                                     .subject = "answers",
                                     .timeout = absl::Hours(1),
                                     .max_bytes = body.size()};
      EXPECT_EQ(CountLeft(question, code), 0) << size;
    }
  }
  // The search must find a block that is not wiped.
  EXPECT_GT(testing_freed::CountWith(
                kSecret, [] { const std::string left = absl::StrCat("this is left: ", kSecret); }),
            0);
}

}  // namespace
}  // namespace csi_proxy
