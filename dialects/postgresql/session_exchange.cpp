// SPDX-License-Identifier: BSL-1.0
#include "dialects/postgresql/session_exchange.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <future>
#include <thread>
#include <utility>

#include "dialects/postgresql/placeholders.h"

namespace idem::inline v1::postgresql::detail {

namespace {

using std::chrono::steady_clock;

// How long a server may take to answer a cancel, or a COMMIT after its deadline.
constexpr std::chrono::seconds grace{2};

constexpr int text_answer = 0;
constexpr int binary_answer = 1;

// Wakes a poll when a stop is requested.
class stop_alarm {
 public:
  explicit stop_alarm(std::stop_token const& token)
      : file_{token.stop_possible() ? ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1},
        callback_(token, ring{file_.number}) {}
  stop_alarm(stop_alarm const&) = delete;
  stop_alarm& operator=(stop_alarm const&) = delete;
  int file() const noexcept { return file_.number; }

 private:
  struct ring {
    int file;
    void operator()() const noexcept {
      if (file >= 0) (void)::eventfd_write(file, 1);
    }
  };
  struct event_file {
    int number;
    ~event_file() {
      if (number >= 0) ::close(number);
    }
  };
  event_file file_;                    // closed after the callback is gone
  std::stop_callback<ring> callback_;  // its destructor waits for a call that runs
};

int milliseconds_until(steady_clock::time_point until) {
  if (until == steady_clock::time_point::max()) return -1;
  auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
  constexpr std::int64_t most = 60'000;  // the caller looks again
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, most));
}

// libpq pushes what it has at each Sync. Held together, several parts go out as one.
// https://man7.org/linux/man-pages/man7/tcp.7.html (TCP_CORK); not every socket has it.
class hold_back {
 public:
  explicit hold_back(PGconn* conn, bool wanted) : socket_(wanted ? PQsocket(conn) : -1) { set(1); }
  hold_back(hold_back const&) = delete;
  hold_back& operator=(hold_back const&) = delete;
  ~hold_back() { set(0); }

 private:
  void set(int on) const noexcept {
    if (socket_ >= 0) (void)::setsockopt(socket_, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
  }
  int socket_;
};

// Another connection and a blocking call, so on a thread of its own: where the network swallows
// everything it takes minutes. What is given is ready when the server has passed the cancel on.
// https://www.postgresql.org/docs/15/libpq-cancel.html
std::future<void> send_cancel(PGconn* conn) {
  auto* request = PQgetCancel(conn);
  if (request == nullptr) return {};
  try {
    std::promise<void> passed_on;
    auto out = passed_on.get_future();
    std::thread([request, passed_on = std::move(passed_on)]() mutable {
      std::array<char, 256> ignored{};
      PQcancel(request, ignored.data(), static_cast<int>(ignored.size()));
      PQfreeCancel(request);
      passed_on.set_value();
    }).detach();
    return out;
  } catch (...) {  // no thread to be had: the answer is waited for, and then given up
    PQfreeCancel(request);
    return {};
  }
}

}  // namespace

