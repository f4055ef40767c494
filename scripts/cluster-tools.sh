#!/usr/bin/env bash
# Builds the programs that tests compare Nodelet with, out of the Go modules that publish them: a control plane, the
# real kubelet, kubeadm, kubectl, crictl, critest, a containerd that is newer than Debian's and the example driver of CSI
# (csi-driver-host-path: hostpathplugin), the sample device plugin, the test driver of DRA (dra-test-driver) and
# metrics-server; with a flag also the node conformance tests (e2e_node.test), the program that runs them (ginkgo) and the
# one of their images (agnhost); with another the rest of the programs of the images that `kubeadm init` pulls. They go to
# a cache outside the checkout, nothing is built twice, and two runs at once build once.
#
#   scripts/cluster-tools.sh                build what is missing; fail when that is impossible
#   scripts/cluster-tools.sh --optional     the same, but say why it is impossible, note it for the tests, and succeed
#   scripts/cluster-tools.sh --conformance  also what node conformance tests need
#   scripts/cluster-tools.sh --kubeadm      also what a cluster that kubeadm makes consists of
#   scripts/cluster-tools.sh --where        print the folder
#   scripts/cluster-tools.sh NAME…          only these programs
set -euo pipefail

readonly KUBERNETES=v1.36.4 CRI_TOOLS=v1.36.0 CONTAINERD=v2.4.2 COREDNS=v1.14.2 # the last is that of kubeadm's constants
readonly METRICS_SERVER=v0.9.0 # the newest release that the module proxy has
# The newest release of the driver that the module proxy has, and what it is built with beside Kubernetes' packages: the CSI
# specification of its own go.mod, whose services it implements, and a library that Kubernetes does not name.
readonly CSI_HOSTPATH=v1.7.2 CSI_SPEC=v1.4.0 CSI_LIB_UTILS=v0.22.0
readonly ALL=(kubectl kube-apiserver kubelet etcd crictl critest kubeadm kube-controller-manager containerd
  containerd-shim-runc-v2 hostpathplugin sample-device-plugin dra-test-driver metrics-server)
readonly CONFORMANCE=(e2e_node.test ginkgo agnhost)      # no other test needs them
readonly KUBEADM=(kube-scheduler kube-proxy coredns)     # only kubeadm init does
readonly ROOT=${NODELET_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/nodelet/tools}
readonly FOLDER=$ROOT/$KUBERNETES
readonly REASON=$FOLDER/unavailable # read by test/integration/cluster-tools.ts

optional= more=()
names=()
for argument in "$@"; do
  case $argument in
    --where) printf '%s\n' "$FOLDER" && exit ;;
    --optional) optional=yes ;;
    --conformance) more+=("${CONFORMANCE[@]}") ;;
    --kubeadm) more+=("${KUBEADM[@]}") ;;
    -*) printf 'cluster-tools: unknown flag %s\n' "$argument" >&2 && exit 2 ;;
    *)
      [[ " ${ALL[*]} ${CONFORMANCE[*]} ${KUBEADM[*]} " == *" $argument "* ]] ||
        { printf 'cluster-tools: unknown program %s\n' "$argument" >&2 && exit 2; }
      names+=("$argument")
      ;;
  esac
