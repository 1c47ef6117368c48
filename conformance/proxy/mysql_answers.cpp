// SPDX-License-Identifier: BSL-1.0
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_command_phase.html
// https://mariadb.com/docs/server/reference/clientserver-protocol/4-server-response-packets
#include "conformance/proxy/mysql_answers.h"

#include <utility>

#include "conformance/proxy/commit_text.h"
#include "conformance/proxy/message_reader.h"
#include "conformance/proxy/mysql_packets.h"

namespace idem::inline v1::conformance {

namespace {

// https://dev.mysql.com/doc/dev/mysql-server/latest/mysql__com_8h.html, SERVER_STATUS_flags_enum
constexpr std::uint64_t more_results = 0x0008;
constexpr std::uint64_t cursor_exists = 0x0040;
// MariaDB's word for "the statement prepared last", so that it can be run without waiting for its
// number:
// https://mariadb.com/kb/en/com_stmt_execute/
constexpr std::uint64_t the_last_one = 0xffffffff;
// In MariaDB's ERR packet: no error but how far a statement is.
constexpr std::uint64_t progress = 0xffff;
constexpr std::size_t most_statements = 10000;
// An EOF packet is shorter than a row that begins with the same byte, a length of eight bytes.
constexpr std::size_t least_row_like_eof = 9;

unsigned char first_of(std::string_view payload) noexcept {
  return payload.empty() ? 0 : static_cast<unsigned char>(payload.front());
}

// How many bytes a length-encoded integer takes.
std::size_t encoded_bytes(std::string_view payload, std::size_t place) noexcept {
  switch (mysql_number(payload, place, 1)) {
    case 0xfc:
      return 3;
    case 0xfd:
      return 4;
    case 0xfe:
      return 9;
    default:
      return 1;
  }
}

// Of an OK packet, also one in the place of EOF: behind two length-encoded integers.
std::uint64_t status_of_ok(std::string_view payload) noexcept {
  std::size_t place = 1;
  place += encoded_bytes(payload, place);
  place += encoded_bytes(payload, place);
  return mysql_number(payload, place, 2);
}

bool has_answer(unsigned char command) noexcept {
  return command != mysql_command::quit && command != mysql_command::long_data &&
         command != mysql_command::close;
}

}  // namespace

std::string_view mysql_answers::statement(std::uint64_t id) const {
  if (id == the_last_one) return last_prepared_;
  auto const found = statements_.find(id);
  return found == statements_.end() ? std::string_view{} : std::string_view(found->second);
}

std::string_view mysql_answers::asked(unsigned char code, std::string_view body) {
  auto const id = mysql_number(body, 0, 4);
  bool const runs = code == mysql_command::execute || code == mysql_command::bulk_execute;
  if (code == mysql_command::close) statements_.erase(id);
  if (code == mysql_command::prepare) last_prepared_ = body;
  text_.clear();
  if (code == mysql_command::query || code == mysql_command::prepare) text_ = body;
  if (runs) text_ = statement(id);
  wants_file_ = false;
  if (has_answer(code))
    waiting_.push_back({code, text_, first_commits(text_), last_commits(text_)});
  return text_;
}

mysql_answers::packet mysql_answers::answered(std::string_view payload, std::size_t length) {
  wants_file_ = false;
  if (first_of(payload) == mysql_header::err) return failed(payload);
  if (waiting_.empty()) return {};
  switch (part_) {
    case part::start:
      return begin_answer(payload);
    case part::columns:
      if (!ends_rows(payload, length)) return {.type = 'd', .text = {}};
      part_ = part::rows;
      // The rows of a cursor are fetched.
      if ((status_at_end(payload) & cursor_exists) != 0) finish();
      return {.type = 'Z', .text = {}};
    case part::rows:
      if (!ends_rows(payload, length)) return {};
      return ended_result(status_at_end(payload), 'Z');
    case part::definitions:
      if (--definitions_left_ == 0) finish();
      return {.type = 'd', .text = {}};
  }
  return {};
}

bool mysql_answers::ends_rows(std::string_view payload, std::size_t length) const noexcept {
  if (first_of(payload) != mysql_header::eof) return false;
  return has(mysql_capability::deprecate_eof) ? length < most_mysql_payload
                                              : length < least_row_like_eof;
}

std::uint64_t mysql_answers::status_at_end(std::string_view payload) const noexcept {
  if (has(mysql_capability::deprecate_eof)) return status_of_ok(payload);
  return mysql_number(payload, 3, 2);  // behind the warnings
}

mysql_answers::packet mysql_answers::failed(std::string_view payload) {
  if (mysql_number(payload, 1, 2) == progress) return {.type = 'N', .text = {}};
  if (!waiting_.empty()) finish();
  bool const has_state = payload.size() >= 9 && payload[3] == '#';
  return {.type = 'E', .text = has_state ? payload.substr(4, 5) : std::string_view{}};
}

mysql_answers::packet mysql_answers::begin_answer(std::string_view payload) {
  auto const code = waiting_.front().code;
  switch (code) {
    case mysql_command::query:
    case mysql_command::execute:
    case mysql_command::bulk_execute:
      return begin_result(payload);
    case mysql_command::prepare:
      return prepared(payload);
    case mysql_command::field_list:
    case mysql_command::fetch:
      part_ = part::rows;
      if (ends_rows(payload, payload.size())) return ended_result(0, 'Z');
      return {};
    case mysql_command::change_user:
      if (first_of(payload) != mysql_header::ok) return {.type = 'A', .text = {}};
      break;
    default:
      break;
  }
  finish();
  return {.type = 'C', .text = {}};
}

mysql_answers::packet mysql_answers::begin_result(std::string_view payload) {
  switch (first_of(payload)) {
    case mysql_header::ok:
      return ended_result(status_of_ok(payload), 'C');
    case mysql_header::local_infile:
      wants_file_ = true;
      return {.type = 'L', .text = {}};
    default:
      part_ = has(mysql_capability::deprecate_eof) ? part::rows : part::columns;
      return {.type = 'T', .text = {}};
  }
}

// A command with several statements has a result for each of them.
mysql_answers::packet mysql_answers::ended_result(std::uint64_t status, char type) {
  bool const last = (status & more_results) == 0;
  auto const& front = waiting_.front();
  bool const commits =
      type == 'C' && ((first_result_ && front.first_commits) || (last && front.last_commits));
  text_ = commits ? "COMMIT" : front.text;
  part_ = part::start;
  first_result_ = false;
  if (last) finish();
  return {.type = type, .text = type == 'C' ? std::string_view(text_) : std::string_view{}};
}

// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_prepare.html
mysql_answers::packet mysql_answers::prepared(std::string_view payload) {
  if (statements_.size() < most_statements)
    statements_[mysql_number(payload, 1, 4)] = waiting_.front().text;
  auto const columns = mysql_number(payload, 5, 2);
  auto const parameters = mysql_number(payload, 7, 2);
  bool const without =
      has(mysql_capability::optional_metadata) && payload.size() > 12 && payload[12] == 0;
  // An EOF packet behind each of the two lists that is not empty.
  std::uint64_t const ends = has(mysql_capability::deprecate_eof)
                                 ? 0U
                                 : (columns > 0 ? 1U : 0U) + (parameters > 0 ? 1U : 0U);
  definitions_left_ = without ? 0 : static_cast<std::size_t>(columns + parameters + ends);
  part_ = part::definitions;
  if (definitions_left_ == 0) finish();
  return {.type = '1', .text = {}};
}

void mysql_answers::finish() {
  waiting_.pop_front();
  part_ = part::start;
  first_result_ = true;
}

}  // namespace idem::inline v1::conformance
