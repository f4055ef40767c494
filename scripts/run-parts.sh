#!/usr/bin/env bash
# Runs targets of the Makefile one after another, each whether or not the ones before it succeeded, and says at the end
# which failed. Exits with 1 if any did.
#
#   scripts/run-parts.sh TARGET...
set -uo pipefail
trap 'exit 130' INT
trap 'exit 143' TERM

failed=()
for part in "$@"; do
  printf '==> make %s\n' "$part"
  # --keep-going: a part may have parts of its own.
  "${MAKE:-make}" --no-print-directory --keep-going "$part" || failed+=("$part")
done

printf '\n'
for part in "$@"; do
  [[ " ${failed[*]-} " == *" $part "* ]] && result=FAILED || result=ok
  printf '%-24s %s\n' "$part" "$result"
done
if ((${#failed[@]} > 0)); then
  printf '%d of %d parts failed: %s\n' "${#failed[@]}" "$#" "${failed[*]}"
  exit 1
fi
printf 'all %d parts succeeded\n' "$#"
