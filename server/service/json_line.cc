#include <google/protobuf/util/json_util.h>

#include "server/base/unicode.h"
#include "server/service/log_line.pb.h"
#include "server/service/logging.h"

namespace csi_proxy::service {
namespace {

std::string Timestamp(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone());
}

std::string Print(const LogLine& line) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  // Prints zeros too.
  options.always_print_primitive_fields = line.has_audit();
  std::string text;
  // Fails only for text that is not UTF-8, which no field contains.
  if (!google::protobuf::util::MessageToJsonString(line, &text, options).ok()) return "{}";
  return text;
}

}  // namespace

std::string JsonLine(absl::Time time, absl::string_view severity, absl::string_view message) {
  LogLine line;
  line.set_time(Timestamp(time));
  line.set_severity(std::string(severity));
  line.set_message(EscapeForLog(message));
  return Print(line);
}

std::string JsonLine(absl::Time time, const AuditRecord& record) {
  LogLine line;
  line.set_time(Timestamp(time));
  line.set_severity("info");
  Audit& audit = *line.mutable_audit();
  audit.set_pipe(record.context.pipe());
  audit.set_method(record.method);
  audit.set_subject(record.subject);
  audit.set_peer_process_id(record.context.peer().process_id);
  audit.set_peer_image(ShortenForLog(record.context.peer().image_path));
  audit.set_duration_milliseconds(absl::ToDoubleMilliseconds(record.duration));
  audit.set_trace(std::string(record.context.trace()));
  audit.set_code(absl::StatusCodeToString(record.status.code()));
  return Print(line);
}

}  // namespace csi_proxy::service
