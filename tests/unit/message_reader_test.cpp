// SPDX-License-Identifier: BSL-1.0
#include "conformance/proxy/message_reader.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "conformance/proxy/fault_plan.h"
#include "tests/support/wire_socket.h"

namespace {

using namespace idem::conformance;
using namespace idem_test;
using namespace std::string_literals;

constexpr auto up = direction::to_server;
constexpr auto down = direction::to_client;

/// What a reader gave: all bytes, and of each message type, length, text, operation.
struct given {
  std::string bytes;
  std::vector<std::string> messages;
  std::size_t begun = 0;
  std::size_t ended = 0;
  std::string refusals;

  void take(piece const& p) {
    bytes += p.bytes;
    refusals += p.refusal;
    if (p.begins) {
      ++begun;
      messages.push_back(std::string(1, p.begins->type) + ' ' + std::to_string(p.begins->bytes) +
                         ' ' + std::string(p.begins->text) + (p.begins->operation ? "" : " -"));
    }
    ended += p.ends ? 1 : 0;
  }
};

struct talk {
  explicit talk(wire_protocol protocol = wire_protocol::postgresql)
      : reader(make_message_reader(protocol)) {}

  void say(direction way, std::string const& bytes, std::size_t chunk = 1 << 20) {
    auto& side = way == up ? client : server;
    for (std::size_t i = 0; i < bytes.size(); i += chunk)
      reader->feed(way, std::string_view(bytes).substr(i, chunk),
                   [&](piece const& p) { side.take(p); });
  }
  void start() {
    say(up, pg_startup());
    say(down, pg('R', "\0\0\0\0"s) + pg_ready());
  }

