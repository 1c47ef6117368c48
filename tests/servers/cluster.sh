# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with `servers`
# SPDX-License-Identifier: BSL-1.0
# What the members of a Galera cluster, and of a group of MySQL's, need beyond mysql.sh. A member is
# a server like any other, named <cluster>-<number>. The first that is made founds the cluster, the
# others get their data from it. Each has consecutive ports: of SQL, of the group, and Galera's two
# for the transfer of state.

# Sets `cluster`, `member` and `peers` if the server is one of several.
find_cluster() {
  local one
  cluster='' member='' peers=()
  [[ $name == *-[1-3] ]] || return 0
  cluster=${name%-*} member=${name##*-}
  for one in 1 2 3; do
    ((one == member)) || peers+=("$cluster-$one")
  done
}

cluster_define() {
  ((member == 1)) || variable+=_NODE$member
  case $cluster in
    galera) packages+=(galera-4 rsync lsof) port_count=4 ;;
    group-replication) port_count=2 ;;
  esac
}

# The peers that answer, each a word.
live_peers() (
  for peer in "${peers[@]}"; do
    reach "$peer"
    ! answers || printf '%s ' "$peer"
  done
)

# The last member that wrote, of those that have data.
last_at_work() {
  local one
  for one in "$name" "${peers[@]}"; do
    (
      load "$one"
      [[ ! -f $own/made ]] || printf '%s %s\n' \
        "$(find "$home/data" -type f -printf '%T@\n' | sort -n | tail -n 1)" "$one"
    )
  done | sort -n | tail -n 1 | cut -d ' ' -f 2
}

# Whether the peers that answer count just the members that run. A killed one they miss only after
# some seconds, and perhaps stop answering then, for want of a majority.
peers_agree() (
  running=0 counts=''
  for peer in "${peers[@]}"; do
    reach "$peer"
    ! find_running || running=$((running + 1))
    ! answers || counts+=$(cluster_size)$'\n'
  done
  # One that ceased to answer in between gave no number.
  ! grep -vx "$running" <<<"${counts%$'\n'}" | grep -q .
)

await_agreement() {
  local end=$((SECONDS + 30))
  until peers_agree; do
    ((SECONDS < end)) || fail "$name: its peers do not agree on who is a member; see $own/../*/log"
    sleep 0.5
  done
}

# A member that runs and does not answer has lost the majority: nobody can join it. If no member
# answers, the cluster goes on from the one that worked last.
cluster_check() {
  local me=$name peer last
  [[ $cluster != galera || -e /usr/lib/galera/libgalera_smm.so ]] ||
    fail "$name: no Galera; install the Debian package galera-4"
  ! answers || return 0
  stop
  await_agreement
  [[ -z $(live_peers) ]] || return 0
  for peer in "${peers[@]}"; do (reach "$peer" && stop); done
  last=$(last_at_work)
  [[ -z $last || $last == "$me" ]] || up_one "$last"
  reach "$me"
}

# Sets `elder` to a member that has data, if there is one.
find_elder() {
  local peer
  elder=''
  for peer in "${peers[@]}"; do
    if [[ -f $state/$peer/made ]]; then elder=$peer && return; fi
  done
}

# All members have the same passwords and certificates.
inherit() {
  local its
  its=$(load "$elder" && printf '%s' "$home")
  cp -p "$state/$elder"/{password,ca.pem} "$own" && cp -a "$its/tls" "$home"
}

