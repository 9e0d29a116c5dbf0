// Tests which bytes a client gets on a pipe, and in how many reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "integration/support/server_process.h"
#include "server/base/win32.h"
#include "server/rpc/http2_frames_testing.h"
#include "server/rpc/preface.h"

namespace csi_proxy::integration {
namespace {

// Returns a ping and a PathExists on `stream`, as grpc-go's client sends them together (RFC 7541,
// appendix A has the header indices).
std::string PingAndCall(uint8_t stream) {
  const std::string headers = absl::StrCat(
      "\x83\x86", absl::string_view("\x04\x19", 2), "/v1.Filesystem/PathExists",
      absl::string_view("\x01\x09", 2), "localhost", absl::string_view("\x0f\x10\x10", 3),
      "application/grpc", absl::string_view("\x00\x02te\x08trailers", 13));
  const std::string request =
      absl::StrCat(absl::string_view("\0\0\0\0\x14", 5), "\x0a\x12", R"(C:\var\lib\kubelet)");
  return absl::StrCat(rpc::Frame(rpc::kPing, 0, 0, "12345678"),
                      rpc::Frame(rpc::kHeaders, rpc::kEndHeaders, stream, headers),
                      rpc::Frame(rpc::kData, rpc::kEndStream, stream, request));
}

// The server's first write completes a read that is under way, so the acknowledgement and the
// answer must be in one write.
TEST(PipeAnswersTest, AnAnswerComesWithTheAcknowledgementOfAPing) {
  const auto server = ServerProcess::Start({"--pipe-sddl=D:P(A;;GA;;;WD)"});
  ASSERT_TRUE(server.ok()) << server.status();
  const win32::UniqueHandle pipe(CreateFileW(LR"(\\.\pipe\csi-proxy-filesystem-v1)",
                                             GENERIC_READ | GENERIC_WRITE, 0, nullptr,
                                             OPEN_EXISTING, FILE_FLAG_OVERLAPPED, nullptr));
  ASSERT_TRUE(pipe.valid());
  const win32::UniqueHandle has_read(CreateEventW(nullptr, TRUE, FALSE, nullptr));
  const win32::UniqueHandle has_written(CreateEventW(nullptr, TRUE, FALSE, nullptr));
  // Frames with END_STREAM or ACK, which are the same bit.
  constexpr int kAnswer = 0x80 | rpc::kHeaders, kPingAck = 0x80 | rpc::kPing;
  rpc::Http2Frames frames;
  // Sends `sent` while a read is under way. Returns the types of the frames received.
  const auto talk = [&](absl::string_view sent) {
    std::string received(4096, '\0');
    OVERLAPPED reading{}, writing{};
    reading.hEvent = has_read.get();
    writing.hEvent = has_written.get();
    DWORD read = 0, written = 0;
    ReadFile(pipe.get(), received.data(), static_cast<DWORD>(received.size()), nullptr, &reading);
    if (!sent.empty()) {
      WriteFile(pipe.get(), sent.data(), static_cast<DWORD>(sent.size()), nullptr, &writing);
      EXPECT_TRUE(GetOverlappedResult(pipe.get(), &writing, &written, TRUE));
    }
    EXPECT_TRUE(GetOverlappedResult(pipe.get(), &reading, &read, TRUE));
    absl::string_view rest(received.data(), read);
    std::vector<int> types;
    for (rpc::Http2Frame frame; frames.Next(&rest, &frame);) {
      types.push_back(frame.type | ((frame.flags & 1) != 0 ? 0x80 : 0));
    }
    return types;
  };
  talk(absl::StrCat(rpc::kHttp2Preface, rpc::Frame(rpc::kSettings, 0, 0, "")));
  constexpr int kCalls = 20;
  int together = 0;
  for (int call = 0; call < kCalls; ++call) {
    absl::SleepFor(absl::Milliseconds(20));
    // Reads what the server has sent so far.
    DWORD waiting = 0;
    while (PeekNamedPipe(pipe.get(), nullptr, 0, nullptr, &waiting, nullptr) && waiting > 0) {
      talk("");
    }
    const std::vector<int> types = talk(PingAndCall(static_cast<uint8_t>(1 + 2 * call)));
    const auto has = [&](int type) {
      return std::find(types.begin(), types.end(), type) != types.end();
    };
    if (has(kPingAck) && has(kAnswer)) ++together;
  }
  EXPECT_GE(together, kCalls / 2);
}

}  // namespace
}  // namespace csi_proxy::integration
