#!/usr/bin/env bash
# Builds main.go, which asks kubelet's own CPU manager, and runs record.ts with it. Needs Go and its module proxy; ordinary
# tests only read test/data/managers/cpu.json.
set -euo pipefail

cd "$(dirname "$0")/../../.."
readonly KUBERNETES=v1.36.4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
from=$(go mod download -json "k8s.io/kubernetes@$KUBERNETES" | sed -n 's/^\t"GoMod": "\(.*\)",\{0,1\}$/\1/p')
# The module names its staging repositories by folders that a module from a proxy does not have.
{
  printf 'module nodelet.test/cpu\n\n'
  grep '^go ' "$from"
  printf '\nrequire k8s.io/kubernetes %s\n\nreplace (\n' "$KUBERNETES"
  sed -n "s|^\tk8s.io/\([a-z-]*\) => ./staging/.*|\tk8s.io/\1 => k8s.io/\1 ${KUBERNETES/v1/v0}|p" "$from"
  printf ')\n'
} >"$folder/go.mod"
cp test/managers/cpu/main.go "$folder/"
(cd "$folder" && CGO_ENABLED=0 go build -mod=mod -o kubelet-cpus .)
scripts/node test/managers/cpu/record.ts --kubelet "$folder/kubelet-cpus" "$@"
scripts/biome check --write test/data/managers/cpu.json >/dev/null
