#include <fstream>
#include <iostream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/ctl/commands.h"
#include "client/ctl/terminal.h"
#include "server/base/status_macros.h"
#include "server/base/unicode.h"

namespace csi_proxy::ctl {
namespace {

constexpr char kStandardInput[] = "-";

}  // namespace

absl::Status Input::TakeStandardInput() {
  if (taken_) {
    return absl::InvalidArgumentError(
        "only one field can be read from standard input: give the others by --FIELD-file=PATH");
  }
  taken_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::string> Input::Read(const std::string& path) {
  std::ostringstream text;
  if (path == kStandardInput) {
    ABSL_RETURN_IF_ERROR(TakeStandardInput());
    text << standard_input_.rdbuf();
    return text.str();
  }
  std::ifstream file(path, std::ios::binary);
  // Opening a directory succeeds, but reading it fails.
  if (file) file.peek();
  if (file.bad() || !file.is_open()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read the file \"", path, "\""));
  }
  if (!file.eof()) text << file.rdbuf();
  return text.str();
}

absl::StatusOr<std::string> Input::ReadLine() {
  ABSL_RETURN_IF_ERROR(TakeStandardInput());
  std::string line;
  std::getline(standard_input_, line);
  return line;
}

absl::StatusOr<std::string> Input::ReadSecret(const std::string& path) {
  if (path == kStandardInput) {
    const EchoOff echo_off;
    if (echo_off.is_terminal()) {
      std::cerr << "secret: " << std::flush;
      absl::StatusOr<std::string> line = ReadLine();
      std::cerr << "\n";
      return line;
    }
  }
  absl::StatusOr<std::string> text = Read(path);
  if (!text.ok()) return text;
  const absl::StatusOr<absl::string_view> plain = WithoutByteOrderMark(*text);
  if (!plain.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the file \"", path, "\" ", plain.status().message()));
  }
  absl::string_view secret = *plain;
  if (absl::ConsumeSuffix(&secret, "\n")) absl::ConsumeSuffix(&secret, "\r");
  return std::string(secret);
}

}  // namespace csi_proxy::ctl
