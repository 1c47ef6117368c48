// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <idem/dialect.h>

namespace idem_test {

/// What one simulated engine is like.
struct flavour {
  std::string name;
  idem::traits facts;
  bool guards_commit = false;         ///< the handle cannot commit behind idem's back
  bool lock_at_begin = false;         ///< one writer: begin waits, and for any transaction
  bool savepoint_names_move = false;  ///< a second savepoint of one name replaces the first
  bool empty_is_null = false;         ///< an empty binary value reads back as NULL
};

/// The engines idem is written for, each once.
std::vector<flavour> const& engine_flavours();

/// Those, and each of them with one trait changed, without the combinations that no engine
/// can have.
std::vector<flavour> const& all_flavours();

using key = std::tuple<std::string, std::string, std::string>;

/// A row of the record table, in the columns' own types.
struct stored {
  std::string attempt;
  std::int64_t version = 0;
  std::string fingerprint;
  std::optional<std::string> canonical;
  std::int64_t state = 0;
  std::int64_t status = 0;
  std::optional<std::string> headers;
  std::optional<std::string> body;
  bool has_body = false;
  std::int64_t created_at = 0;
  std::optional<std::int64_t> completed_at;
  std::optional<std::int64_t> expires_at;
  std::uint64_t written_by = 0;  ///< the transaction that claimed
  friend bool operator==(stored const&, stored const&) = default;
};

/// What becomes of an abandoned transaction while another one waits for it.
enum class waited_for : std::uint8_t { lands, dies, holds };

/// The truth: two tables, open transactions, a lock for each key. One thread; waiting is
/// simulated by what the transaction waited for does.
class scripted_server {
 public:
  using transaction_id = std::uint64_t;
  enum class claimed : std::uint8_t { inserted, taken, timed_out, killed };

  explicit scripted_server(flavour f) : flavour_(std::move(f)) {}

  flavour const& kind() const noexcept { return flavour_; }

  // What sessions do.
  std::optional<transaction_id> begin();  ///< nothing: timed out waiting for the one writer
  bool is_open(transaction_id) const;
  bool was_killed(transaction_id) const;  ///< by certification; it is still to be told
  claimed claim(transaction_id, key const&, stored);
  std::optional<stored> find(std::optional<transaction_id>, key const&) const;
  bool save(transaction_id, key const&, stored const& response);
  bool discard(std::optional<transaction_id>, key const&, std::string const& attempt);
  void write_effect(std::optional<transaction_id>, std::string const& what);
  void mark(transaction_id, std::string const& savepoint);
  bool back_to(transaction_id, std::string const& savepoint);
  bool release(transaction_id, std::string const& savepoint);
  /// False where certification refuses it: then it is rolled back.
  bool commit(transaction_id);
  void rollback(transaction_id);

  // What becomes of a transaction whose connection is gone.
  /// Its COMMIT is on the way and arrives at `step`, if it is not waited for before.
  void commit_later(transaction_id, std::optional<int> step, waited_for);
  /// Nobody will commit it; the server has not noticed yet.
  void linger(transaction_id, waited_for);

  void arrive(int step);  ///< what is on the way and due
  void settle_down();     ///< everything abandoned arrives or dies

  // The truth, for a test to read and to prepare.
  std::map<key, stored> records;     ///< committed
  std::vector<std::string> effects;  ///< committed
  bool records_hidden = false;       ///< they conflict, but no read returns them
  std::int64_t clock_us = 1'700'000'000'000'000;
  int savepoints_moved = 0;
  /// A transaction that nobody listens to any more could still commit a record.
  bool commit_on_the_way() const;
  bool anything_open() const { return !open_.empty(); }

 private:
  struct writes {
    std::map<key, std::optional<stored>> records;
    std::vector<std::string> effects;
  };
  struct open_transaction {
    writes own;
    std::vector<std::pair<std::string, writes>> savepoints;
    std::set<key> locks;
    bool abandoned = false;
    bool commit_sent = false;
    bool killed = false;  ///< by certification; its owner learns it at its next word
    std::optional<int> arrives_at;
    waited_for when_waited = waited_for::dies;
  };
  using place = std::map<transaction_id, open_transaction>::iterator;

  std::optional<stored> see(open_transaction const*, key const&) const;
  bool wait_out(transaction_id holder);
  void land(transaction_id);
  std::vector<std::pair<std::string, writes>>::iterator savepoint_of(place, std::string const&);

  flavour flavour_;
  std::map<transaction_id, open_transaction> open_;
  transaction_id next_ = 1;
};

}  // namespace idem_test
