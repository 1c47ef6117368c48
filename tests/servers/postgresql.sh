# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with `servers`
# SPDX-License-Identifier: BSL-1.0
# PostgreSQL for `servers`. Roles: idem, which owns the databases and may watch and end other
# sessions, and the superuser postgres. Databases: idem, idem_latin1 (another encoding) and idem_de
# (another language of the messages).

postgresql_define() {
  local version=${name#pg}
  # Its own binaries, never those that PATH finds.
  bin=/usr/lib/postgresql/$version/bin
  case $version in
    15) packages=(postgresql-15 locales) ;;
    18) sid_packages=(postgresql-18 locales gzip) ;;
  esac
  variable=IDEM_TEST_POSTGRESQL_$version
  pid_file=data/postmaster.pid
  # https://www.postgresql.org/docs/15/server-shutdown.html: fast, sessions are ended
  stop_signal=INT
}

postgresql_check() {
  [[ -n $root || -x $bin/postgres ]] ||
    fail "$name: no $bin/postgres; install the Debian package ${packages[0]}"
}

# A German locale for the server alone: the system's locales stay as they are.
make_german_locale() {
  make_folder "$home/locale" 755
  in_server localedef -i de_DE -f UTF-8 "$inside/locale/de_DE.utf8"
}

postgresql_make() {
  make_german_locale || return
  make_folder "$home/run" 700
  make_folder "$home/data" 700
  in_server "$bin/initdb" -D "$inside/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync
}

# The socket is for this script: only the server's user and root can reach it. A path of a socket
# has at most 107 bytes: https://man7.org/linux/man-pages/man7/unix.7.html
postgresql_configure() {
  local socket=$inside/run/.s.PGSQL.$port sync=off
  ((${#socket} <= 107)) || fail "$name: too long for a socket: $socket; set IDEM_SERVERS_DIR"
  if (($1)); then
    sync=on
    # What was written without fsync reaches the disk before anything is called durable.
    in_server "$bin/initdb" --sync-only -D "$inside/data" >"$own/make.log" 2>&1 ||
      fail "$name: could not write its data to disk; see $own/make.log"
  fi
  cat >"$home/data/pg_hba.conf" <<TEXT
local all all trust
host all all 127.0.0.1/32 scram-sha-256
TEXT
  cat >"$home/data/postgresql.conf" <<TEXT
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = '$inside/run'
max_connections = 200
max_prepared_transactions = 0
shared_buffers = 128MB
fsync = $sync
full_page_writes = $sync
synchronous_commit = on
deadlock_timeout = 200ms
lc_messages = 'C.UTF-8'
timezone = 'UTC'
log_timezone = 'UTC'
TEXT
}

postgresql_command() {
  server_command=("$bin/postgres" -D "$inside/data")
}

# sql <database>: runs what it reads, as superuser.
sql() {
  in_server "$bin/psql" -qXAt -v ON_ERROR_STOP=1 -h "$inside/run" -p "$port" -U postgres \
    -d "dbname=$1 connect_timeout=5"
}

postgresql_answers() {
  sql postgres <<<'SELECT 1'
}

postgresql_is_durable() {
  [[ $(sql postgres <<<'SHOW fsync') == on ]]
}

postgresql_started() {
  local password
  [[ ! -f $own/made ]] || return 0
  password=$(<"$own/password")
  sql postgres >>"$own/make.log" 2>&1 <<TEXT || fail "$name: no databases; see $own/make.log"
SET password_encryption = 'scram-sha-256';
ALTER ROLE postgres PASSWORD '$password';
CREATE ROLE idem LOGIN CREATEDB PASSWORD '$password';
GRANT pg_signal_backend, pg_monitor TO idem;
GRANT SET ON PARAMETER lc_messages TO idem;
CREATE DATABASE idem OWNER idem;
CREATE DATABASE idem_de OWNER idem;
ALTER DATABASE idem_de SET lc_messages = 'de_DE.UTF-8';
CREATE DATABASE idem_latin1 OWNER idem TEMPLATE template0 ENCODING LATIN1
  LC_COLLATE 'C' LC_CTYPE 'C';
TEXT
  # Some slim images leave the translations out of every package.
  [[ $(sql idem_de <<<'SELECT 1/0' 2>&1 || true) == *'Division durch Null'* ]] || printf \
    'servers: %s: no German messages, the translations of PostgreSQL are missing here\n' "$name" >&2
}

postgresql_urls() {
  local password at=127.0.0.1:$port
  password=$(<"$own/password")
  printf '%s\n' "main postgresql://idem:$password@$at/idem" \
    "superuser postgresql://postgres:$password@$at/idem" \
    "latin1 postgresql://idem:$password@$at/idem_latin1" \
    "german postgresql://idem:$password@$at/idem_de"
}