# The scripts that copy a node's data are in the package of the system's server, which is not wanted
# here: it starts one.
get_transfer_scripts() {
  local download=$own/download version
  [[ ! -x /usr/bin/wsrep_sst_rsync ]] || return 0
  version=$(dpkg-query -W -f '${Version}' mariadb-server-core) || return
  rm -rf "$download" && mkdir "$download" || return
  (cd "$download" && apt-get -o APT::Sandbox::User=root download "mariadb-server=$version") &&
    dpkg-deb -x "$download"/*.deb "$download/unpacked" &&
    mkdir -p "$home/bin" && cp "$download"/unpacked/usr/bin/wsrep_sst_* "$home/bin" || return
  rm -rf "$download"
}

# The name of a cluster is one that no other state folder's has: their members could meet on a port.
# Galera takes 32 characters, MySQL a UUID.
group_uuid() {
  local hash
  hash=$(printf '%s' "$state/$cluster" | sha256sum)
  printf '%s-%s-4%s-8%s-%s' \
    "${hash:0:8}" "${hash:8:4}" "${hash:12:3}" "${hash:15:3}" "${hash:18:12}"
}

# Where the members' groups listen, with commas between.
group_addresses() {
  local one its all=()
  for one in 1 2 3; do
    its=$(cat "$state/$cluster-$one/port" 2>/dev/null) || continue
    all+=("127.0.0.1:$((its + 1))")
  done
  (IFS=, && printf '%s' "${all[*]}")
}

# https://mariadb.com/kb/en/configuring-mariadb-galera-cluster/
galera_settings() {
  local at=127.0.0.1:$((port + 1))
  cat <<TEXT
binlog_format = ROW
innodb_autoinc_lock_mode = 2
wsrep_on = ON
wsrep_provider = /usr/lib/galera/libgalera_smm.so
wsrep_provider_options = "base_host=127.0.0.1;base_port=$((port + 1));gmcast.listen_addr=tcp://$at;\
ist.recv_addr=127.0.0.1:$((port + 2));gcache.size=16M;pc.recovery=off"
wsrep_cluster_name = idem-$(digest "$state")
wsrep_cluster_address = gcomm://$(group_addresses)
wsrep_node_name = $name
wsrep_node_address = $at
wsrep_node_incoming_address = 127.0.0.1:$port
wsrep_slave_threads = 2
wsrep_sst_method = rsync
wsrep_sst_receive_address = 127.0.0.1:$((port + 3))
[sst]
ssl-mode = DISABLED
TEXT
}

# https://dev.mysql.com/doc/refman/9.7/en/group-replication-configuring-instances.html; loose:
# --initialize loads no plugin.
group_replication_settings() {
  cat <<TEXT
performance_schema = ON
performance_schema_digests_size = 0
performance_schema_error_size = 0
performance_schema_max_digest_length = 0
performance_schema_events_statements_history_long_size = 0
loose_group_replication_message_cache_size = 128M
server_id = $member
gtid_mode = ON
enforce_gtid_consistency = ON
report_host = 127.0.0.1
report_port = $port
plugin_load_add = group_replication.so
loose_group_replication_group_name = $(group_uuid)
loose_group_replication_local_address = 127.0.0.1:$((port + 1))
loose_group_replication_group_seeds = $(group_addresses)
loose_group_replication_single_primary_mode = OFF
loose_group_replication_enforce_update_everywhere_checks = ON
loose_group_replication_recovery_get_public_key = ON
TEXT
}

cluster_settings() {
  case $cluster in
    galera) galera_settings ;;
    group-replication) group_replication_settings ;;
  esac
}

cluster_command() {
  local founds=0
  [[ -n $(live_peers) ]] || founds=1
  case $cluster in
    galera)
      server_command=(/usr/bin/env "PATH=$inside/bin:$bin:/usr/bin:/bin" "${server_command[@]}")
      if ((founds)); then
        server_command+=(--wsrep-new-cluster)
        # It was chosen as the last that worked; a killed node does not say so itself.
        [[ ! -f $home/data/grastate.dat ]] ||
          sed -i 's/^safe_to_bootstrap:.*/safe_to_bootstrap: 1/' "$home/data/grastate.dat"
      fi
      ;;
    group-replication)
      private_file "$home/join.sql" <<TEXT
SET sql_log_bin = 0;
CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root', \
SOURCE_PASSWORD = '$(<"$own/password")' FOR CHANNEL 'group_replication_recovery';
TEXT
      server_command+=("--init-file=$inside/join.sql" --loose-group_replication_start_on_boot=ON)
      ((!founds)) || server_command+=(--loose-group_replication_bootstrap_group=ON)
      ;;
  esac
}

# A member without the majority is no member: it cannot commit.
cluster_answers() {
  case $cluster in
    galera)
      statement "SELECT variable_value FROM information_schema.global_status
        WHERE variable_name = 'wsrep_ready'" | grep -x ON
      ;;
    group-replication)
      statement "SELECT SUM(member_state = 'ONLINE') * 2 > COUNT(*) AND
        SUM(member_state = 'ONLINE' AND member_id = @@server_uuid) = 1
        FROM performance_schema.replication_group_members" | grep -x 1
      ;;
  esac
}

cluster_size() {
  case $cluster in
    galera)
      statement "SELECT variable_value FROM information_schema.global_status
        WHERE variable_name = 'wsrep_cluster_size'"
      ;;
    group-replication)
      statement 'SELECT COUNT(*) FROM performance_schema.replication_group_members'
      ;;
  esac
}

# A member that founded its group shall not found another when somebody starts the group's part of
# it again.
cluster_started() {
  [[ $cluster != group-replication ]] ||
    statement 'SET GLOBAL group_replication_bootstrap_group = OFF'
}
