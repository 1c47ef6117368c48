// SPDX-License-Identifier: BSL-1.0
#include "conformance/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

extern char** environ;

namespace idem::inline v1::conformance {

namespace {

std::unexpected<error> fail(errc what, std::string message) {
  error e;
  e.what = what;
  e.message = std::move(message);
  return std::unexpected(std::move(e));
}

}  // namespace

child_process::child_process(int pid, int read_end) : pid_(pid), read_end_(read_end) {}

child_process::child_process(child_process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), read_end_(std::exchange(other.read_end_, -1)) {}

child_process::~child_process() {
  if (read_end_ >= 0) close(read_end_);
  int status = 0;
  while (pid_ > 0 && waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

result<child_process> child_process::start(std::vector<std::string> const& command,
                                           std::string const& setting) {
  if (command.empty()) return fail(errc::configuration, "no worker command is set");
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(errc::resource_exhausted, "no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<char*> arguments;
  for (auto const& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment{const_cast<char*>(setting.c_str())};  // the first of a name wins
  for (char** one = environ; *one != nullptr; ++one) environment.push_back(*one);
  environment.push_back(nullptr);
  pid_t pid = -1;
  int const failure =
      posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failure == 0) return child_process(pid, ends[0]);
  close(ends[0]);
  return fail(errc::configuration, "the worker command cannot be started: " + command[0]);
}

// Until it has ended: the pipe's other end is its own.
std::string child_process::read_all(std::function<bool()> const& dies) {
  std::string text;
  std::array<char, 4096> buffer{};
  bool lives = static_cast<bool>(dies);
  for (;;) {
    pollfd one{read_end_, POLLIN, 0};
    if (lives && poll(&one, 1, 0) == 0) {
      if (!dies()) continue;
      lives = false;
      kill(pid_, SIGKILL);
    }
    ssize_t const got = read(read_end_, buffer.data(), buffer.size());
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) break;
  }
  close(std::exchange(read_end_, -1));
  return text;
}

result<std::string> child_process::output() {
  auto ended = end({});
  if (!ended) return std::unexpected(std::move(ended).error());
  if (!ended->killed) return std::move(ended->output);
  return fail(errc::statement_failed, "a worker process was killed: " + ended->output);
}

result<child_end> child_process::end(std::function<bool()> const& dies) {
  auto text = read_all(dies);
  int status = 0;
  pid_t const pid = std::exchange(pid_, -1);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  bool const killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
    return child_end{killed, std::move(text)};
  return fail(errc::statement_failed, "a worker process failed: " + text);
}

}  // namespace idem::inline v1::conformance
