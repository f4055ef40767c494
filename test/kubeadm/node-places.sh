#!/bin/sh
# Gives a node of enter-node.sh its own /etc and /usr, so that kubeadm and pods with host paths write to this node alone,
# and runs a command in it.
#
#   node-places.sh FOLDER COMMAND…
#
# FOLDER: where the node's directories are. FOLDER/bin comes first on the search path.
set -eu
folder=$1
shift
for place in etc usr; do
  mkdir -p "$folder/upper/$place" "$folder/work/$place"
  mount -t overlay overlay -o "lowerdir=/$place,upperdir=$folder/upper/$place,workdir=$folder/work/$place" "/$place"
done
rm -f /usr/bin/systemctl # no systemd runs in this node
# No server answers there: names are refused at once, on the node and in pods.
echo 'nameserver 10.200.0.2' >/etc/resolv.conf
printf '127.0.0.1 localhost\n::1 localhost\n10.200.0.2 node-1\n' >/etc/hosts
exec env PATH="$folder/bin:$PATH" "$@"
