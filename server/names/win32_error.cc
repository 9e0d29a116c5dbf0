#include "server/names/win32_error.h"

#include <algorithm>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/names/refusals.h"

namespace csi_proxy {
namespace {

constexpr char kCodePayload[] = "csi-proxy/win32-error";

}  // namespace

absl::string_view Win32Words(uint32_t code) {
  const Refusal* const known = FindRefusal(Refuser::kWin32, code);
  return known == nullptr ? "" : known->words;
}

std::string Win32Text(uint32_t code) {
  const absl::string_view words = Win32Words(code);
  return absl::StrCat(words.empty() ? "Windows error" : words, " (", code, ")");
}

absl::Status Win32Status(uint32_t code, absl::string_view message) {
  if (code == 0) return absl::OkStatus();
  const Refusal* const known = FindRefusal(Refuser::kWin32, code);
  absl::Status status(known == nullptr ? absl::StatusCode::kInternal : known->code, message);
  status.SetPayload(kCodePayload, absl::Cord(absl::StrCat(code)));
  return known == nullptr ? status : Advise(status, known->advice);
}

std::optional<uint32_t> Win32CodeOf(const absl::Status& status) {
  if (status.ok()) return std::nullopt;
  const auto payload = status.GetPayload(kCodePayload);
  uint32_t code = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &code)) return std::nullopt;
  return code;
}

bool HasWin32Code(const absl::Status& status, uint32_t code) { return Win32CodeOf(status) == code; }

bool HasWin32Code(const absl::Status& status, std::initializer_list<uint32_t> codes) {
  const std::optional<uint32_t> code = Win32CodeOf(status);
  return code.has_value() && std::find(codes.begin(), codes.end(), *code) != codes.end();
}

bool IsFileNotFound(const absl::Status& status) {
  return HasWin32Code(status, {win32_error::kFileNotFound, win32_error::kPathNotFound});
}

absl::Status Reworded(const absl::Status& error, absl::StatusCode code, absl::string_view message) {
  absl::Status reworded(code, message);
  error.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { reworded.SetPayload(url, payload); });
  return reworded;
}

absl::Status Prefixed(absl::string_view what, const absl::Status& status) {
  if (status.ok()) return status;
  return Reworded(status, status.code(), absl::StrCat(what, ": ", status.message()));
}

absl::Status Appended(const absl::Status& error, absl::string_view text) {
  return Reworded(error, error.code(), absl::StrCat(error.message(), " (", text, ")"));
}

}  // namespace csi_proxy
