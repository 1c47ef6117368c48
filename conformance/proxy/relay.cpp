// SPDX-License-Identifier: BSL-1.0
#include "conformance/proxy/relay.h"

#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "conformance/proxy/connection.h"

namespace idem::inline v1::conformance {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

std::unexpected<error> failure(errc what, std::string message) {
  return std::unexpected(error{.what = what,
                               .phase = phase::connect,
                               .advice = advice::never,
                               .message = std::move(message)});
}

}  // namespace

class relay::machine {
 public:
  machine(std::vector<tcp::endpoint> targets, wire_protocol protocol)
      : targets_(std::move(targets)),
        protocol_(protocol),
        owner_{.notes = notes_,
               .fault_falls = [this] { fault_falls(); },
               .fault_fell = [this] { fault_fell(); },
               .over = [this](std::size_t number) { connections_.erase(number); }} {}
  machine(machine const&) = delete;
  machine& operator=(machine const&) = delete;
  ~machine();

  error_code reserve_port();
  error_code listen();
  void run() {
    thread_ = std::thread([this] { io_.run(); });
  }

  /// Runs it on the relay's thread and returns what it returns.
  template <class F>
  auto on_thread(F f) {
    std::packaged_task<decltype(f())()> task(std::move(f));
    auto done = task.get_future();
    asio::post(io_, std::move(task));
    return done.get();
  }

  void arm(std::optional<fault_plan> plan);
  bool await_fired(std::chrono::milliseconds patience);
  void release();
  void stop_listening();
  journal& notes() noexcept { return notes_; }
  std::size_t accepted() const noexcept { return accepted_; }
  std::uint16_t port() const noexcept { return port_; }

 private:
  void accept();
  void fault_falls();
  void fault_fell();
  void close_all();

  std::vector<tcp::endpoint> targets_;
  wire_protocol protocol_;
  journal notes_;
  connection_owner owner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool fired_ = false;  // as in notes_, for those who wait
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  // Keeps the port while nobody listens on it: bound, and never listening.
  tcp::acceptor reserved_{io_};
  tcp::acceptor acceptor_{io_};
  std::uint16_t port_ = 0;
  std::map<std::size_t, std::shared_ptr<connection>> connections_;
  std::size_t accepted_ = 0;
  std::size_t closings_ = 0;  // how often the port was closed
  std::thread thread_;
};

relay::machine::~machine() {
  if (!thread_.joinable()) return;
  on_thread([this] { close_all(); });
  work_.reset();
  thread_.join();
}

void relay::machine::close_all() {
  stop_listening();
  for (auto const& [number, open] : std::exchange(connections_, {})) open->close();
}

error_code relay::machine::reserve_port() {
  error_code failed;
  tcp::endpoint const any(asio::ip::address_v4::loopback(), 0);
  if (reserved_.open(any.protocol(), failed)) return failed;
  if (reserved_.set_option(asio::socket_base::reuse_address(true), failed)) return failed;
  if (reserved_.bind(any, failed)) return failed;
  port_ = reserved_.local_endpoint(failed).port();
  return failed;
}

error_code relay::machine::listen() {
  error_code failed;
  if (acceptor_.is_open()) return failed;
  tcp::endpoint const here(asio::ip::address_v4::loopback(), port_);
  acceptor_.open(here.protocol(), failed);
  if (!failed) acceptor_.set_option(asio::socket_base::reuse_address(true), failed);
  if (!failed) acceptor_.bind(here, failed);
  if (!failed) acceptor_.listen(asio::socket_base::max_listen_connections, failed);
  if (failed) {
    stop_listening();
  } else {
    accept();
  }
  return failed;
}

void relay::machine::stop_listening() {
  error_code ignored;
  acceptor_.close(ignored);
  ++closings_;
}

