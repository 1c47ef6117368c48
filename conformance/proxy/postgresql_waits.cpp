// SPDX-License-Identifier: BSL-1.0
#include "conformance/proxy/postgresql_waits.h"

namespace idem::inline v1::conformance {

void postgresql_waits::client_sent(char type) {
  copying_in_ = false;
  switch (type) {
    case 'Q':  // Query
    case 'F':  // FunctionCall
    case 'S':  // Sync
      syncs_.push_back({.asked = asked_, .query = type != 'S'});
      asks_all_ = true;
      break;
    case 'H':  // Flush
      asks_all_ = true;
      break;
    case 'P':  // Parse
    case 'B':  // Bind
    case 'D':  // Describe
    case 'E':  // Execute
    case 'C':  // Close
      ++asked_;
      if (skipping_) answered_ = asked_;
      asks_all_ = false;
      break;
    default:
      break;
  }
}

void postgresql_waits::server_sent(char type) {
  switch (type) {
    case 'Z':
      ready();
      break;
    case 'E':
      failed();
      break;
    case 'G':  // CopyInResponse
    case 'W':  // CopyBothResponse
      copy_begins();
      break;
    case '1':  // ParseComplete
    case '2':  // BindComplete
    case '3':  // CloseComplete
    case 'T':  // RowDescription
    case 'n':  // NoData
    case 'C':  // CommandComplete
    case 'I':  // EmptyQueryResponse
    case 's':  // PortalSuspended
      // Those of a Query are too many; its ReadyForQuery puts the number right.
      if (answered_ < asked_) ++answered_;
      break;
    default:
      break;
  }
}

bool postgresql_waits::settled() const noexcept {
  if (!started_) return false;
  return copying_in_ || (syncs_.empty() && asks_all_ && answered_ == asked_);
}

void postgresql_waits::ready() {
  if (!started_) {
    started_ = true;
    asks_all_ = true;
    return;
  }
  skipping_ = false;
  if (syncs_.empty()) return;
  answered_ = syncs_.front().asked;
  syncs_.pop_front();
}

void postgresql_waits::failed() {
  if (!syncs_.empty() && syncs_.front().query) return;
  skipping_ = true;
  answered_ = asked_;
}

// While it waits for the data the server ignores a Sync that came with the Execute; the client
// sends another behind the data.
void postgresql_waits::copy_begins() {
  if (!syncs_.empty() && !syncs_.front().query) syncs_.clear();
  copying_in_ = true;
}

}  // namespace idem::inline v1::conformance
