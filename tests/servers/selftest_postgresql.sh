# shellcheck shell=bash disable=SC2154 # variables are shared with `selftest`
# shellcheck disable=SC2016 # $$...$$ are quotes of SQL
# SPDX-License-Identifier: BSL-1.0
# What `selftest` asks a PostgreSQL.

# postgresql_asks <URL> <query>
postgresql_asks() {
  psql -qXAt -d "$1" -c "$2"
}

postgresql_refuses_password() {
  gives 2 'password authentication failed' postgresql_asks "$1" 'SELECT 1'
}

postgresql_refuses_connection() {
  gives 2 refused postgresql_asks "$1" 'SELECT 1'
}

postgresql_pid_file() {
  printf 'postmaster.pid'
}

postgresql_is_durable() {
  gives 0 on asks one '' 'SHOW fsync' && gives 0 on asks one '' 'SHOW full_page_writes'
}

# chroot enters any folder as root.
postgresql_refuses_a_closed_folder() {
  [[ $name == pg15 ]] || return 0
  refuses_a_closed_folder env "IDEM_SERVERS_DIR=$scratch/$name-closed/state"
}

postgresql_checks() {
  local watcher='SELECT rolsuper, pg_has_role($$pg_signal_backend$$, $$member$$),
    pg_has_role($$pg_read_all_stats$$, $$member$$), datdba = pg_roles.oid
    FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()'
  check 'a closed folder' postgresql_refuses_a_closed_folder
  check 'main URL' gives 0 'idem|idem|UTF8' asks one '' \
    'SELECT current_user, current_database(), current_setting($$server_encoding$$)'
  check 'rights of its role' gives 0 'f|t|t|t' asks one '' "$watcher"
  check 'superuser' gives 0 on asks one --superuser 'SHOW is_superuser'
  check 'another encoding' gives 0 LATIN1 asks one --latin1 'SHOW server_encoding'
  check 'German messages' gives 1 'Division durch Null' asks one --german 'SELECT 1/0'
  check 'English messages' gives 1 'division by zero' asks one '' 'SELECT 1/0'
  check 'fast without --durable' gives 0 'off|on' asks one '' \
    'SELECT current_setting($$fsync$$), current_setting($$synchronous_commit$$)'
  check 'env' env_has "IDEM_TEST_POSTGRESQL_${name#pg}_GERMAN" --german
}
