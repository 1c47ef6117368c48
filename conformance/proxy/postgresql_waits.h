// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <deque>

namespace idem::inline v1::conformance {

/// Knows from the message types of one session whether the server still owes the client an
/// answer. https://www.postgresql.org/docs/current/protocol-flow.html
class postgresql_waits {
 public:
  void client_sent(char type);
  void server_sent(char type);
  bool started() const noexcept { return started_; }
  bool settled() const noexcept;

 private:
  // What ends with a ReadyForQuery, and how many messages had been sent before it.
  struct sync_point {
    std::uint64_t asked;
    bool query;
  };
  void ready();
  void failed();
  void copy_begins();

  std::deque<sync_point> syncs_;
  std::uint64_t asked_ = 0;  // messages of the extended protocol that get one answer each
  std::uint64_t answered_ = 0;
  bool started_ = false;   // the first ReadyForQuery was seen
  bool asks_all_ = false;  // the client's last message makes the server send what it has
  bool skipping_ = false;  // after an error the server answers nothing before the next Sync
  bool copying_in_ = false;
};

}  // namespace idem::inline v1::conformance
