#include "server/http/http_testing.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace csi_proxy::http_testing {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

HttpConnection::HttpConnection(int port, const std::string& from, const std::string& to) {
  error_code error;
  socket_.open(tcp::v4());
  socket_.bind({asio::ip::make_address(from), 0});
  socket_.connect({asio::ip::make_address(to), static_cast<uint16_t>(port)}, error);
  if (error) socket_.close();
}

bool HttpConnection::Send(const std::string& text) {
  error_code ended;
  return asio::write(socket_, asio::buffer(text), ended) == text.size();
}

std::string HttpConnection::ReadAll() {
  std::string text;
  error_code ended;
  asio::read(socket_, asio::dynamic_buffer(text), ended);
  return text;
}

Answer Get(int port, const std::string& path, const char* method) {
  HttpConnection connection(port);
  if (!connection.ok()) return {};
  connection.Send(absl::StrCat(method, " ", path, " HTTP/1.0\r\nHost: localhost\r\n\r\n"));
  const std::string text = connection.ReadAll();
  Answer answer;
  const size_t body = text.find("\r\n\r\n");
  // Skips `HTTP/1.1 `.
  if (body == std::string::npos || !absl::SimpleAtoi(text.substr(9, 3), &answer.code)) return {};
  answer.body = text.substr(body + 4);
  return answer;
}

struct RawServer::Asker {
  explicit Asker(tcp::socket connected)
      : socket(std::move(connected)), timer(socket.get_executor()) {}

  tcp::socket socket;
  asio::steady_timer timer;
  std::string head;
  std::string answer;
  size_t sent = 0;
};

RawServer::RawServer(std::vector<std::string> answers, Options options)
    : answers_(std::move(answers)),
      options_(options),
      acceptor_(io_, {asio::ip::address_v4::loopback(), 0}) {
  Accept();
  thread_ = std::thread([this] { io_.run(); });
}

RawServer::~RawServer() {
  io_.stop();
  thread_.join();
}

std::vector<std::string> RawServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void RawServer::Accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (!error) Read(std::make_shared<Asker>(std::move(socket)));
    Accept();
  });
}

void RawServer::Read(const std::shared_ptr<Asker>& asker) {
  asio::async_read_until(asker->socket, asio::dynamic_buffer(asker->head), "\r\n\r\n",
                         [this, asker](error_code error, size_t) {
                           if (error) return;
                           {
                             const std::lock_guard lock(mutex_);
                             asker->answer =
                                 answers_[std::min(requests_.size(), answers_.size() - 1)];
                             requests_.push_back(asker->head);
                           }
                           Write(asker);
                         });
}

void RawServer::Write(const std::shared_ptr<Asker>& asker) {
  if (asker->sent == asker->answer.size()) {
    if (options_.stays) staying_.push_back(asker);
    return;
  }
  const size_t piece = options_.pause.count() == 0 ? asker->answer.size() - asker->sent : 1;
  asker->timer.expires_after(options_.pause);
  asker->timer.async_wait([this, asker, piece](error_code) {
    asio::async_write(asker->socket, asio::buffer(asker->answer.data() + asker->sent, piece),
                      [this, asker, piece](error_code error, size_t) {
                        if (error) return;
                        asker->sent += piece;
                        Write(asker);
                      });
  });
}

}  // namespace csi_proxy::http_testing
