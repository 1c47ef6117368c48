// SPDX-License-Identifier: BSL-1.0
#include "conformance/proxy/message_reader.h"

namespace idem::inline v1::conformance {

namespace {

// The client is taken to wait for whatever comes back first: all that can be known.
class segment_reader final : public message_reader {
 public:
  void feed(direction way, std::string_view bytes, sink const& give) override {
    if (bytes.empty()) return;
    settled_ = way == direction::to_client;
    give({.bytes = bytes, .begins = message{.way = way, .bytes = bytes.size(), .operation = true}});
  }
  void finish(direction, sink const&) override {}
  bool settled() const noexcept override { return settled_; }

 private:
  bool settled_ = false;
};

}  // namespace

std::string_view to_string(direction way) noexcept {
  return way == direction::to_server ? "to server" : "to client";
}

std::unique_ptr<message_reader> make_message_reader(wire_protocol protocol) {
  if (protocol == wire_protocol::postgresql) return make_postgresql_reader();
  if (protocol == wire_protocol::mysql) return make_mysql_reader();
  return std::make_unique<segment_reader>();
}

}  // namespace idem::inline v1::conformance
