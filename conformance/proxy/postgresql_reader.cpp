// SPDX-License-Identifier: BSL-1.0
// The messages of https://www.postgresql.org/docs/current/protocol-message-formats.html
#include <algorithm>
#include <array>
#include <map>

#include "conformance/proxy/message_reader.h"
#include "conformance/proxy/postgresql_waits.h"

namespace idem::inline v1::conformance {

namespace {

constexpr std::uint32_t cancel_code = 80877102;
constexpr std::uint32_t ssl_code = 80877103;
constexpr std::uint32_t gss_code = 80877104;
// The server takes no longer one: MAX_STARTUP_PACKET_LENGTH in
// https://github.com/postgres/postgres/blob/REL_15_STABLE/src/include/libpq/pqcomm.h
constexpr std::uint32_t most_startup_bytes = 10000;
constexpr std::size_t most_names = 10000;

std::uint32_t number_at(std::string_view bytes, std::size_t place) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[place + i]);
  return value;
}

// Takes a zero-terminated string off the front; all that is there if its end is not.
std::string_view take_string(std::string_view& body) {
  auto const end = std::min(body.find('\0'), body.size());
  auto const taken = body.substr(0, end);
  body.remove_prefix(std::min(end + 1, body.size()));
  return taken;
}

std::string_view sqlstate_in(std::string_view fields) {
  while (!fields.empty() && fields.front() != '\0') {
    char const code = fields.front();
    fields.remove_prefix(1);
    auto const value = take_string(fields);
    if (code == 'C') return value;
  }
  return {};
}

// Which statement an Execute runs.
class statement_names {
 public:
  /// The text of what a client's message carries or runs.
  std::string_view text_of(char type, std::string_view body) {
    if (type == 'Q') return take_string(body);
    if (type == 'P') return parse(body);
    if (type == 'B') bind(body);
    if (type == 'C') close(body);
    return type == 'E' ? find(portals_, take_string(body)) : std::string_view{};
  }

 private:
  using table = std::map<std::string, std::string, std::less<>>;

  std::string_view parse(std::string_view body) {
    auto const name = take_string(body);
    auto const text = take_string(body);
    set(statements_, name, text.substr(0, most_text_bytes));
    return text;
  }

  void bind(std::string_view body) {
    auto const portal = take_string(body);
    set(portals_, portal, find(statements_, take_string(body)));
  }

  void close(std::string_view body) {
    if (body.empty()) return;
    auto& names = body.front() == 'S' ? statements_ : portals_;
    body.remove_prefix(1);
    auto const found = names.find(take_string(body));
    if (found != names.end()) names.erase(found);
  }

  static void set(table& names, std::string_view name, std::string_view text) {
    auto const found = names.find(name);
    if (found != names.end()) {
      found->second = text;
    } else if (names.size() < most_names) {
      names.emplace(name, text);
    }
  }

  static std::string_view find(table const& names, std::string_view name) {
    auto const found = names.find(name);
    return found == names.end() ? std::string_view{} : std::string_view(found->second);
  }

  table statements_;
  table portals_;
};

class postgresql_reader final : public message_reader {
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
    if (!s.kept.empty()) segment(way, s.kept, give);
    s.kept.clear();
  }

  bool settled() const noexcept override { return opaque_ ? answered_ : waits_.settled(); }

 private:
  struct side {
    std::string kept;
    std::size_t rest = 0;  // bytes of the message that was begun
  };

  side& side_of(direction way) { return sides_[static_cast<std::size_t>(way)]; }

  // Gives what can be given from the front; 0 if more bytes are needed.
  std::size_t step(side& s, direction way, std::string_view left, sink const& give) {
    if (opaque_) return segment(way, left, give);
    if (s.rest > 0) {
      auto const part = std::min(s.rest, left.size());
      s.rest -= part;
      give({.bytes = left.substr(0, part), .ends = s.rest == 0});
      return part;
    }
    bool const first = way == direction::to_server && !opened_;
    return first ? packet(left, give) : typed(s, way, left, give);
  }

  std::size_t segment(direction way, std::string_view left, sink const& give) {
    answered_ = way == direction::to_client;
    give(
        {.bytes = left, .begins = message{.way = way, .bytes = left.size(), .operation = opaque_}});
    return left.size();
  }

  // What a client sends first has a length and a code, but no type.
  std::size_t packet(std::string_view left, sink const& give) {
    if (left.size() < 8) return 0;
    auto const length = number_at(left, 0);
    auto const code = number_at(left, 4);
    bool const request = code == ssl_code || code == gss_code || code == cancel_code;
    if (length < 8 || length > most_startup_bytes || (!request && code >> 16 != 3)) {
      opaque_ = true;
      return segment(direction::to_server, left, give);
    }
    if (left.size() < length) return 0;
    message m{.way = direction::to_server, .type = message_type::startup, .bytes = length};
    if (code == ssl_code) m.type = message_type::ssl_request;
    if (code == gss_code) m.type = message_type::gss_request;
    if (code == cancel_code) m.type = message_type::cancel_request;
    bool const refused = code == ssl_code || code == gss_code;
    opened_ = !refused;
    give({.bytes = left.substr(0, length), .begins = m, .refusal = refused ? "N" : ""});
    return length;
  }

  std::size_t typed(side& s, direction way, std::string_view left, sink const& give) {
    if (left.size() < 5) return 0;
    auto const length = number_at(left, 1);
    if (length < 4 || length > INT32_MAX) {
      opaque_ = true;
      return segment(way, left, give);
    }
    auto const whole = std::size_t{1} + length;
    if (left.size() < std::min(whole, most_kept_bytes)) return 0;
    auto const part = std::min(whole, left.size());
    s.rest = whole - part;
    give({.bytes = left.substr(0, part),
          .begins = read(way, left.front(), left.substr(5, part - 5), whole),
          .ends = s.rest == 0});
    return part;
  }

  message read(direction way, char type, std::string_view body, std::size_t whole) {
    message m{.way = way, .type = type, .bytes = whole};
    m.operation = waits_.started() && !(way == direction::to_server && type == 'X');
    if (way == direction::to_server) {
      m.text = names_.text_of(type, body);
      waits_.client_sent(type);
    } else {
      if (type == 'C') m.text = take_string(body);
      if (type == 'E') m.text = sqlstate_in(body);
      waits_.server_sent(type);
    }
    m.text = m.text.substr(0, most_text_bytes);
    return m;
  }

  std::array<side, 2> sides_;
  statement_names names_;
  postgresql_waits waits_;
  bool opened_ = false;    // the client's packets without a type are over
  bool opaque_ = false;    // not this protocol, or encrypted from its first byte
  bool answered_ = false;  // in that case: the server sent last
};

}  // namespace

std::unique_ptr<message_reader> make_postgresql_reader() {
  return std::make_unique<postgresql_reader>();
}

}  // namespace idem::inline v1::conformance
