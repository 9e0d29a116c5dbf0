#include "server/http/http_testing.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace csi_proxy::http_testing {

namespace asio = boost::asio;
using asio::ip::tcp;

HttpConnection::HttpConnection(int port, const std::string& from, const std::string& to) {
  boost::system::error_code error;
  socket_.open(tcp::v4());
  socket_.bind({asio::ip::make_address(from), 0});
  socket_.connect({asio::ip::make_address(to), static_cast<uint16_t>(port)}, error);
  if (error) socket_.close();
}

bool HttpConnection::Send(const std::string& text) {
  boost::system::error_code ended;
  return asio::write(socket_, asio::buffer(text), ended) == text.size();
}

std::string HttpConnection::ReadAll() {
  std::string text;
  boost::system::error_code ended;
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
  // After `HTTP/1.1 `.
  if (body == std::string::npos || !absl::SimpleAtoi(text.substr(9, 3), &answer.code)) return {};
  answer.body = text.substr(body + 4);
  return answer;
}

}  // namespace csi_proxy::http_testing
