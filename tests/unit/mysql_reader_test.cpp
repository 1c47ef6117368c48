// SPDX-License-Identifier: BSL-1.0
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "conformance/proxy/fault_plan.h"
#include "conformance/proxy/message_reader.h"
#include "conformance/proxy/mysql_packets.h"
#include "tests/support/relay_stage.h"

namespace {

using namespace idem::conformance;
using idem_test::down;
using idem_test::up;
using namespace std::string_literals;

constexpr std::uint32_t protocol_41 = 1U << 9;
constexpr std::uint32_t usual = protocol_41 | mysql_capability::deprecate_eof;

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::string greeting(std::uint32_t capabilities) {
  return mysql_packet(0,
                      "\x0a"
                      "8.4.0\0"s +
                          number(7, 4) + "scramble\0"s + number(capabilities & 0xffff, 2) + "\x2d" +
                          number(2, 2) + number(capabilities >> 16, 2) + "\x15" +
                          std::string(10, '\0') + "scramble-two\0plugin\0"s);
}

std::string hello(std::uint32_t capabilities) {
  return mysql_packet(1, number(capabilities, 4) + number(1U << 24, 4) + "\x2d" +
                             std::string(23, '\0') + "user\0\0"s);
}

std::string command(char code, std::string const& body = "") {
  return mysql_packet(0, std::string(1, code) + body);
}
std::string query(std::string const& text) { return command('\x03', text); }
std::string prepare(std::string const& text) { return command('\x16', text); }
std::string execute(std::uint32_t id) {
  return command('\x17', number(id, 4) + "\0"s + number(1, 4));
}

std::string ok(unsigned char sequence, std::uint16_t status = 2) {
  return mysql_packet(sequence, "\0\1\0"s + number(status, 2) + number(0, 2));
}
std::string eof(unsigned char sequence, std::uint16_t status = 2) {
  return mysql_packet(sequence, "\xfe" + number(0, 2) + number(status, 2));
}
/// Ends rows where EOF is deprecated.
std::string end(unsigned char sequence, std::uint16_t status = 2) {
  return mysql_packet(sequence, "\xfe\0\0"s + number(status, 2) + number(0, 2));
}
std::string prepared(std::uint32_t id, std::uint16_t columns, std::uint16_t parameters) {
  return mysql_packet(
      1, "\0"s + number(id, 4) + number(columns, 2) + number(parameters, 2) + "\0"s + number(0, 2));
}
std::string definition(unsigned char sequence) { return mysql_packet(sequence, "\3def"); }
std::string row(unsigned char sequence, std::string const& value = "\0"s) {
  return mysql_packet(sequence, value);
}

/// What a reader gave of one side: its bytes, and of each message type, text, operation.
struct given {
  std::string bytes;
  std::vector<std::string> messages;
  std::size_t begun = 0;
  std::size_t ended = 0;
  std::size_t commits = 0;
  std::string refusals;
  bool closes = false;

  void take(piece const& p) {
    bytes += p.bytes;
    refusals += p.refusal;
    closes = closes || p.closes;
    ended += p.ends ? 1 : 0;
    if (!p.begins) return;
    ++begun;
    commits += is_commit(*p.begins) ? 1 : 0;
    messages.push_back(std::string(1, p.begins->type) + ' ' + std::string(p.begins->text) +
                       (p.begins->operation ? "" : "-"));
  }
};

struct talk {
  explicit talk(std::size_t bytes_at_once = 1 << 20, std::uint32_t capabilities = usual)
      : chunk(bytes_at_once), agreed(capabilities) {}

  void say(direction way, std::string const& bytes) {
    auto& side = way == up ? client : server;
    for (std::size_t i = 0; i < bytes.size(); i += chunk)
      reader->feed(way, std::string_view(bytes).substr(i, chunk),
                   [&](piece const& p) { side.take(p); });
    all += bytes.size();
  }
  void start() {
    say(down, greeting(agreed));
    say(up, hello(agreed));
    say(down, ok(2));
    client = {};
    server = {};
  }

