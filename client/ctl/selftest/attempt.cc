#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/ctl/selftest/selftest.h"

namespace csi_proxy::ctl::selftest {
namespace {

std::string Text(const std::string& group, const std::string& method, const absl::Status& status) {
  return absl::StrCat(group, ".", method, ": ", absl::StatusCodeToString(status.code()),
                      status.message().empty() ? "" : ": ", status.message());
}

}  // namespace

absl::Status Attempt::MayTouch(const std::string& method, const Fields& fields) const {
  // Calls that only read may name any disk.
  for (const char* question : {"Get", "List", "Is"}) {
    if (absl::StartsWith(method, question)) return absl::OkStatus();
  }
  for (const auto& [name, value] : fields) {
    const bool own = Plain(name) == "disknumber" ? value == disk()
                     : Plain(name) == "volumeid" ? !value.empty() && value == state_.volume
                                                 : true;
    if (own) continue;
    return absl::InternalError(absl::StrCat(method, " with --", name, "=", value,
                                            " would touch another disk than ", disk()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Answer> Attempt::Try(const std::string& group, const std::string& method,
                                    const Fields& fields) {
  if (!ok()) return status_;
  if (absl::Status status = MayTouch(method, fields); !status.ok()) {
    status_ = status;
    return status;
  }
  return rpcs_.Call(group, method, fields);
}

Answer Attempt::Call(const std::string& group, const std::string& method, const Fields& fields) {
  if (!ok()) return Answer();
  const absl::StatusOr<Answer> answer = Try(group, method, fields);
  if (answer.ok()) return *answer;
  if (ok()) status_ = absl::Status(answer.status().code(), Text(group, method, answer.status()));
  return Answer();
}

void Attempt::ExpectRefused(absl::StatusCode code, const std::string& group,
                            const std::string& method, const Fields& fields,
                            absl::string_view text) {
  if (!ok()) return;
  const absl::Status status = Try(group, method, fields).status();
  if (!ok() || (status.code() == code && absl::StrContains(status.message(), text))) return;
  std::vector<std::string> given;
  for (const auto& [name, value] : fields) {
    given.push_back(absl::StrCat(name, "=", value.substr(0, 80)));
  }
  status_ = absl::InternalError(
      absl::StrCat(Text(group, method, status), "; wanted ", absl::StatusCodeToString(code),
                   text.empty() ? "" : absl::StrCat(" with \"", text, "\""), " (",
                   absl::StrJoin(given, ", "), ")"));
}

void Attempt::Expect(bool condition, absl::string_view otherwise) {
  if (ok() && !condition) status_ = absl::InternalError(otherwise);
}

bool Attempt::Exists(const std::string& path) {
  return Call("filesystem", "PathExists", {{"path", path}}).Flag("exists");
}

bool Attempt::IsSymlink(const std::string& path) {
  return Call("filesystem", "IsSymlink", {{"path", path}}).Flag("is_symlink");
}

void Attempt::AddUndo(Undo undo) {
  if (!ok()) return;
  RemoveUndo(undo.what);
  state_.undos.push_back(std::move(undo));
}

void Attempt::RemoveUndo(absl::string_view what) {
  if (!ok()) return;
  std::erase_if(state_.undos, [&](const Undo& undo) { return undo.what == what; });
}

std::string Attempt::disk() const { return absl::StrCat(options_.disk()); }

std::string Attempt::Path(absl::string_view below) const {
  return absl::StrCat(options_.work_dir(), "\\", below);
}

absl::Status TakeBack(Rpcs& rpcs, State& state) {
  std::vector<std::string> complaints;
  while (!state.undos.empty()) {
    const Undo undo = std::move(state.undos.back());
    state.undos.pop_back();
    const absl::Status status = rpcs.Call(undo.group, undo.method, undo.fields).status();
    if (status.ok() || absl::IsNotFound(status)) continue;
    complaints.push_back(absl::StrCat(undo.what, ": ", Text(undo.group, undo.method, status)));
  }
  if (complaints.empty()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("left behind: ", absl::StrJoin(complaints, "; ")));
}

}  // namespace csi_proxy::ctl::selftest