bool wait_for_socket(PGconn* conn, bool for_writing, bool for_reading,
                     steady_clock::time_point until, std::stop_token const& stop) {
  stop_alarm const alarm(stop);
  for (;;) {
    if (stop.stop_requested()) return false;
    auto const events =
        static_cast<short>((for_reading ? POLLIN : 0) | (for_writing ? POLLOUT : 0));
    std::array<pollfd, 2> files{{{PQsocket(conn), events, 0}, {alarm.file(), POLLIN, 0}}};
    int const ready = ::poll(files.data(), files.size(), milliseconds_until(until));
    if (files[0].revents != 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // the next call on the socket says why
    if (steady_clock::now() >= until) return false;
  }
}

// The caller's deadline and stop token, and what becomes of them.
class exchange::patience {
 public:
  patience(exchange& owner, call_limits const& limits, impatience how)
      : owner_(owner), limits_(limits), how_(how), until_(limits.deadline) {
    if (how == impatience::leave) {
      if (until_ != steady_clock::time_point::max())
        until_ = std::max(until_, steady_clock::now()) + grace;
    }
  }

  // False: no answer is to be expected any more.
  bool wait(bool for_writing) {
    if (wait_for_socket(owner_.conn_, for_writing, true, until_, limits_.stop)) return true;
    if (how_ == impatience::leave && limits_.stop.stop_requested()) {
      limits_.stop = {};
      until_ = std::min(until_, steady_clock::now() + grace);
      return true;
    }
    if (how_ == impatience::leave || tried_) return false;
    tried_ = true;
    owner_.cancelled_ = limits_.stop.stop_requested() ? errc::cancelled : errc::deadline_exceeded;
    limits_.stop = {};
    until_ = steady_clock::now() + grace;
    owner_.cancelling_ = send_cancel(owner_.conn_);
    return true;
  }
  bool ended() const noexcept { return ended_; }
  bool tried() const noexcept { return tried_; }
  void end() noexcept { ended_ = true; }

 private:
  exchange& owner_;
  call_limits limits_;
  impatience how_;
  steady_clock::time_point until_;
  bool ended_ = false;
  bool tried_ = false;
};

bool exchange::leave_pipeline() noexcept {
  steps_.clear();
  bool const left = PQexitPipelineMode(conn_) == 1;
  if (!was_nonblocking_) PQsetnonblocking(conn_, 0);
  return left;
}

result<> exchange::send(std::span<command const> all) {
  // Everything that can be refused is refused before anything is sent.
  std::vector<outgoing> ready;
  ready.reserve(all.size());
  for (auto const& one : all) {
    auto made = make_ready(one);
    if (!made) return std::unexpected(std::move(made).error());
    ready.push_back(std::move(*made));
  }
  was_nonblocking_ = PQisnonblocking(conn_) == 1;
  if (PQenterPipelineMode(conn_) != 1) return std::unexpected(lost(conn_));
  // Blocking, both sides could wait for the other to read.
  PQsetnonblocking(conn_, 1);
  commands_ = all.size();
  parts_ = 0;
  steps_.clear();
  hold_back const together(conn_, std::ranges::any_of(all, &command::ends_part));
  bool sent = true;
  for (std::size_t i = 0; i < ready.size() && sent; ++i)
    sent = post(ready[i], i) && (!all[i].ends_part || post_sync());
  if (sent && post_sync()) return {};
  leave_pipeline();
  return std::unexpected(lost(conn_));
}

result<exchange::outgoing> exchange::make_ready(command const& c) const {
  outgoing out;
  if (c.sql.contains('\0'))
    return std::unexpected(refusal_of(errc::invalid_argument,
                                      "a statement must not hold NUL: bind it as a parameter"));
  if (auto fits = out.bound.bind(c.parameters); !fits)
    return std::unexpected(std::move(fits).error());
  auto* const memory = connection_memory::of(conn_);
  bool const remembers = prepared_ && memory != nullptr && !c.once;
  if (remembers) out.statement = memory->find(c.sql, out.bound.bytes(), out.bound.count());
  if (out.statement != nullptr && out.statement->confirmed) return out;
  auto numbered = number_placeholders(c.sql);
  if (numbered.placeholders > 0 && numbered.placeholders != c.parameters.size())
    return std::unexpected(refusal_of(
        errc::invalid_argument, "the statement has " + std::to_string(numbered.placeholders) +
                                    " placeholders and " + std::to_string(c.parameters.size()) +
                                    " parameters"));
  out.sql = std::move(numbered.sql);
  if (!c.ours && memory != nullptr) memory->note_text(c.sql);
  if (remembers && out.statement == nullptr)
    out.statement = memory->add(c.sql, out.bound.bytes(), out.bound.count());
  return out;
}

bool exchange::post_sync() {
  steps_.push_back({std::nullopt, nullptr, false, false, parts_++});
  return PQpipelineSync(conn_) == 1;
}

bool exchange::prepares_already(prepared_statement const* statement) const noexcept {
  return std::ranges::any_of(
      steps_, [statement](step const& s) { return s.prepares && s.statement == statement; });
}

bool exchange::post(outgoing const& o, std::size_t place) {
  auto const& b = o.bound;
  auto* const statement = o.statement;
  if (statement == nullptr) {
    steps_.push_back({place, nullptr, false, false, parts_});
    return PQsendQueryParams(conn_, o.sql.c_str(), b.count(), b.types(), b.values(), b.lengths(),
                             b.formats(), text_answer) == 1;
  }
  bool const known = statement->confirmed;
  if (!known && !prepares_already(statement)) {
    steps_.push_back({place, statement, true, false, parts_});
    if (PQsendPrepare(conn_, statement->name.c_str(), o.sql.c_str(), b.count(), b.types()) != 1)
      return false;
  }
  steps_.push_back({place, statement, false, known, parts_});
  return PQsendQueryPrepared(conn_, statement->name.c_str(), b.count(), b.values(), b.lengths(),
                             b.formats(),
                             statement->binary_answer ? binary_answer : text_answer) == 1;
}

flush_answer exchange::receive(call_limits const& limits, impatience how) {
  flush_answer out;
  out.results.resize(commands_);
  patience waits(*this, limits, how);
  for (auto const& s : steps_) {
    out.complete = false;
    if (waits.ended() || PQstatus(conn_) == CONNECTION_BAD) break;
    if (s.command)
      read_step(s, out, waits);
    else if (out.complete = read_sync(waits); !out.complete)
      break;
  }
  out.complete = leave_pipeline() && out.complete;
  if (!out.complete && !out.why) out.why = lost(conn_);
  out.cancelled = waits.tried();
  if (!out.cancelled) return out;
  if (out.why && (out.why->native.sqlstate == "57014" || !out.complete)) tell_who_ended(*out.why);
  if (out.later && out.later->native.sqlstate == "57014") tell_who_ended(*out.later);
  return out;
}

bool exchange::await_cancel() {
  return cancelling_.valid() && cancelling_.wait_for(grace) == std::future_status::ready;
}

void exchange::tell_who_ended(error& e) const {
  e.what = *cancelled_;
  e.advice = advice::never;
  e.message = e.what == errc::cancelled ? "stopped by the caller" : "the deadline has passed";
}

// The one result that no null follows.
bool exchange::read_sync(patience& waits) {
  auto const sync = next_result(waits);
  return sync && PQresultStatus(sync.get()) == PGRES_PIPELINE_SYNC;
}

// A command's results end with a null.
void exchange::read_step(step const& s, flush_answer& out, patience& waits) {
  while (auto got = next_result(waits)) {
    auto const status = PQresultStatus(got.get());
    bool const copies = status == PGRES_COPY_IN || status == PGRES_COPY_OUT;
    note(s, std::move(got), out);
    if (copies) waits.end();  // libpq cannot leave it in a pipeline: the connection is given up
    if (waits.ended()) return;
  }
}

void exchange::note(step const& s, result_ptr got, flush_answer& out) {
  switch (PQresultStatus(got.get())) {
    case PGRES_PIPELINE_ABORTED:
      return;
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY:
      if (s.prepares) {
        s.statement->confirmed = true;
        return;
      }
      if (s.statement != nullptr && has_binary_columns(got.get()))
        s.statement->binary_answer = true;
      out.results[*s.command] = std::move(got);
      return;
    case PGRES_COPY_IN:
    case PGRES_COPY_OUT:
      if (out.why) return;
      out.failed = s.command;
      out.why = refusal_of(errc::unsupported,
                           "COPY cannot be run as a statement: use the connection's handle");
      out.why->advice = advice::never;
      return;
    default:
      break;
  }
  if (out.why) {
    if (s.part > out.part && !out.later) out.later = error_of(got.get());
    return;
  }
  out.failed = s.command;
  out.part = s.part;
  out.why = error_of(got.get());
  out.fatal = ends_session(got.get());
  out.servers = is_the_servers(got.get());
  out.contexts = context_lines(got.get());
  auto const state = sqlstate_of(got.get());
  bool const taken = state == "42P05";
  out.stale = has_lost_names(state) && (taken ? s.prepares : s.known);
}

result_ptr exchange::next_result(patience& waits) {
  for (;;) {
    int const unsent = PQflush(conn_);
    if (PQisBusy(conn_) == 0 && unsent <= 0) break;
    if (!waits.wait(unsent == 1)) {
      waits.end();
      return nullptr;
    }
    if (PQconsumeInput(conn_) != 1) break;  // PQgetResult tells
  }
  return result_ptr(PQgetResult(conn_));
}

}  // namespace idem::inline v1::postgresql::detail