  std::unique_ptr<message_reader> reader;
  given client;
  given server;
};

void same(std::vector<std::string> const& seen, std::vector<std::string> const& expected) {
  BOOST_TEST(seen == expected, boost::test_tools::per_element());
}

std::string pipeline(std::string const& statement) {
  return pg_parse("", statement) + pg_bind("", "") + pg('D', "P\0"s) + pg_execute();
}

std::string pipeline_answer(std::string const& tag) {
  return pg('1') + pg('2') + pg('n') + pg_done(tag);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(message_reader)

BOOST_AUTO_TEST_CASE(any_cut_gives_the_same_messages) {
  auto const sent = pg_packet(80877104) + pg_packet(80877103) + pg_startup() +
                    pg('p', "secret\0"s) + pg_parse("s", "COMMIT") + pg_bind("p", "s") +
                    pg_execute("p") + pg('S') + pg_query("select 1") + pg('X');
  auto const answered = pg('R', "\0\0\0\0"s) + pg_ready() + pg('1') + pg('2') + pg_done("COMMIT") +
                        pg_ready() + pg('E', "SERROR\0C23505\0Mno\0\0"s) + pg_ready();
  for (auto const chunk : {1U, 2U, 3U, 5U, 7U, 11U, 64U, 100000U}) {
    talk t;
    t.say(up, sent.substr(0, sent.size() - 45), chunk);
    t.say(down, answered.substr(0, 15), chunk);
    t.say(up, sent.substr(sent.size() - 45), chunk);
    t.say(down, answered.substr(15), chunk);
    BOOST_TEST(t.client.bytes == sent);
    BOOST_TEST(t.server.bytes == answered);
    BOOST_TEST(t.client.refusals == "NN");
    BOOST_TEST(t.client.begun == t.client.ended);
    same(t.client.messages, {"# 8  -", "+ 8  -", "* 16  -", "p 12  -", "P 16 COMMIT -", "B 15 ",
                             "E 11 COMMIT", "S 5 ", "Q 14 select 1", "X 5  -"});
    same(t.server.messages,
         {"R 9  -", "Z 6  -", "1 5 ", "2 5 ", "C 12 COMMIT", "Z 6 ", "E 24 23505", "Z 6 "});
  }
}

BOOST_AUTO_TEST_CASE(a_long_message_comes_in_pieces) {
  talk t;
  t.start();
  auto const before = t.client.begun;
  auto const query = pg_query("insert " + std::string(300000, 'x'));
  t.say(up, query + pg('S'), 1000);
  BOOST_TEST(t.client.begun == before + 2);
  BOOST_TEST(t.client.ended == before + 2);
  BOOST_TEST(t.client.bytes == pg_startup() + query + pg('S'));
  auto const& told = t.client.messages.at(before);
  BOOST_TEST(told.substr(0, 16) == "Q 300013 insert ");
  BOOST_TEST(told.size() == 9 + most_text_bytes);
}

BOOST_AUTO_TEST_CASE(an_unfinished_message_is_given_at_the_end) {
  talk t;
  t.start();
  auto const half = pg_query("select 1").substr(0, 7);
  t.say(up, half);
  BOOST_TEST(t.client.begun == 1U);
  t.reader->finish(up, [&](piece const& p) { t.client.take(p); });
  BOOST_TEST(t.client.bytes == pg_startup() + half);
  BOOST_TEST(t.client.begun == 2U);
}

BOOST_AUTO_TEST_CASE(what_is_not_the_protocol_passes_as_segments) {
  for (auto const& first : {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s, "GET / HTTP/1.1\r\n"s,
                            pg_packet(131072), "\0\0\0\4abcd"s}) {
    talk t;
    t.say(up, first);
    t.say(down, "answer");
    BOOST_TEST(t.client.bytes == first);
    BOOST_TEST(t.server.bytes == "answer");
    same(t.client.messages, {"~ " + std::to_string(first.size()) + " "});
    BOOST_TEST(t.reader->settled());
  }
  talk broken;
  broken.start();
  broken.say(down, "Q\0\0\0\1rest"s);
  BOOST_TEST(broken.server.messages.back() == "~ 9 ");
}

BOOST_AUTO_TEST_CASE(a_cancel_request_is_alone) {
  talk t;
  t.say(up, pg_packet(80877102, "12345678"));
  same(t.client.messages, {"^ 16  -"});
}

BOOST_AUTO_TEST_CASE(an_execute_has_the_text_of_its_statement) {
  talk t;
  t.start();
  t.say(up, pg_parse("a", "one") + pg_parse("b", "two") + pg_bind("x", "a") + pg_bind("y", "b") +
                pg_parse("a", "three") + pg_execute("x") + pg_execute("y") + pg_execute("none") +
                pg('C', "Px\0"s) + pg_execute("x"));
  std::vector<std::string> executed;
  std::ranges::copy_if(t.client.messages, std::back_inserter(executed),
                       [](std::string const& m) { return m.front() == 'E'; });
  same(executed, {"E 11 one", "E 11 two", "E 14 ", "E 11 "});
}

BOOST_AUTO_TEST_CASE(settled_when_all_is_answered) {
  talk t;
  t.say(up, pg_startup());
  BOOST_TEST(!t.reader->settled());
  t.say(down, pg('R', "\0\0\0\0"s) + pg_ready());
  BOOST_TEST(t.reader->settled());
  t.say(up, pg_query("select 1"));
  t.say(down, pg('T') + pg('D') + pg_done("SELECT 1"));
  BOOST_TEST(!t.reader->settled());
  t.say(down, pg_ready());
  BOOST_TEST(t.reader->settled());
  t.say(up, pipeline("a") + pg('S') + pipeline("b") + pg('S'));
  t.say(down, pipeline_answer("A") + pg_ready());
  BOOST_TEST(!t.reader->settled());
  t.say(down, pipeline_answer("B") + pg_ready());
  BOOST_TEST(t.reader->settled());
}

BOOST_AUTO_TEST_CASE(a_flush_is_answered_without_ready) {
  talk t;
  t.start();
  t.say(up, pipeline("a"));
  t.say(down, pipeline_answer("A"));
  BOOST_TEST(!t.reader->settled());  // nobody has asked for it
  t.say(up, pipeline("b") + pg('H'));
  BOOST_TEST(!t.reader->settled());
  t.say(down, pipeline_answer("B"));
  BOOST_TEST(t.reader->settled());
  t.say(up, pipeline("c") + pg('H') + pipeline("skipped") + pg('H'));
  t.say(down, pg('E', "C23505\0\0"s));
  BOOST_TEST(t.reader->settled());
  t.say(up, pg('S'));
  BOOST_TEST(!t.reader->settled());
  t.say(down, pg_ready('E'));
  BOOST_TEST(t.reader->settled());
}

BOOST_AUTO_TEST_CASE(an_error_leaves_the_next_sync_to_be_awaited) {
  talk t;
  t.start();
  t.say(up, pipeline("a") + pg('S') + pipeline("b") + pg('S'));
  t.say(down, pg('E', "C23505\0\0"s) + pg_ready());
  BOOST_TEST(!t.reader->settled());
  t.say(down, pipeline_answer("B") + pg_ready());
  BOOST_TEST(t.reader->settled());
}

BOOST_AUTO_TEST_CASE(a_copy_is_awaited_twice) {
  for (bool const extended : {false, true}) {
    talk t;
    t.start();
    t.say(up, extended ? pipeline("copy t from stdin") + pg('S') : pg_query("copy t from stdin"));
    if (extended) t.say(down, pg('1') + pg('2') + pg('n'));
    BOOST_TEST(!t.reader->settled());
    t.say(down, pg('G'));
    BOOST_TEST(t.reader->settled());
    t.say(up, pg('d', "1\n") + pg('c') + (extended ? pg('S') : ""));
    BOOST_TEST(!t.reader->settled());
    t.say(down, pg_done("COPY 1") + pg_ready());
    BOOST_TEST(t.reader->settled());
  }
}

BOOST_AUTO_TEST_CASE(segments_are_settled_by_any_answer) {
  talk t(wire_protocol::segments);
  BOOST_TEST(!t.reader->settled());
  t.say(up, "abc", 2);
  same(t.client.messages, {"~ 2 ", "~ 1 "});
  BOOST_TEST(!t.reader->settled());
  t.say(down, "x");
  BOOST_TEST(t.reader->settled());
}

BOOST_AUTO_TEST_CASE(knows_a_commit) {
  auto const commits = [](direction way, char type, std::string_view text) {
    return is_commit({.way = way, .type = type, .text = text});
  };
  for (auto const* text : {"COMMIT", " commit;", "End", "COMMIT AND CHAIN", "insert into t; commit",
                           "insert into t;\n COMMIT ; "})
    BOOST_TEST(commits(up, 'Q', text), text);
  for (auto const* text : {"", ";", "commitment", "select 'x; commit'", "ROLLBACK", "; "})
    BOOST_TEST(!commits(up, 'Q', text), text);
  BOOST_TEST(commits(up, 'E', "COMMIT"));
  BOOST_TEST(!commits(up, 'P', "COMMIT"));
  BOOST_TEST(commits(down, 'C', "COMMIT"));
  BOOST_TEST(!commits(down, 'C', "ROLLBACK"));
}

BOOST_AUTO_TEST_SUITE_END()
