#include "server/rpc/listener.h"

#include <spdlog/spdlog.h>

#include <bit>
#include <utility>

#include "server/rpc/pipe_server.h"
#include "server/transport/connection.h"

namespace csi_proxy::rpc {
namespace {

// Counts, and may log, a connection that is ended for its frames. Keeps the client's account.
void OnViolation(ConnectionTable& table, ClientRegistry& clients, const std::string& pipe,
                 const std::shared_ptr<Client>& client, transport::Http2Violation violation) {
  clients.Remember(client);
  const uint64_t count = table.Count(violation);
  // Logs powers of two only, so that a repeated attack does not fill the log.
  if (!std::has_single_bit(count)) return;
  spdlog::log({__builtin_FILE(), __builtin_LINE(), ""}, spdlog::level::warn,
              "{}: ended a connection of process {} for its HTTP/2 frames: {} ({} so far)", pipe,
              client->peer.process_id, kHttp2ViolationNames[static_cast<size_t>(violation)].data(),
              count);
}

}  // namespace

void Listener::Serve(std::shared_ptr<const PipeServer> server,
                     std::shared_ptr<ServedConnection> promoted,
                     std::shared_ptr<transport::Stream> stream, absl::string_view received) {
  const std::shared_ptr<Client>& client = promoted->client();
  transport::ConnectionEvents events;
  events.violated = [table = connections_, clients = clients_, client,
                     server](transport::Http2Violation violation) mutable {
    OnViolation(*table, clients, server->name(), client, violation);
  };
  events.ended = [table = connections_, promoted] { table->End(promoted); };
  const transport::SessionOptions options = server->OptionsFor(*promoted);
  // The account lives as long as the client.
  auto account = std::shared_ptr<transport::Http2Account>(client, &client->http2);
  const std::shared_ptr<transport::Connection> connection =
      transport::Connection::New(std::move(stream), options, std::move(account),
                                 ServiceFor(std::move(server), promoted), std::move(events));
  connections_->Serve(
      promoted, {.hang_up = [connection] { connection->HangUp(); },
                 .go_away = [connection](bool only_if_idle) { connection->GoAway(only_if_idle); }});
  connection->Start(received);
}

}  // namespace csi_proxy::rpc
