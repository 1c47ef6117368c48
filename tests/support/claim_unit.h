// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <idem/store.h>

#include "tests/support/run_scenarios.h"
#include "tests/support/scripted_session.h"

namespace idem_test {

/// Who begins and commits the transaction that is claimed in.
enum class unit_owner : std::uint8_t {
  idem,    ///< `idem::transaction::begin` and `commit`
  caller,  ///< adopted: the caller's own calls on the session
};

/// How one unit of work of a caller ended, as it was told.
struct unit_end {
  std::optional<idem::error> failure;       ///< the first one of begin, claim or complete
  std::optional<idem::error> commit_error;  ///< COMMIT was refused or failed
  bool committed = false;                   ///< COMMIT succeeded
  bool replayed = false;
  bool mismatched = false;
  bool in_progress = false;
  std::vector<idem::attempt_id> claimed;
  std::vector<idem::attempt_id> completed;
  std::vector<std::string> complaints;
};

/// A caller's transaction on one session of its own, and what it does in it. A step that
/// fails is kept in `end` and returns false or nothing.
class claim_unit {
 public:
  claim_unit(scripted_world&, idem::store const&, unit_owner);

  bool begin();
  std::optional<idem::claim_token> claim(idem::request const&);
  bool complete(idem::claim_token, idem::response const& = the_response());
  bool write(char const* what = mine);
  void commit();
  void roll_back();

  scripted_session session;
  std::optional<idem::transaction> tx;
  unit_end end;

  bool failed() const { return end.failure.has_value(); }
  void expect(bool holds, std::string what) {
    if (!holds) end.complaints.push_back(std::move(what));
  }

 private:
  void fail(idem::error const&);

  idem::store const& store_;
  unit_owner owner_;
};

}  // namespace idem_test