done
((${#names[@]})) || names=("${ALL[@]}")
names+=("${more[@]}")

say() {
  printf 'cluster-tools: %s\n' "$*" >&2
}

give_up() {
  say "$1"
  [[ $optional ]] || exit 1
  printf '%s\n' "$1" >"$REASON"
  exit 0
}

# Fetches a module and prints where its go.mod or its source is; says why on stderr when it cannot.
go_mod_of() {
  downloaded "$1" GoMod
}

module_of() {
  downloaded "$1" Dir
}

downloaded() {
  local answer
  answer=$(go mod download -json "$1") || {
    sed -n 's/^\t"Error": "\(.*\)",\{0,1\}$/\1/p' <<<"$answer" >&2
    return 1
  }
  sed -n 's/^\t"'"$2"'": "\(.*\)",\{0,1\}$/\1/p' <<<"$answer"
}

# The module of kubernetes names its staging repositories by folders that a module from a proxy does not have: each is
# replaced by the published module of the same release.
kubernetes_module() {
  local from
  from=$(go_mod_of "k8s.io/kubernetes@$KUBERNETES") || return 1
  printf 'module nodelet.test/kubernetes\n\n'
  grep '^go ' "$from"
  printf '\nrequire k8s.io/kubernetes %s\n\nreplace (\n' "$KUBERNETES"
  sed -n "s|^\tk8s.io/\([a-z-]*\) => ./staging/.*|\tk8s.io/\1 => k8s.io/\1 ${KUBERNETES/v1/v0}|p" "$from"
  printf ')\n'
}

cri_tools_module() {
  module_that_requires sigs.k8s.io/cri-tools "$CRI_TOOLS"
}

coredns_module() {
  module_that_requires github.com/coredns/coredns "$COREDNS"
}

module_that_requires() {
  local from
  from=$(go_mod_of "$1@$2") || return 1
  printf 'module nodelet.test/%s\n\n' "${1##*/}"
  grep '^go ' "$from"
  printf '\nrequire %s %s\n' "$1" "$2"
}

metrics_server_module() {
  module_that_requires sigs.k8s.io/metrics-server "$METRICS_SERVER"
}

containerd_module() {
  module_that_requires github.com/containerd/containerd/v2 "$CONTAINERD"
}

# Its own dependencies are of Kubernetes 1.20, whose staging repositories the proxy does not have: a copy of its source is
# built with those of our release, after the two renames that have happened in between.
csi_hostpath_module() {
  local source
  source=$(module_of "github.com/kubernetes-csi/csi-driver-host-path@$CSI_HOSTPATH") || return 1
  cp -R "$source/cmd" "$source/internal" "$source/pkg" . && chmod -R u+w . || return 1
  find . -name '*_test.go' -delete
  find . -name '*.go' -exec sed -i \
    -e 's|"k8s.io/utils/mount"|mount "k8s.io/mount-utils"|' -e 's|\bfs\.FsInfo\b|fs.Info|' {} +
  kubernetes_module | sed 's|^module .*|module github.com/kubernetes-csi/csi-driver-host-path|' || return 1
  printf '\nrequire github.com/kubernetes-csi/csi-lib-utils %s\n' "$CSI_LIB_UTILS"
  printf '\nreplace github.com/container-storage-interface/spec => github.com/container-storage-interface/spec %s\n' "$CSI_SPEC"
}

# Writes the go.mod of a source, unless it is there, and prints its folder.
module() {
  local folder=$FOLDER/modules/$1
  if [[ ! -f $folder/go.mod ]]; then
    mkdir -p "$folder"
    (cd "$folder" && "${1//-/_}_module") >"$folder/go.mod.part" || return 1
    mv "$folder/go.mod.part" "$folder/go.mod"
  fi
  printf '%s\n' "$folder"
}

# Builds one program from its package into the folder that we are in.
compile() {
  local name=$1 stamp
  case $name in
    critest | e2e_node.test) set -- test -c -vet=off ;;
    *) set -- build ;;
  esac
  case $name in
    containerd*)
      stamp="-X github.com/containerd/containerd/v2/version.Version=$CONTAINERD"
      set -- "$@" -tags no_btrfs,no_devmapper,no_tracing,no_zfs # no test needs them
      ;;
    coredns) stamp= ;;
    hostpathplugin) stamp="-X main.version=$CSI_HOSTPATH" ;;
    metrics-server) stamp="-X k8s.io/client-go/pkg/version.gitVersion=$METRICS_SERVER" ;;
    crictl | critest) stamp="-X sigs.k8s.io/cri-tools/pkg/version.Version=${CRI_TOOLS#v}" ;;
    *) stamp=$(kubernetes_stamp) ;;
  esac
  CGO_ENABLED=0 timeout 40m go "$@" -mod=mod -ldflags "-s -w $stamp" -o "$name.part" "$(package "$name")"
}

package() {
  case $1 in
    containerd*) printf 'github.com/containerd/containerd/v2/cmd/%s\n' "$1" ;;
    etcd) printf 'go.etcd.io/etcd/server/v3\n' ;;
    coredns) printf 'github.com/coredns/coredns\n' ;;
    hostpathplugin) printf 'github.com/kubernetes-csi/csi-driver-host-path/cmd/hostpathplugin\n' ;;
    metrics-server) printf 'sigs.k8s.io/metrics-server/cmd/metrics-server\n' ;;
    crictl | critest) printf 'sigs.k8s.io/cri-tools/cmd/%s\n' "$1" ;;
    dra-test-driver) printf 'k8s.io/kubernetes/test/e2e/dra/test-driver\n' ;;
    e2e_node.test) printf 'k8s.io/kubernetes/test/e2e_node\n' ;;
    ginkgo) printf 'github.com/onsi/ginkgo/v2/ginkgo\n' ;;
    agnhost | sample-device-plugin) printf 'k8s.io/kubernetes/test/images/%s\n' "$1" ;;
    *) printf 'k8s.io/kubernetes/cmd/%s\n' "$1" ;;
  esac
}

kubernetes_stamp() {
  local package
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    printf -- '-X %s.%s ' "$package" "gitVersion=$KUBERNETES" "$package" "gitMajor=1" "$package" "gitMinor=36" \
      "$package" "gitTreeState=clean"
  done
}

build() {
  local name=$1 source=kubernetes folder log=$FOLDER/$1.log started=$SECONDS
  case $name in
    containerd*) source=containerd ;;
    crictl | critest) source=cri-tools ;;
    coredns) source=coredns ;;
    hostpathplugin) source=csi-hostpath ;;
    metrics-server) source=metrics-server ;;
  esac
  folder=$(module "$source" 2>"$log") || give_up "cannot fetch the module of $name: $(tail -n 1 "$log")"
  say "building $name (minutes on a machine that has not built such before)"
  (cd "$folder" && compile "$name") >"$log" 2>&1 || give_up "cannot build $name: $(tail -n 1 "$log"); see $log"
  mv "$folder/$name.part" "$FOLDER/$name"
  rm "$log"
  say "built $name in $((SECONDS - started)) s"
}

missing() {
  local name
  for name in "${names[@]}"; do
    [[ -x $FOLDER/$name ]] || printf '%s\n' "$name"
  done
}

[[ $(missing) ]] || exit 0
mkdir -p "$FOLDER"
command -v go >/dev/null || give_up "go is not installed, so these cannot be built: $(missing | paste -sd ' ')"
exec 9>"$FOLDER/.lock"
flock 9
rm -f "$REASON"
for name in $(missing); do # read again: the previous holder of the lock may have built them
  build "$name"
done
