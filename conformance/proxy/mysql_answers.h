// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

namespace idem::inline v1::conformance {

/// https://dev.mysql.com/doc/dev/mysql-server/latest/my__command_8h.html, and MariaDB's
/// https://mariadb.com/kb/en/com_stmt_bulk_execute/
namespace mysql_command {
inline constexpr unsigned char quit = 0x01;
inline constexpr unsigned char query = 0x03;
inline constexpr unsigned char field_list = 0x04;
inline constexpr unsigned char statistics = 0x09;
inline constexpr unsigned char ping = 0x0e;
inline constexpr unsigned char change_user = 0x11;
inline constexpr unsigned char prepare = 0x16;
inline constexpr unsigned char execute = 0x17;
inline constexpr unsigned char long_data = 0x18;
inline constexpr unsigned char close = 0x19;
inline constexpr unsigned char reset_statement = 0x1a;
inline constexpr unsigned char fetch = 0x1c;
inline constexpr unsigned char reset_connection = 0x1f;
inline constexpr unsigned char bulk_execute = 0xfa;
}  // namespace mysql_command

/// Which answers the server of one session owes, also to commands that were sent without reading,
/// and what each of its packets is.
class mysql_answers {
 public:
  /// Of the capabilities that both sides have.
  void agree(std::uint32_t capabilities) noexcept { agreed_ = capabilities; }

  /// A command and what is behind its first byte. The statement that it carries or runs, valid
  /// until the next call.
  std::string_view asked(unsigned char command, std::string_view body);

  struct packet {
    char type = 'D';
    std::string_view text;  ///< valid until the next call
  };
  /// The server's next packet: its payload, perhaps cut off, and how long that is.
  packet answered(std::string_view payload, std::size_t length);

  bool settled() const noexcept { return waiting_.empty() || wants_file_; }

 private:
  enum class part : std::uint8_t { start, columns, rows, definitions };
  struct command {
    unsigned char code;
    std::string text;
    bool first_commits;
    bool last_commits;
  };

  packet begin_answer(std::string_view payload);
  packet begin_result(std::string_view payload);
  packet prepared(std::string_view payload);
  packet ended_result(std::uint64_t status, char type);
  packet failed(std::string_view payload);
  bool ends_rows(std::string_view payload, std::size_t length) const noexcept;
  std::uint64_t status_at_end(std::string_view payload) const noexcept;
  bool has(std::uint32_t capability) const noexcept { return (agreed_ & capability) != 0; }
  void finish();
  std::string_view statement(std::uint64_t id) const;

  std::uint32_t agreed_ = 0;
  std::deque<command> waiting_;
  part part_ = part::start;
  std::size_t definitions_left_ = 0;
  bool first_result_ = true;
  bool wants_file_ = false;
  std::map<std::uint64_t, std::string> statements_;
  std::string last_prepared_;  // sent, answered or not
  std::string text_;
};

}  // namespace idem::inline v1::conformance
