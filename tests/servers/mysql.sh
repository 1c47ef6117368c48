# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with `servers`
# SPDX-License-Identifier: BSL-1.0
# MySQL and MariaDB for `servers`, alone or as members of a cluster (cluster.sh has what only those
# need). Accounts: idem and idem_de, which may do everything in databases named idem and idem_...
# and see all sessions, and the superuser root. Databases: idem and idem_latin1 (another encoding).

mysql_define() {
  find_cluster
  bin=/usr/sbin
  case ${cluster:-$name} in
    mysql | group-replication)
      daemon=mysqld client=mysql packages=(openssl)
      sid_packages=(mysql-server-core mysql-client-core)
      ;;
    *)
      daemon=mariadbd client=mariadb packages=(mariadb-server-core mariadb-client-core openssl)
      ;;
  esac
  variable=${cluster:-$name}
  variable=IDEM_TEST_${variable^^} variable=${variable//-/_}
  pid_file=data/server.pid
  # https://dev.mysql.com/doc/refman/9.7/en/unix-signal-response.html
  stop_signal=TERM
  [[ -z $cluster ]] || cluster_define
}

mysql_check() {
  [[ -n $root || -x $bin/$daemon ]] ||
    fail "$name: no $bin/$daemon; install the Debian package ${packages[0]}"
  command -v openssl >/dev/null || fail "$name: no openssl; install the Debian package openssl"
  [[ -z $cluster ]] || cluster_check
}

