// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <idem/conformance/subject.h>

namespace idem::inline v1::conformance {

enum class direction : std::uint8_t { to_server, to_client };
std::string_view to_string(direction) noexcept;

/// Stand for the type letter of what has none. No protocol here uses them as letters. MySQL has no
/// letters at all: the reader gives its commands and answers those that PostgreSQL has for the
/// like.
namespace message_type {
inline constexpr char segment = '~';         ///< bytes that are not understood
inline constexpr char startup = '*';         ///< the packet that opens a session
inline constexpr char ssl_request = '+';     ///< asks for TLS (MySQL: or compression)
inline constexpr char gss_request = '#';     ///< asks for GSSAPI encryption
inline constexpr char cancel_request = '^';  ///< on a connection of its own
}  // namespace message_type

/// One protocol message. The text is valid during the call that gives it.
struct message {
  direction way = direction::to_server;
  char type = message_type::segment;
  std::size_t bytes = 0;  ///< of the whole message, as its header says
  /// The statement that it carries or runs, the tag of a completed command (MySQL has none:
  /// "COMMIT", or the statement itself), the SQLSTATE of an error; at most `most_text_bytes`, else
  /// empty.
  std::string_view text;
  bool operation = false;  ///< not start-up, authentication, cancelling or saying goodbye
};
inline constexpr std::size_t most_text_bytes = 1000;

/// Part of what one side sent, valid during the call. All pieces together are all its bytes, but
/// that the greeting of a MySQL server offers the client nothing that could not be read.
struct piece {
  std::string_view bytes;
  std::optional<message> begins;  ///< the message whose first bytes these are
  bool ends = true;               ///< the message ends with these bytes
  /// Not empty: a request for encryption. It is not to be passed on but answered with this, so
  /// that what follows can be read.
  std::string_view refusal;
  bool closes = false;  ///< what follows cannot be read all the same: the connection ends
};

/// Splits what both sides of one connection send into messages. No I/O, one thread at a time.
/// It keeps at most one incomplete message of `most_kept_bytes` a direction; of a longer message
/// it gives the beginning as soon as that much is there, and the rest as it comes.
class message_reader {
 public:
  using sink = std::function<void(piece const&)>;
  static constexpr std::size_t most_kept_bytes = 65536;

  message_reader() = default;
  message_reader(message_reader const&) = delete;
  message_reader& operator=(message_reader const&) = delete;
  virtual ~message_reader() = default;

  /// The next bytes of one side, cut anywhere.
  virtual void feed(direction, std::string_view bytes, sink const&) = 0;
  /// That side sends no more: gives what is left of an incomplete message, as a segment.
  virtual void finish(direction, sink const&) = 0;
  /// Whether the server has answered everything that the client could be waiting for.
  virtual bool settled() const noexcept = 0;
};

std::unique_ptr<message_reader> make_message_reader(wire_protocol);
std::unique_ptr<message_reader> make_postgresql_reader();
std::unique_ptr<message_reader> make_mysql_reader();

}  // namespace idem::inline v1::conformance