void relay::machine::accept() {
  acceptor_.async_accept([this, closings = closings_](error_code const& failed,
                                                      tcp::socket client) {
    if (closings != closings_) return;  // the port was closed meanwhile, and perhaps opened again
    if (failed && failed != asio::error::connection_aborted) {
      notes_.note({.connection = accepted_, .action = relay_action::not_accepted});
      return stop_listening();
    }
    if (!failed) {
      auto const number = accepted_++;
      notes_.count_connection(number);
      auto const made = std::make_shared<connection>(number, protocol_, std::move(client), owner_);
      connections_[number] = made;
      made->open(targets_);
    }
    accept();
  });
}

void relay::machine::fault_falls() {
  if (notes_.plan().refuse_afterwards) stop_listening();
}

void relay::machine::fault_fell() {
  std::scoped_lock const lock(mutex_);
  fired_ = true;
  changed_.notify_all();
}

void relay::machine::arm(std::optional<fault_plan> plan) {
  notes_.arm(std::move(plan));
  std::scoped_lock const lock(mutex_);
  fired_ = false;
}

bool relay::machine::await_fired(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return fired_; });
}

void relay::machine::release() {
  auto const open = connections_;  // one that ends leaves the original
  for (auto const& [number, each] : open) each->release();
}

// --- the relay -------------------------------------------------------------------------------

relay::relay(std::unique_ptr<machine> made) : machine_(std::move(made)) {}
relay::relay(relay&&) noexcept = default;
relay::~relay() = default;

result<relay> relay::start(relay_target const& target) {
  error_code failed;
  asio::io_context looking;
  auto const found = tcp::resolver(looking).resolve(target.host, std::to_string(target.port),
                                                    tcp::resolver::numeric_service, failed);
  if (failed || found.empty())
    return failure(errc::configuration,
                   "the relay's target has no address (" + failed.message() + "): give a host");
  try {
    auto made = std::make_unique<machine>(std::vector<tcp::endpoint>(found.begin(), found.end()),
                                          target.protocol);
    failed = made->reserve_port();
    if (!failed) failed = made->listen();
    if (failed)
      return failure(errc::resource_exhausted,
                     "the relay cannot listen on 127.0.0.1: " + failed.message());
    made->run();
    return relay(std::move(made));
  } catch (std::system_error const& e) {
    return failure(errc::resource_exhausted,
                   std::string("the relay cannot start its thread: ") + e.what());
  }
}

std::uint16_t relay::port() const noexcept { return machine_->port(); }

void relay::arm(fault_plan plan) {
  machine_->on_thread([&] { machine_->arm(std::move(plan)); });
}

void relay::disarm() {
  machine_->on_thread([&] { machine_->arm({}); });
}

bool relay::fired() {
  return machine_->on_thread([&] { return machine_->notes().fired(); });
}

bool relay::await_fired(std::chrono::milliseconds patience) {
  return machine_->await_fired(patience);
}

std::size_t relay::matched() {
  return machine_->on_thread([&] { return machine_->notes().matched(); });
}

void relay::release() {
  machine_->on_thread([&] { machine_->release(); });
}

void relay::down() {
  machine_->on_thread([&] { machine_->stop_listening(); });
}

result<> relay::up() {
  auto const failed = machine_->on_thread([&] { return machine_->listen(); });
  if (failed)
    return failure(errc::resource_exhausted,
                   "the relay cannot listen on 127.0.0.1 again: " + failed.message());
  return {};
}

relay_counts relay::counts() {
  return machine_->on_thread([&] { return machine_->notes().counts(); });
}

relay_counts relay::counts(std::size_t connection) {
  return machine_->on_thread([&] { return machine_->notes().counts(connection); });
}

void relay::reset_counts() {
  machine_->on_thread([&] { machine_->notes().reset_counts(); });
}

std::size_t relay::accepted() {
  return machine_->on_thread([&] { return machine_->accepted(); });
}

std::vector<relay_event> relay::log() {
  return machine_->on_thread([&] { return machine_->notes().events(); });
}

}  // namespace idem::inline v1::conformance