# A certificate of a CA of its own, so that a client can check both the CA and the host. The
# servers' own (auto_generate_certs of MySQL) name no host.
make_certificate() {
  local tls=$own/tls
  mkdir -p "$tls"
  cat >"$tls/cnf" <<'TEXT'
[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
[server]
subjectAltName = IP:127.0.0.1, DNS:localhost
TEXT
  (
    cd "$tls" && umask 077 &&
      openssl req -config cnf -x509 -extensions ca -newkey rsa:2048 -nodes -days 3650 \
        -subj "/CN=CA of idem's test server" -keyout ca-key.pem -out ca.pem &&
      openssl req -config cnf -newkey rsa:2048 -nodes -subj /CN=localhost \
        -keyout server-key.pem -out server.csr &&
      openssl x509 -req -in server.csr -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 3650 \
        -extfile cnf -extensions server -out server.pem
  ) || return
  make_folder "$home/tls" 700
  install -o "$user_id" -g "$group_id" -m 600 "$tls"/server{,-key}.pem "$tls/ca.pem" "$home/tls"
  install -m 644 "$tls/ca.pem" "$own/ca.pem"
  rm -rf "$tls"
}

# private_file <path>: what it reads goes to a file that only the server's user can read.
private_file() {
  rm -f "$1"
  (umask 077 && cat >"$1")
  chown "$user_id:$group_id" "$1"
}

# One statement a line: https://dev.mysql.com/doc/refman/9.7/en/server-system-variables.html
# (init_file). A member of a cluster makes them without a trace in its binary log.
accounts() {
  local password one
  password=$(<"$own/password")
  printf 'SET sql_log_bin = 0;\n'
  if [[ $daemon == mariadbd ]]; then
    # Accounts without a password; and the bootstrap knows no privileges until they are read.
    printf "DELETE FROM mysql.%s WHERE Host <> 'localhost' OR User = '';\n" global_priv proxies_priv
    printf 'FLUSH PRIVILEGES;\n'
  fi
  printf "%s IDENTIFIED BY '$password';\n" 'ALTER USER root@localhost' "CREATE USER root@'%'" \
    "CREATE USER idem@'%'" "CREATE USER idem_de@'%'"
  printf "GRANT ALL ON *.* TO root@'%%' WITH GRANT OPTION;\n"
  for one in idem idem_de; do
    # shellcheck disable=SC2016 # backquotes of SQL
    printf 'GRANT %s TO %s@'"'%%'"';\n' 'ALL ON `idem`.*' "$one" 'ALL ON `idem\_%`.*' "$one" \
      'PROCESS ON *.*' "$one"
  done
  printf 'CREATE DATABASE %s;\n' 'idem CHARACTER SET utf8mb4' 'idem_latin1 CHARACTER SET latin1'
}

mysql_make() {
  local folder initial=$inside/accounts.sql elder=''
  for folder in data tmp; do make_folder "$home/$folder" 700; done
  make_folder "$home/run" 755
  [[ -z $cluster ]] || find_elder
  if [[ -n $elder ]]; then inherit; else make_certificate; fi || return
  private_file "$home/client.cnf" <<TEXT
[client]
user = root
password = $(<"$own/password")
socket = $inside/run/sql
TEXT
  if [[ $cluster == galera ]]; then
    get_transfer_scripts || return
    [[ -z $elder ]] || return 0 # its data comes from a node that has some
  fi
  cluster='' mysql_configure 0 # alone for now
  accounts | private_file "$home/accounts.sql"
  if [[ $daemon == mysqld ]]; then
    in_server mysqld "--defaults-file=$inside/server.cnf" --initialize-insecure \
      "--init-file=$initial" || return
  else
    in_server mariadb-install-db "--defaults-file=$inside/server.cnf" --skip-test-db \
      --auth-root-authentication-method=normal "--extra-file=$initial" || return
  fi
  rm "$home/accounts.sql"
}

# What the two call differently. No line of them changes what a statement does.
own_settings() {
  if [[ $daemon == mysqld ]]; then
    cat <<TEXT
secure_file_priv = NULL
mysqlx = OFF
performance_schema = OFF
innodb_redo_log_capacity = 32M
log_bin_trust_function_creators = ON
TEXT
    (($1)) || printf 'innodb_doublewrite = OFF\n'
  else
    printf 'innodb_log_file_size = 32M\n'
    (($1)) || printf 'innodb_flush_method = nosync\n'
  fi
}

mysql_configure() {
  local socket=$inside/run/sql at_commit=2 commits=0
  ((${#socket} <= 107)) || fail "$name: too long for a socket: $socket; set IDEM_SERVERS_DIR"
  if (($1)); then
    at_commit=1 commits=1
    # What was written without fsync reaches the disk before anything is called durable.
    find "$home/data" -exec sync {} +
  fi
  cat >"$home/server.cnf" <<TEXT
[$daemon]
datadir = $inside/data
tmpdir = $inside/tmp
socket = $socket
pid_file = $inside/$pid_file
port = ${port:-0}
bind_address = 127.0.0.1
skip_name_resolve = ON
max_connections = 200
character_set_server = utf8mb4
ssl_ca = $inside/tls/ca.pem
ssl_cert = $inside/tls/server.pem
ssl_key = $inside/tls/server-key.pem
init_connect = "SET lc_messages = IF(USER() LIKE 'idem\_de@%', 'de_DE', @@lc_messages)"
innodb_buffer_pool_size = 64M
innodb_flush_log_at_trx_commit = $at_commit
sync_binlog = $commits
TEXT
  {
    own_settings "$1"
    [[ -z $cluster ]] || cluster_settings
  } >>"$home/server.cnf"
}

mysql_command() {
  server_command=("$bin/$daemon" "--defaults-file=$inside/server.cnf")
  [[ -z $cluster ]] || cluster_command
}

# statement <SQL>: runs it as superuser.
statement() {
  in_server "$client" "--defaults-file=$inside/client.cnf" --connect-timeout=5 -NBe "$1"
}

mysql_answers() {
  if [[ -n $cluster ]]; then cluster_answers; else statement 'SELECT 1'; fi
}

mysql_is_durable() {
  [[ $(statement 'SELECT @@innodb_flush_log_at_trx_commit, @@sync_binlog') == $'1\t1' ]]
}

mysql_started() {
  [[ -z $cluster ]] || cluster_started
}

mysql_urls() {
  local password at=127.0.0.1:$port
  password=$(<"$own/password")
  printf '%s\n' "main mysql://idem:$password@$at/idem"
  [[ -z $cluster || $name == *-1 ]] || return 0
  printf '%s\n' "superuser mysql://root:$password@$at/idem" \
    "latin1 mysql://idem:$password@$at/idem_latin1" \
    "german mysql://idem_de:$password@$at/idem" \
    "ca $own/ca.pem" "socket $home/run/sql"
}
