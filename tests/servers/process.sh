# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with `servers`
# SPDX-License-Identifier: BSL-1.0
# The user, root folder, port and processes of the server that `load` chose.

# --- the server's user and root --------------------------------------------------------------

# The tests' servers share one user, so that none of them can touch a server of the system.
find_user() {
  local user=idem-servers
  user_id=$EUID group_id=$(id -g)
  ((EUID == 0)) || return 0
  id "$user" >/dev/null 2>&1 ||
    useradd -r -U -M -d /nonexistent -s /usr/sbin/nologin "$user" 2>/dev/null ||
    id "$user" >/dev/null 2>&1 || fail "cannot create the user $user"
  user_id=$(id -u "$user") group_id=$(id -g "$user")
}

make_root() {
  [[ -n $root ]] || return 0
  ((EUID == 0)) || fail "$name: only root can start it (it runs in a root folder of its own)"
  if [[ ! -d $root ]]; then
    printf '%s: unpacking %s of Debian sid (once)\n' "$name" "${sid_packages[0]}"
    mkdir -p "$own"
    "$here/sid-root" "$root" "${sid_packages[@]}" >"$own/sid-root.log" 2>&1 ||
      fail_with "$name: no root folder" "$own/sid-root.log"
  fi
  printf 'root:x:0:0::/:/bin/sh\nserver:x:%s:%s::/:/bin/sh\n' "$user_id" "$group_id" \
    >"$root/etc/passwd"
  printf 'root:x:0:\nserver:x:%s:\n' "$group_id" >"$root/etc/group"
}

# Sets `prefix`: what runs a command as the server's user, in its root, and with nothing of our
# environment.
find_prefix() {
  prefix=()
  if [[ -n $root ]]; then
    prefix=(chroot "--userspec=$user_id:$group_id" "--groups=$group_id" "$root")
  elif ((EUID == 0)); then
    prefix=(setpriv "--reuid=$user_id" "--regid=$group_id" --clear-groups)
  fi
  prefix+=(/usr/bin/env -i "PATH=$bin:/usr/bin:/bin" "HOME=$inside" LC_ALL=C.UTF-8
    "LOCPATH=$inside/locale:/usr/lib/locale")
}

in_server() {
  (cd / && exec "${prefix[@]}" "$@" 9>&-)
}

make_folder() {
  mkdir -p "$1"
  chown "$user_id:$group_id" "$1"
  chmod "$2" "$1"
}

# --- processes -------------------------------------------------------------------------------

# Processes of the server's user that work in its data folder: they are ours, whatever their name.
processes() {
  find /proc -maxdepth 2 -path '/proc/[0-9]*/cwd' -user "$user_id" -lname "$home/data" \
    2>/dev/null | cut -d / -f 3 || true
}

works_here() {
  [[ $(readlink "/proc/$1/cwd") == "$home/data" ]]
}

# Sets `pid`, if the pid file names a living process that works in the server's data folder.
find_running() {
  pid=$(head -n 1 "$home/$pid_file" 2>/dev/null) || return 1
  [[ $pid =~ ^[0-9]+$ ]] && works_here "$pid"
}

answers() {
  find_running && "${kind}_answers" >/dev/null 2>&1
}

# await_gone <seconds> [<process>]. One that is about to end belongs to root for the kernel, and
# still has its files.
await_gone() {
  local end=$((SECONDS + $1))
  while [[ -n $(processes) ]] || { (($# > 1)) && works_here "$2"; }; do
    ((SECONDS < end)) || return 1
    sleep 0.1
  done
}

stop() {
  find_running || return 0
  # A member of a cluster that has lost the majority would wait for the others.
  [[ -z $cluster ]] || answers || stop_signal=KILL
  kill -s "$stop_signal" "$pid"
  await_gone 30 "$pid" || fail "$name: still there 30 s after $stop_signal to process $pid; see $own/log"
}

port_is_free() {
  ! grep -qsiE ":$(printf '%04X' "$1") [0-9A-F]+:[0-9A-F]{4} 0A" /proc/net/tcp /proc/net/tcp6
}

# ports_are_free <first>: as many as the server needs
ports_are_free() {
  local at
  for ((at = $1; at < $1 + port_count; at++)); do
    port_is_free "$at" || return
  done
}

# Below the ports that the kernel gives to clients. Each state folder begins at another place, so
# that clones seldom meet; when they do, the later one moves on.
choose_port() {
  local from=$((16#$(digest "$own" | cut -c 1-6))) at
  for ((at = 0; at < 1000; at++)); do
    port=$((20000 + (from + at) % 10000))
    ! ports_are_free "$port" || return 0
  done
  fail "$name: no free port between 20000 and 29999"
}

# Until the server answers; 1 if it ends before, or when too much time has passed.
await_answer() {
  local process=$1 end=$((SECONDS + wait_seconds))
  until answers; do
    kill -0 "$process" 2>/dev/null || return 1
    ((SECONDS < end)) || return 1
    sleep 0.1
  done
}

# Starts once. When it returns 1, nothing runs.
start_once() {
  local process
  printf '%s\n' "$port" >"$own/port"
  "${kind}_configure" "$durable"
  [[ ! -f $own/log ]] || mv "$own/log" "$own/log.1"
  "${kind}_command"
  (cd / && exec setsid "${prefix[@]}" "${server_command[@]}" 9>&-) >"$own/log" 2>&1 </dev/null &
  process=$!
  disown
  ! await_answer "$process" || return 0
  kill -s "$stop_signal" "$process" 2>/dev/null || true
  await_gone 10 "$process" || kill -s KILL "$process" 2>/dev/null || true
  return 1
}

start() {
  local try
  await_gone 30 || fail "$name: processes of a crashed server do not end: $(processes | xargs)"
  # As long as nobody has reaped a killed server, a new one takes it for alive.
  rm -f "$home/$pid_file"
  find "$home/run" -mindepth 1 -delete
  if [[ -z $port ]] || ! ports_are_free "$port"; then choose_port; fi
  for try in 1 2 3; do
    ! start_once || return 0
    # Another server may have taken the port since it was looked at.
    if ((try == 3)) || ! grep -q 'Address already in use' "$own/log"; then break; fi
    choose_port
  done
  fail_with "$name: did not start" "$own/log"
}
