#!/usr/bin/env bash
# Installs what Nodelet needs on this machine and nothing twice: Debian packages, a Node.js of 24 or newer, and the
# npm packages of the lock file. Silent when there is nothing to do.
#
#   scripts/setup.sh            everything
#   scripts/setup.sh --tests    also what only the integration tests need
#   scripts/setup.sh --no-apt   leave Debian's packages alone (types, lint and unit tests need none of them)
set -euo pipefail
cd "$(dirname "$0")/.."

# runc is for machines whose control groups crun refuses. libatomic1 is for Node.js, whose binary from npm is linked
# against it. The tests compare the default seccomp profile with that of golang-github-containers-common.
readonly PACKAGES=(conmon crun runc containernetworking-plugins busybox-static catatonit iproute2 iptables libatomic1)
readonly TEST_PACKAGES=(containerd golang-github-containers-common nftables openssl)
readonly NODE_MAJOR=24

fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

say() {
  printf 'setup: %s\n' "$*" >&2
}

# Runs a command, shows its output only if it fails.
quietly() {
  local log
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}

missing_packages() {
  local name
  for name in "${PACKAGES[@]}" "$@"; do
    [[ -e /var/lib/dpkg/info/$name.list || -e /var/lib/dpkg/info/$name:amd64.list || -e /var/lib/dpkg/info/$name:arm64.list ]] || printf '%s\n' "$name"
  done
}

install_packages() {
  local missing=("$@")
  command -v apt-get >/dev/null || fail "apt-get is missing: install these by hand, then run again: ${missing[*]}"
  [[ $(id -u) == 0 ]] || fail "must be root to install Debian packages: ${missing[*]}"
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  # The package lists of a fresh machine are absent or stale: refresh them once when a first try fails.
  quietly apt-get install -y --no-install-recommends "${missing[@]}" 2>/dev/null && return
  quietly apt-get update || fail "apt-get update failed (see above)"
  quietly apt-get install -y --no-install-recommends "${missing[@]}" || fail "apt-get install failed (see above)"
}

# A server of the integration tests, into .tools/$2: only its program, for the package would start a service on this machine.
fetch_program() {
  local package=$1 folder=.tools/$2 program=usr/bin/$1
  [[ -x /$program || -x $folder/$program ]] && return
  say "fetching $package for the tests"
  rm -rf "$folder.part" "$folder"
  mkdir -p "$folder.part" # it gets its name only as a whole
  if (cd "$folder.part" && download "$package") && quietly dpkg-deb -x "$folder.part"/*.deb "$folder.part"; then
    rm "$folder.part"/*.deb
    mv "$folder.part" "$folder"
  else
    rm -rf "$folder.part"
    say "there is no $package: the tests that need it are skipped"
  fi
}

# Into the folder that we are in.
download() {
  quietly apt-get download "$1" 2>/dev/null && return
  quietly apt-get update && quietly apt-get download "$1"
}

node_major() {
  local version
  version=$("$1" --version 2>/dev/null) || { echo 0; return; }
  version=${version#v}
  echo "${version%%.*}"
}

# Puts the packages of a lock file into a folder, unless the stamp shows that they are there already.
npm_ci() {
  local from=$1 folder=$2 what=$3 stamp=$2/node_modules/.nodelet-stamp want
  want=$(sha256sum <"$from/package-lock.json")
  [[ -f $stamp && $(<"$stamp") == "$want" ]] && return
  say "installing $what"
  if [[ $from != "$folder" ]]; then
    mkdir -p "$folder"
    cp "$from/package.json" "$from/package-lock.json" .npmrc "$folder/"
  fi
  quietly npm ci --prefix "$folder" --no-fund --no-audit --loglevel=error || fail "npm ci failed for $what (see above)"
  printf '%s\n' "$want" >"$stamp"
}

[[ $(uname -s) == Linux ]] || fail "Nodelet runs on Linux only; this is $(uname -s)"
case $(uname -m) in x86_64 | aarch64) ;; *) fail "no prebuilt Node.js for $(uname -m)" ;; esac

wanted=()
command -v npm >/dev/null || wanted+=(nodejs npm)
[[ ${1:-} != --tests ]] || wanted+=("${TEST_PACKAGES[@]}")
if [[ ${1:-} != --no-apt ]]; then
  mapfile -t wanted < <(missing_packages "${wanted[@]}")
fi
((${#wanted[@]} == 0)) || install_packages "${wanted[@]}"
if [[ ${1:-} == --tests ]]; then
  fetch_program docker-registry registry
  fetch_program prometheus prometheus # with promtool
fi

if ((NODE_MAJOR > $(node_major node))); then
  npm_ci tools/node .tools/node "Node.js (this machine's is older than $NODE_MAJOR)"
fi
npm_ci tools/biome .tools/biome "Biome"
npm_ci . . "npm packages"
