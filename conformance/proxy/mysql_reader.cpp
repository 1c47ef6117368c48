// SPDX-License-Identifier: BSL-1.0
// The packets of https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html and
// https://mariadb.com/docs/server/reference/clientserver-protocol
#include <algorithm>
#include <array>
#include <utility>

#include "conformance/proxy/message_reader.h"
#include "conformance/proxy/mysql_answers.h"
#include "conformance/proxy/mysql_packets.h"

namespace idem::inline v1::conformance {

namespace {

// ER_HANDSHAKE_ERROR
constexpr std::uint16_t refusal_code = 1043;
constexpr std::string_view refusal_state = "08S01";

constexpr std::uint32_t unreadable =
    mysql_capability::ssl | mysql_capability::compress | mysql_capability::zstd;

// Where PostgreSQL has the like, its letter.
char letter_of(unsigned char command) noexcept {
  switch (command) {
    case mysql_command::query:
      return 'Q';
    case mysql_command::prepare:
      return 'P';
    case mysql_command::execute:
      return 'E';
    case mysql_command::bulk_execute:
      return 'B';
    case mysql_command::close:
      return 'C';
    case mysql_command::long_data:
      return 'L';
    case mysql_command::fetch:
      return 'F';
    case mysql_command::reset_statement:
      return 'R';
    case mysql_command::ping:
      return 'p';
    case mysql_command::reset_connection:
      return 'Z';
    case mysql_command::change_user:
      return 'U';
    case mysql_command::quit:
      return 'X';
    default:
      return 'o';
  }
}

class mysql_reader final : public message_reader {
 public:
  void feed(direction way, std::string_view bytes, sink const& give) override {
    auto& s = side_of(way);
    s.kept += bytes;
    std::string_view left = s.kept;
    while (!left.empty()) {
      auto const taken = step(s, way, left, give);
      if (taken == 0) break;
      left.remove_prefix(taken);
    }
    s.kept.erase(0, s.kept.size() - left.size());
  }

  void finish(direction way, sink const& give) override {
    auto& s = side_of(way);
    if (!s.kept.empty())
      give({.bytes = s.kept, .begins = message{.way = way, .bytes = s.kept.size()}});
    s.kept.clear();
  }

  bool settled() const noexcept override { return phase_ == phase::commands && answers_.settled(); }

 private:
  enum class phase : std::uint8_t { greeting, login, commands };
  struct side {
    std::string kept;
    std::size_t rest = 0;    // bytes of the packet that was begun
    bool continues = false;  // the message goes on in the next packet
  };

  side& side_of(direction way) { return sides_[static_cast<std::size_t>(way)]; }

  // Gives what can be given from the front; 0 if more bytes are needed.
  std::size_t step(side& s, direction way, std::string_view left, sink const& give) {
    if (s.rest > 0) {
      auto const part = std::min(s.rest, left.size());
      s.rest -= part;
      give({.bytes = left.substr(0, part), .ends = s.rest == 0 && !s.continues});
      return part;
    }
    if (left.size() < mysql_header_bytes) return 0;
    auto const length = static_cast<std::size_t>(mysql_number(left, 0, 3));
    auto const whole = mysql_header_bytes + length;
    if (left.size() < std::min(whole, most_kept_bytes)) return 0;
    auto const part = std::min(whole, left.size());
    s.rest = whole - part;
    bool const goes_on = std::exchange(s.continues, length == most_mysql_payload);
    piece p{.bytes = left.substr(0, part), .ends = s.rest == 0 && !s.continues};
    if (!goes_on) read(way, p, length);
    give(p);
    return part;
  }

  void read(direction way, piece& p, std::size_t length) {
    auto const payload = p.bytes.substr(mysql_header_bytes);
    auto const sequence = static_cast<unsigned char>(p.bytes[3]);
    message m{.way = way, .bytes = mysql_header_bytes + length};
    if (way == direction::to_client) {
      read_answer(m, p, payload, length);
    } else if (phase_ == phase::commands) {
      read_command(m, payload, sequence);
    } else {
      read_login(m, p, payload, sequence);
    }
    m.text = m.text.substr(0, most_text_bytes);
    p.begins = m;
  }