  std::size_t chunk;
  std::uint32_t agreed;
  std::size_t all = 0;
  std::unique_ptr<message_reader> reader = make_message_reader(wire_protocol::mysql);
  given client;
  given server;
};

void same(std::vector<std::string> const& seen, std::vector<std::string> const& expected) {
  BOOST_TEST(seen == expected, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mysql_reader)

BOOST_AUTO_TEST_CASE(any_cut_gives_the_same_messages) {
  auto const asked = execute(7) + query("SELECT 1") + query(" commit ;");
  auto const answers =
      ok(1) + mysql_packet(1, "\1") + definition(2) + row(3, "\0"s) + end(4) + ok(1);
  for (std::size_t chunk = 1; chunk <= asked.size(); ++chunk) {
    talk t(chunk);
    t.say(down, greeting(usual));
    t.say(up, hello(usual));
    BOOST_TEST(!t.reader->settled());
    t.say(down, mysql_packet(2, "\xfeplugin\0data"s));
    t.say(up, mysql_packet(3, "secret"));
    t.say(down, mysql_packet(4, "\1\3") + ok(5));
    BOOST_TEST(t.reader->settled());
    t.say(up, prepare("INSERT ?"));
    t.say(down, prepared(7, 0, 1) + definition(2));
    BOOST_TEST(t.reader->settled());
    t.say(up, asked);
    BOOST_TEST(!t.reader->settled());
    t.say(down, answers);
    BOOST_TEST(t.reader->settled());
    t.say(up, command('\x01'));
    same(t.client.messages,
         {"* -", "A -", "P INSERT ?", "E INSERT ?", "Q SELECT 1", "Q  commit ;", "X -"});
    same(t.server.messages, {"H -", "A -", "A -", "C -", "1 ", "d ", "C INSERT ?", "T ", "D ", "D ",
                             "Z ", "C COMMIT"});
    BOOST_TEST(t.client.commits == 1U);
    BOOST_TEST(t.server.commits == 1U);
    BOOST_TEST(t.client.bytes.size() + t.server.bytes.size() == t.all);
    BOOST_TEST(t.client.begun == t.client.ended);
    BOOST_TEST(t.server.begun == t.server.ended);
  }
}

BOOST_AUTO_TEST_CASE(results_that_end_with_eof_packets) {
  talk t(3, protocol_41);
  t.start();
  t.say(up, prepare("SELECT ?"));
  t.say(down, prepared(1, 1, 1) + definition(2) + eof(3) + definition(4));
  BOOST_TEST(!t.reader->settled());
  t.say(down, eof(5));
  BOOST_TEST(t.reader->settled());
  t.say(up, execute(1));
  // A row may begin with the byte of an EOF packet, and be empty.
  t.say(down,
        mysql_packet(1, "\1") + definition(2) + eof(3) + row(4, "\xfe" + number(5, 8)) + row(5));
  BOOST_TEST(!t.reader->settled());
  t.say(down, eof(6));
  BOOST_TEST(t.reader->settled());
  same(t.server.messages, {"1 ", "d ", "d ", "d ", "d ", "T ", "d ", "Z ", "D ", "D ", "Z "});
}

BOOST_AUTO_TEST_CASE(of_several_statements_the_one_that_commits_is_known) {
  constexpr std::uint16_t more = 8 | 2;
  talk t;
  t.start();
  t.say(up, query("INSERT 1; SELECT 1; COMMIT"));
  t.say(down, ok(1, more) + mysql_packet(2, "\1") + definition(3) + end(4, more));
  BOOST_TEST(!t.reader->settled());
  BOOST_TEST(t.server.commits == 0U);
  t.say(down, ok(5));
  BOOST_TEST(t.reader->settled());
  BOOST_TEST(t.server.commits == 1U);
  t.say(up, query("COMMIT; SELECT 1"));
  t.say(down, ok(1, more));
  BOOST_TEST(t.server.commits == 2U);
  t.say(down, ok(2));
  BOOST_TEST(t.server.commits == 2U);
  BOOST_TEST(t.client.commits == 2U);
}

BOOST_AUTO_TEST_CASE(a_commit_is_found_by_its_statement_number) {
  talk t;
  t.start();
  t.say(up, prepare("COMMIT AND NO CHAIN"));
  t.say(down, prepared(0x01020304, 0, 0));
  BOOST_TEST(t.client.commits == 0U);
  t.say(up, execute(0x01020304));
  t.say(down, ok(1));
  BOOST_TEST(t.client.commits == 1U);
  BOOST_TEST(t.server.commits == 1U);
  t.say(up, command('\x19', number(0x01020304, 4)));  // closed, which is not answered
  BOOST_TEST(t.reader->settled());
  t.say(up, execute(0x01020304));
  t.say(down, mysql_error(1, 1243, "HY000", "unknown"));
  BOOST_TEST(t.client.commits == 1U);
  same(t.server.messages, {"1 ", "C COMMIT", "E HY000"});
  // MariaDB's way to run what was prepared last, without waiting for its number.
  t.say(up, prepare("commit") + execute(0xffffffff));
  BOOST_TEST(t.client.commits == 2U);
}

BOOST_AUTO_TEST_CASE(what_failed_did_not_commit) {
  talk t;
  t.start();
  t.say(up, query("COMMIT") + query("SELECT 1"));
  t.say(down, mysql_error(1, 1213, "40001", "Deadlock"));
  BOOST_TEST(t.server.commits == 0U);
  BOOST_TEST(!t.reader->settled());
  t.say(down, mysql_packet(1, "\1") + definition(2) + mysql_error(3, 0xffff, "HY000", "half") +
                  mysql_error(4, 1317, "70100", "interrupted"));
  BOOST_TEST(t.reader->settled());
  same(t.server.messages, {"E 40001", "T ", "D ", "N ", "E 70100"});
}

BOOST_AUTO_TEST_CASE(commands_with_answers_of_their_own) {
  talk t;
  t.start();
  for (char const code : {'\x0e', '\x1f', '\x1a'}) {
    t.say(up, command(code));
    BOOST_TEST(!t.reader->settled());
    t.say(down, ok(1));
    BOOST_TEST(t.reader->settled());
  }
  t.say(up, command('\x11', "user"));
  t.say(down, mysql_packet(1, "\xfeplugin"));
  t.say(up, mysql_packet(2, "secret"));
  BOOST_TEST(!t.reader->settled());
  t.say(down, ok(3));
  BOOST_TEST(t.reader->settled());
  t.say(up, query("LOAD DATA LOCAL INFILE"));
  t.say(down, mysql_packet(1,
                           "\xfb"
                           "file"));
  BOOST_TEST(t.reader->settled());  // the client is waited for
  t.say(up, mysql_packet(2, "data") + mysql_packet(3, ""));
  t.say(down, ok(4));
  BOOST_TEST(t.reader->settled());
  same(t.client.messages, {"p ", "Z ", "R ", "U ", "d ", "Q LOAD DATA LOCAL INFILE", "d ", "d "});
}

BOOST_AUTO_TEST_CASE(a_message_of_several_packets_is_one) {
  talk t(1 << 16);
  t.start();
  std::string const first = "\3INSERT " + std::string(most_mysql_payload - 8, 'x');
  auto const sent = mysql_packet(0, first) + mysql_packet(1, "the rest");
  t.say(up, sent + query("SELECT 1"));
  BOOST_TEST(t.client.begun == 2U);
  BOOST_TEST(t.client.ended == 2U);
  BOOST_TEST((t.client.bytes == sent + query("SELECT 1")));
  BOOST_TEST(t.client.messages.front().size() == 2 + most_text_bytes);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_refused) {
  for (auto const flag :
       {mysql_capability::ssl, mysql_capability::compress, mysql_capability::zstd}) {
    talk t;
    t.say(down, greeting(usual | flag));
    BOOST_TEST(t.server.bytes == greeting(usual));
    t.say(up, hello(usual | flag));
    BOOST_TEST(t.client.closes);
    BOOST_TEST(t.client.refusals.find("the relay cannot read") != std::string::npos);
    talk without;
    without.say(down, greeting(usual));  // the server has none, whatever the client would do
    without.say(up, hello(usual | flag));
    BOOST_TEST(!without.client.closes);
  }
}

BOOST_AUTO_TEST_CASE(round_trips_and_refusals_through_the_relay) {
  idem_test::relay_stage s(wire_protocol::mysql);
  auto const greet = [&] {
    s.meet();
    BOOST_TEST(s.server.send(greeting(usual | mysql_capability::ssl)));
    auto const shown = greeting(usual);  // no TLS is offered
    BOOST_TEST(s.client.receive(shown.size()) == shown);
  };
  greet();
  s.to_server(hello(usual));
  s.to_client(ok(2));
  BOOST_TEST(s.between.counts().round_trips == 0U);
  s.to_server(query("BEGIN") + query("INSERT"));
  s.to_client(ok(1) + ok(1));
  BOOST_TEST(s.between.counts().round_trips == 1U);
  s.between.arm(idem_test::at_commit(down, fault_action::cut_fin, moment::before));
  s.to_server(query("COMMIT"));
  BOOST_TEST(s.server.send(ok(1)));
  BOOST_TEST(s.client.how_it_ends() == "end");
  BOOST_TEST(s.between.fired());
  BOOST_TEST(s.between.counts().round_trips == 2U);
  greet();
  BOOST_TEST(s.client.send(hello(usual | mysql_capability::ssl)));
  auto const refusal =
      mysql_error(2, 1043, "08S01", "the relay cannot read TLS: connect without it");
  BOOST_TEST(s.client.receive(refusal.size()) == refusal);
  BOOST_TEST(s.client.how_it_ends() == "end");
  BOOST_TEST(s.server.how_it_ends() == "end");
}

BOOST_AUTO_TEST_SUITE_END()
