# shellcheck shell=bash disable=SC2154 # variables are shared with `selftest`
# SPDX-License-Identifier: BSL-1.0
# What `selftest` asks a MySQL, a MariaDB and a cluster of them.

# mysql_asks <URL> <query> [<option of mariadb>...]
mysql_asks() {
  [[ $1 =~ ^mysql://([^:]+):([^@]+)@([^:]+):([0-9]+)/(.+)$ ]] || return 99
  MYSQL_PWD=${BASH_REMATCH[2]} mariadb --no-defaults "${@:3}" -u "${BASH_REMATCH[1]}" \
    -h "${BASH_REMATCH[3]}" -P "${BASH_REMATCH[4]}" -D "${BASH_REMATCH[5]}" -NBe "$2"
}

mysql_refuses_password() {
  gives 1 'Access denied' mysql_asks "$1" 'SELECT 1'
}

mysql_refuses_connection() {
  gives 1 "Can't connect" mysql_asks "$1" 'SELECT 1'
}

mysql_pid_file() {
  printf 'server.pid'
}

mysql_is_durable() {
  gives 0 $'1\t1' asks one '' 'SELECT @@innodb_flush_log_at_trx_commit, @@sync_binlog'
}

uses_tls() {
  local ca
  ca=$(servers one url --ca "$name")
  gives 0 TLS_ mysql_asks "$(servers one url "$name")" "SHOW STATUS LIKE 'Ssl_cipher'" \
    "--ssl-ca=$ca" --ssl-verify-server-cert || return
  # Another's certificate is no CA of it.
  openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=other -keyout /dev/null \
    -out "$scratch/other.pem" || return
  gives 1 certificate mysql_asks "$(servers one url "$name")" 'SELECT 1' \
    "--ssl-ca=$scratch/other.pem" --ssl-verify-server-cert
}

# What the tests do in their database, and what they may not do outside.
may_do_its_work() {
  asks one '' 'CREATE TABLE a (n INT PRIMARY KEY) ENGINE = InnoDB; CREATE VIEW b AS SELECT n FROM a;
    CREATE PROCEDURE c() INSERT INTO a VALUES (1);
    CREATE FUNCTION d() RETURNS INT DETERMINISTIC RETURN 2;
    CREATE TRIGGER e BEFORE INSERT ON a FOR EACH ROW SET @seen = NEW.n;
    START TRANSACTION; SAVEPOINT f; CALL c(); RELEASE SAVEPOINT f; COMMIT;
    SELECT COUNT(*) FROM information_schema.innodb_trx;' || return
  gives 0 3 asks one '' 'SELECT n + d() FROM b' || return
  asks one '' 'DROP VIEW b; DROP TABLE a; DROP PROCEDURE c; DROP FUNCTION d;
    CREATE DATABASE idem_x; DROP DATABASE idem_x' || return
  gives 1 'Access denied' asks one '' 'CREATE DATABASE other' || return
  gives 1 'command denied' asks one '' 'SELECT * FROM mysql.user'
}

# A session of the same user is seen and ended.
ends_its_other_sessions() {
  local other id='' end=$((SECONDS + 20)) status=0
  asks one '' 'SELECT SLEEP(60), 4711' &
  other=$!
  until [[ -n $id ]]; do
    ((SECONDS < end)) || return 1
    id=$(asks one '' "SELECT id FROM information_schema.processlist WHERE
      info LIKE '%4711%' AND id <> CONNECTION_ID()")
  done
  asks one '' "KILL $id" || return
  wait "$other" || status=$?
  ((status != 0 && SECONDS < end))
}

# An account without a password would open everything.
has_no_open_account() {
  local port
  port=$(<"$scratch/$name-one/$name/port")
  gives 1 'Access denied' mariadb --no-defaults -h 127.0.0.1 -P "$port" -u root -e '' || return
  gives 1 'Access denied' mariadb --no-defaults -u root -S "$(servers one url --socket "$name")" \
    -e '' || return
  gives 1 'Access denied' mariadb --no-defaults -h 127.0.0.1 -P "$port" -u '' -e ''
}

answers_on_its_socket() {
  local url socket
  url=$(servers one url "$name") socket=$(servers one url --socket "$name")
  [[ $url =~ idem:([^@]+)@ ]] || return
  MYSQL_PWD=${BASH_REMATCH[1]} gives 0 idem@ mariadb --no-defaults -u idem -S "$socket" \
    -NBe 'SELECT CURRENT_USER()'
}

mysql_checks() {
  local variable=IDEM_TEST_${name^^}
  check 'main URL' gives 0 $'idem@%\tidem\tutf8mb4' asks one '' \
    'SELECT CURRENT_USER(), DATABASE(), @@character_set_database'
  check 'rights of its account' may_do_its_work
  check 'KILL' ends_its_other_sessions
  check 'no open account' has_no_open_account
  check 'superuser' gives 0 'WITH GRANT OPTION' asks one --superuser 'SHOW GRANTS'
  check 'another encoding' gives 0 latin1 asks one --latin1 'SELECT @@character_set_database'
  check 'German messages' gives 1 'Unbekanntes Tabellenfeld' asks one --german 'SELECT nothing'
  check 'English messages' gives 1 'Unknown column' asks one '' 'SELECT nothing'
  check 'fast without --durable' gives 0 $'2\t0' asks one '' \
    'SELECT @@innodb_flush_log_at_trx_commit, @@sync_binlog'
  check 'TLS' uses_tls
  check 'socket' answers_on_its_socket
  check 'env' env_has "${variable}_LATIN1" --latin1
  check 'env: CA' env_has "${variable}_CA" --ca
}

# --- clusters --------------------------------------------------------------------------------

# member_asks <number> <query>
member_asks() {
  mysql_asks "$(servers one url "$name-$1")" "$2"
}

# all_read <query> <answer>: every member gives it, if it first waits for what others committed.
all_read() {
  local one causal='SET SESSION wsrep_sync_wait = 1'
  [[ $name == galera ]] ||
    causal="SET SESSION group_replication_consistency = 'BEFORE'"
  for one in 1 2 3; do
    [[ $(member_asks "$one" "$causal; $1") == "$2" ]] || return
  done
}

writes_reach_all() {
  member_asks 1 'CREATE TABLE kept (n INT PRIMARY KEY); INSERT INTO kept VALUES (1)' || return
  all_read 'SELECT SUM(n) FROM kept' 1
}

member_processes() {
  local one
  for one in 1 2 3; do process_of one "$name-$one"; done
}

same_members_again() {
  local before start=$SECONDS
  before=$(member_processes)
  servers one up "$name" || return
  [[ $(wc -w <<<"$before") == 3 && $(member_processes) == "$before" ]] && ((SECONDS - start <= 10))
}

# The cluster goes on from the member that worked last, not from the first.
goes_on_from_the_last() {
  servers one down "$name-1" || return
  gives 1 stopped servers one status "$name" || return
  member_asks 2 'INSERT INTO kept VALUES (10)' || return
  servers one down "$name-3" && servers one down "$name-2" || return
  servers one up "$name" && all_read 'SELECT SUM(n) FROM kept' 11
}

survives_the_loss() {
  local one
  for one in "$@"; do kill -KILL "$(process_of one "$name-$one")" || return; done
  gives 1 stopped servers one status "$name" || return
  servers one up "$name" && all_read 'SELECT SUM(n) FROM kept' 11
}

all_are_durable() {
  local one
  servers one up --durable "$name" || return
  for one in 1 2 3; do
    gives 0 $'1\t1' member_asks "$one" 'SELECT @@innodb_flush_log_at_trx_commit, @@sync_binlog' ||
      return
  done
}

down_stops_all() {
  local stranger status=0
  (cd / && exec sleep 300) &
  stranger=$!
  servers one down "$name" || status=1
  [[ -z $(processes one "$name-?") ]] || status=1
  gives 1 stopped servers one status "$name" || status=1
  kill "$stranger" || status=1 # it lived
  servers one up "$name" && all_read 'SELECT SUM(n) FROM kept' 11 && return "$status"
}

cluster_env() (
  variable=IDEM_TEST_${name^^}
  variable=${variable//-/_}
  url=$(servers one url "$name-3")
  eval "$(servers one env)"
  third=${variable}_NODE3 superuser=${variable}_SUPERUSER
  [[ ${!third} == "$url" && ${!variable} != "$url" && ${!superuser} == mysql://root:* ]]
)

purge_leaves_no_member() {
  servers one down --purge "$name"
  [[ -z $(processes one "$name-?") && -z $(find "$scratch/$name-one" -mindepth 1 -name "$name-*") ]]
}

try_cluster() {
  check 'status of what was never started' gives 1 stopped servers one status "$name"
  check 'up' servers one up "$name"
  check 'status' gives 0 running servers one status "$name"
  check 'all read what one wrote' writes_reach_all
  check 'env' cluster_env
  check 'up twice' same_members_again
  check 'the last goes on' goes_on_from_the_last
  check 'kill -9 of one' survives_the_loss 2
  check 'kill -9 of two' survives_the_loss 1 3
  check 'kill -9 of all' survives_the_loss 1 2 3
  check '--durable' all_are_durable
  check 'down, up' down_stops_all
  check 'down --purge' purge_leaves_no_member
}
