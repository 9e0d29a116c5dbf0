#include "codegen/files.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace csi_proxy::api {
namespace {

namespace fs = std::filesystem;

// annotations.proto imports this. The parser reads the library's copy, not an installed one.
constexpr absl::string_view kDescriptorProto = "google/protobuf/descriptor.proto";

// Returns the parts of a version such as `v1beta2`, so that tuples compare by age.
std::tuple<int, int, int> Age(absl::string_view version) {
  int major = 0, number = 0;
  int stage = 2;  // a release
  const std::string::size_type end = version.find_first_not_of("0123456789", 1);
  (void)absl::SimpleAtoi(version.substr(1, end == version.npos ? end : end - 1), &major);
  for (const auto& [word, value] : {std::pair("alpha", 0), std::pair("beta", 1)}) {
    const std::vector<absl::string_view> parts = absl::StrSplit(version, word);
    if (parts.size() != 2) continue;
    stage = value;
    (void)absl::SimpleAtoi(parts[1], &number);
  }
  return {major, stage, number};
}

}  // namespace

// The parser's view of the sources.
class Files::Tree final : public pb::compiler::SourceTree {
 public:
  explicit Tree(const Sources& sources)
      : sources_(sources),
        descriptor_proto_(pb::FileDescriptorProto::descriptor()->file()->DebugString()) {}

  pb::io::ZeroCopyInputStream* Open(const std::string& path) override {
    if (path == kDescriptorProto) return Stream(descriptor_proto_);
    const auto found = sources_.find(path);
    return found == sources_.end() ? nullptr : Stream(found->second);
  }
  std::string GetLastErrorMessage() override { return "there is no such file below api/"; }

 private:
  static pb::io::ZeroCopyInputStream* Stream(const std::string& text) {
    return new pb::io::ArrayInputStream(text.data(), static_cast<int>(text.size()));
  }

  const Sources& sources_;
  const std::string descriptor_proto_;
};

class Files::Errors final : public pb::compiler::MultiFileErrorCollector {
 public:
  void AddError(const std::string& file, int line, int column,
                const std::string& message) override {
    absl::StrAppend(&text_, file, ":", line + 1, ":", column + 1, ": ", message, "\n");
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

Files::Files(Sources sources)
    : sources_(std::move(sources)),
      tree_(std::make_unique<Tree>(sources_)),
      errors_(std::make_unique<Errors>()),
      importer_(std::make_unique<pb::compiler::Importer>(tree_.get(), errors_.get())) {}

Files::~Files() = default;

absl::StatusOr<std::unique_ptr<Files>> Files::ParseDirectory(const std::string& directory) {
  absl::StatusOr<Sources> sources = ReadSources(directory);
  if (!sources.ok()) return sources.status();
  return Parse(*std::move(sources));
}

absl::StatusOr<std::unique_ptr<Files>> Files::Parse(Sources sources) {
  std::unique_ptr<Files> files(new Files(std::move(sources)));
  if (absl::Status status = files->Import(); !status.ok()) return status;
  return files;
}

absl::Status Files::Import() {
  std::map<std::string, Group> groups;
  for (const auto& [path, text] : sources_) {
    const std::vector<std::string> parts = absl::StrSplit(path, '/');
    const bool is_hub = parts.size() == 2 && parts[1] == "hub.proto";
    const bool is_version = parts.size() == 3 && parts[2] == "api.proto";
    if (!is_hub && !is_version) continue;
    const pb::FileDescriptor* file = importer_->Import(path);
    if (file == nullptr) continue;  // errors_ has the reason
    Group& group = groups[parts[0]];
    group.name = parts[0];
    if (is_hub) {
      group.hub = file;
    } else {
      group.versions.push_back({parts[1], file});
    }
  }
  if (!errors_->text().empty()) return absl::InvalidArgumentError(errors_->text());
  for (auto& [name, group] : groups) {
    std::sort(group.versions.begin(), group.versions.end(),
              [](const Version& a, const Version& b) { return IsOlder(a.name, b.name); });
    groups_.push_back(std::move(group));
  }
  return absl::OkStatus();
}

absl::StatusOr<Sources> ReadSources(const std::string& directory) {
  Sources sources;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path extension = entry->path().extension();
    if (extension != ".proto" && extension != ".textproto") continue;
    absl::StatusOr<std::string> text = ReadFile(entry->path().string());
    if (!text.ok()) return text.status();
    sources[entry->path().lexically_relative(directory).generic_string()] = *std::move(text);
  }
  if (error) return absl::NotFoundError(absl::StrCat(directory, ": ", error.message()));
  return sources;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

absl::Status WriteFile(const std::string& path, absl::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return absl::UnavailableError(absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

bool IsOlder(const std::string& a, const std::string& b) {
  return std::tuple(Age(a), a) < std::tuple(Age(b), b);
}

std::string TypeName(const pb::FieldDescriptor& field) {
  if (field.is_map()) {
    const pb::Descriptor& entry = *field.message_type();
    return absl::StrCat("map<", TypeName(*entry.map_key()), ", ", TypeName(*entry.map_value()),
                        ">");
  }
  std::string name = field.type_name();
  if (field.message_type() != nullptr) name = LocalName(*field.message_type());
  if (field.enum_type() != nullptr) name = LocalName(*field.enum_type());
  if (field.is_repeated()) return absl::StrCat("repeated ", name);
  return field.has_optional_keyword() ? absl::StrCat("optional ", name) : name;
}

}  // namespace csi_proxy::api