  // The sequence begins anew with each command.
  void read_command(message& m, std::string_view payload, unsigned char sequence) {
    m.operation = true;
    m.type = 'd';  // of a file, or of a login in the middle of the session
    if (sequence != 0 || payload.empty()) return;
    auto const code = static_cast<unsigned char>(payload.front());
    m.type = letter_of(code);
    m.operation = code != mysql_command::quit;
    m.text = answers_.asked(code, payload.substr(1));
  }

  // https://mariadb.com/docs/server/reference/clientserver-protocol/1-connecting/connection
  void read_login(message& m, piece& p, std::string_view payload, unsigned char sequence) {
    m.type = 'A';
    if (std::exchange(said_hello_, true)) return;
    m.type = message_type::startup;
    auto const agreed = capabilities_ & static_cast<std::uint32_t>(mysql_number(payload, 0, 4));
    answers_.agree(agreed);
    auto const next = static_cast<unsigned char>(sequence + 1);
    if ((agreed & mysql_capability::ssl) != 0)
      p.refusal = refuse(next, "the relay cannot read TLS: connect without it");
    else if ((agreed & unreadable) != 0)
      p.refusal = refuse(next, "the relay cannot read a compressed wire: connect without it");
    if (p.refusal.empty()) return;
    m.type = message_type::ssl_request;
    p.closes = true;
  }

  std::string_view refuse(unsigned char sequence, std::string_view why) {
    refusal_ = mysql_error(sequence, refusal_code, refusal_state, why);
    return refusal_;
  }

  void read_answer(message& m, piece& p, std::string_view payload, std::size_t length) {
    if (phase_ == phase::commands) {
      m.operation = true;
      auto const packet = answers_.answered(payload, length);
      m.type = packet.type;
      m.text = packet.text;
      return;
    }
    auto const first = payload.empty() ? 0U : static_cast<unsigned char>(payload.front());
    m.type = first == mysql_header::err ? 'E' : 'A';
    if (phase_ == phase::greeting) {
      if (m.type == 'E') return;
      m.type = 'H';
      p.bytes = greeted(p.bytes);
      phase_ = phase::login;
    } else if (first == mysql_header::ok) {
      m.type = 'C';
      phase_ = phase::commands;
    }
  }

  // Behind the version's text: number, scramble and a zero, then the lower half, character set and
  // status, then the upper half. https://mariadb.com/kb/en/connection/
  // What cannot be read is not offered to the client.
  std::string_view greeted(std::string_view packet) {
    greeting_ = packet;
    auto const version = mysql_header_bytes + 1;
    auto const lower = std::min(packet.find('\0', version), packet.size()) + 1 + 4 + 8 + 1;
    auto const upper = lower + 5;
    capabilities_ = static_cast<std::uint32_t>(mysql_number(packet, lower, 2) |
                                               mysql_number(packet, upper, 2) << 16);
    auto const offered = capabilities_ & ~unreadable;
    for (std::size_t const i : {0U, 1U}) {
      if (upper + i >= greeting_.size()) break;
      greeting_[lower + i] = static_cast<char>(offered >> (8 * i) & 0xff);
      greeting_[upper + i] = static_cast<char>(offered >> (16 + 8 * i) & 0xff);
    }
    return greeting_;
  }

  std::array<side, 2> sides_;
  phase phase_ = phase::greeting;
  std::uint32_t capabilities_ = 0;  // the server's
  bool said_hello_ = false;         // the client's first packet has come
  std::string refusal_;
  std::string greeting_;  // as the client gets it
  mysql_answers answers_;
};

}  // namespace

std::unique_ptr<message_reader> make_mysql_reader() { return std::make_unique<mysql_reader>(); }

}  // namespace idem::inline v1::conformance
