#!/usr/bin/env bash
# Records the decisions of kubelet's own memory and topology managers about random pods to test/data/managers/golden/memory.json.
# Needs Go and its module proxy; ordinary tests only read the file.
set -euo pipefail

cd "$(dirname "$0")/../../.."
readonly KUBERNETES=v1.36.4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
from=$(go mod download -json "k8s.io/kubernetes@$KUBERNETES" | sed -n 's/^\t"GoMod": "\(.*\)",\{0,1\}$/\1/p')
{
  printf 'module nodelet.test/memory\n\n'
  grep '^go ' "$from"
  printf '\nrequire k8s.io/kubernetes %s\n\nreplace (\n' "$KUBERNETES"
  sed -n "s|^\tk8s.io/\([a-z-]*\) => ./staging/.*|\tk8s.io/\1 => k8s.io/\1 ${KUBERNETES/v1/v0}|p" "$from"
  printf ')\n'
} >"$folder/go.mod"
cp test/managers/memory/main.go "$folder/"
mkdir -p test/data/managers/golden
(cd "$folder" && go mod tidy -e >/dev/null 2>&1 || true; CGO_ENABLED=0 go run -mod=mod .) >"$folder/out.json"
mv "$folder/out.json" test/data/managers/golden/memory.json
