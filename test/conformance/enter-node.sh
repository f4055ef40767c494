#!/bin/sh
# Makes a node of its own inside this machine and runs a command in it: its own processes, mounts, network, IPC, host
# name and cgroups. The fixed places of a kubelet (its ports, /var/lib/kubelet, /run, /var/log/pods, the root of cgroups)
# are then those of this node alone, and nothing is left of it when its first process ends.
#
#   enter-node.sh CGROUP FOLDER COMMAND…
#
# CGROUP: name of a new cgroup in every hierarchy. FOLDER: where the node's directories are.
set -eu
cgroup=$1 folder=$2
shift 2

if [ "${ENTERED:-}" = "" ]; then
  for hierarchy in /sys/fs/cgroup/*; do # those of version 1, and the one of version 2 where there is one
    [ -f "$hierarchy/cgroup.procs" ] && [ ! -L "$hierarchy" ] || continue
    mkdir -p "$hierarchy/$cgroup"
    if [ -f "$hierarchy/cpuset.cpus" ]; then # a new cpuset has neither and accepts no process
      cat "$hierarchy/cpuset.cpus" >"$hierarchy/$cgroup/cpuset.cpus"
      cat "$hierarchy/cpuset.mems" >"$hierarchy/$cgroup/cpuset.mems"
    fi
    echo $$ >"$hierarchy/$cgroup/cgroup.procs"
  done
  export ENTERED=yes
  exec unshare --mount --net --pid --ipc --uts --cgroup --fork --kill-child --mount-proc \
    "$0" "$cgroup" "$folder" "$@"
fi
unset ENTERED

mount --make-rprivate /
hostname node-1

hierarchies=$(awk '$2 ~ "^/sys/fs/cgroup/" && $3 ~ "^cgroup2?$" {print $2, $3, $4}' /proc/mounts)
umount --recursive --lazy /sys
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
echo "$hierarchies" | while read -r place type options; do
  mkdir -p "$place"
  case $options in # what is left are controllers, or the name of a hierarchy without any
    *name=*) options="none,name=${options##*name=}" ;;
    *) options=$(echo "$options" | sed 's/\(rw\|nosuid\|nodev\|noexec\|relatime\),\{0,1\}//g') ;;
  esac
  mount -t "$type" -o "${options:-rw}" cgroup "$place"
done

for place in /var/lib /var/log /run; do
  mkdir -p "$folder$place"
  mount --bind "$folder$place" "$place"
done
mkdir -p /var/lib/kubelet /run/lock "$folder/etc"
for name in resolv.conf hosts; do
  : >"$folder/etc/$name"
  mount --bind "$folder/etc/$name" "/etc/$name"
done
# No server answers there: names are refused at once, on the node and in pods.
echo 'nameserver 10.200.0.2' >/etc/resolv.conf
printf '127.0.0.1 localhost\n::1 localhost\n10.200.0.2 node-1\n' >/etc/hosts
# The suite starts its kubelet by systemd where these programs exist; no systemd runs in this node.
: >"$folder/not-a-program"
for program in systemd-run journalctl systemctl; do
  if path=$(command -v "$program"); then mount --bind "$folder/not-a-program" "$path"; fi
done
mkdir -p "$folder/etc/containerd" # where a spec looks up the handlers of the runtime
mount --bind "$folder/etc/containerd" /etc/containerd
mount --make-rshared /

ip link set lo up
ip link add eth0 type bridge
ip address add 10.200.0.2/24 dev eth0
ip link set eth0 up
ip route add default via 10.200.0.1
echo 1 >/proc/sys/net/ipv4/ip_forward
exec catatonit -- "$@"
