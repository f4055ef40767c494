#!/usr/bin/env bash
# Builds what `make vm` boots: QEMU, and a Debian 13 with systemd, cgroup v2 and AppArmor as most users have it. All of it
# goes to a cache outside the checkout; nothing is built twice, and two runs at once build once.
#
#   scripts/vm-image.sh              build what is missing; fail when that is impossible
#   scripts/vm-image.sh --optional   the same, but say why it is impossible, note it for the tests, and succeed
#   scripts/vm-image.sh --where      print the directory
#
# QEMU is that of Debian 13, unpacked beside the machine's own programs and started by its own loader: the one of Debian 12
# corrupts such guests when it emulates their processor.
set -euo pipefail

readonly RELEASE=trixie
# conmon, crun, runc, containernetworking-plugins, busybox-static, catatonit, libatomic1: what scripts/setup.sh installs.
readonly GUEST_PACKAGES=(systemd systemd-sysv systemd-resolved udev dbus linux-image-cloud-amd64 initramfs-tools
  openssh-server apparmor ca-certificates make procps iproute2 iptables nftables e2fsprogs kmod
  conmon crun runc containernetworking-plugins busybox-static catatonit libatomic1 containerd)
readonly QEMU_PACKAGES=(qemu-system-x86 qemu-utils)
VERSION=$(sha256sum <"$0" | cut -c 1-12) # another recipe is another machine
readonly VERSION
readonly ROOT=${NODELET_VM:-${XDG_CACHE_HOME:-$HOME/.cache}/nodelet/vm}
readonly FOLDER=$ROOT/$RELEASE-$VERSION
readonly REASON=$FOLDER/unavailable # read by test/vm/vm-files.ts

optional=
case ${1-} in
  --where) printf '%s\n' "$FOLDER" && exit ;;
  --optional) optional=yes ;;
  '') ;;
  *) printf 'vm-image: unknown argument %s\n' "$1" >&2 && exit 2 ;;
esac

say() {
  printf 'vm-image: %s\n' "$*" >&2
}

give_up() {
  say "$1"
  [[ $optional ]] || exit 1
  printf '%s\n' "$1" >"$REASON"
  exit 0
}

# The Debian mirror that this machine's apt uses.
mirror() {
  apt-get indextargets --format "\$(REPO_URI)" 'Identifier: Packages' 'Origin: Debian' 2>/dev/null | head -n 1
}

# debootstrap is unpacked, not installed: the machine's packages stay as they are.
fetch_debootstrap() {
  [[ -e debootstrap/usr/sbin/debootstrap ]] && return
  rm -rf debootstrap debootstrap.part
  mkdir debootstrap.part
  (cd debootstrap.part && { apt-get download debootstrap || { apt-get update && apt-get download debootstrap; }; })
  dpkg-deb -x debootstrap.part/*.deb debootstrap.part
  mv debootstrap.part debootstrap
}

# Makes a Debian tree with some packages; it gets its name only as a whole.
tree() {
  local name=$1 packages
  shift
  [[ -d $name ]] && return
  packages=$(IFS=,; printf '%s' "$*")
  rm -rf "$name.part"
  DEBOOTSTRAP_DIR=$PWD/debootstrap/usr/share/debootstrap debootstrap/usr/sbin/debootstrap --variant=minbase \
    --include="$packages" "$RELEASE" "$name.part" "$(mirror)"
  mv "$name.part" "$name"
}

configure_guest() {
  local guest=$1
  install -D -m 600 id.pub "$guest/root/.ssh/authorized_keys"
  printf '[Match]\nName=e*\n[Network]\nDHCP=yes\n' >"$guest/etc/systemd/network/10-all.network"
  printf '/dev/vda / ext4 defaults 0 1\n' >"$guest/etc/fstab"
  printf 'nodelet-vm\n' >"$guest/etc/hostname"
  printf '127.0.0.1 localhost nodelet-vm\n::1 localhost\n' >"$guest/etc/hosts"
  # Tests start what they need; a daemon of the machine's own would be in their way.
  chroot "$guest" systemctl enable systemd-networkd ssh
  chroot "$guest" systemctl disable containerd
  chroot "$guest" systemctl mask apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer fstrim.timer
  # AppArmor is on; only the profiles of programs that the tests do not use are left out: a hundred of them would be
  # compiled at each boot, which takes minutes under emulation.
  chroot "$guest" systemctl mask apparmor.service
}

build() {
  fetch_debootstrap
  tree qemu "${QEMU_PACKAGES[@]}"
  tree guest "${GUEST_PACKAGES[@]}"
  [[ -e id ]] || ssh-keygen -q -t ed25519 -N '' -f id
  configure_guest guest
  cp guest/boot/vmlinuz-* vmlinuz
  cp guest/boot/initrd.img-* initrd.img
  rm -f disk.img.part
  mke2fs -q -F -t ext4 -L root -d guest disk.img.part 16G
  mv disk.img.part disk.img
}

[[ -e $FOLDER/disk.img ]] && exit 0
mkdir -p "$FOLDER"
[[ $(uname -m) == x86_64 ]] || give_up "the virtual machine is x86-64; this machine is $(uname -m)"
[[ $(id -u) == 0 ]] || give_up "must be root to build the guest's root tree"
for program in apt-get dpkg-deb mke2fs ssh ssh-keygen; do
  command -v "$program" >/dev/null || give_up "cannot build the virtual machine: $program is missing"
done
exec 9>"$FOLDER/.lock"
flock 9
[[ -e $FOLDER/disk.img ]] && exit 0 # the previous holder of the lock built it
rm -f "$REASON"
cd "$FOLDER"
say "building the virtual machine (some five minutes, once)"
started=$SECONDS
(build) >build.log 2>&1 || give_up "cannot build the virtual machine: $(tail -n 1 build.log); see $FOLDER/build.log"
say "built the virtual machine in $((SECONDS - started)) s"
