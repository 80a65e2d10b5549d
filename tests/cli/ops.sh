#!/usr/bin/env bash
# usage: ops.sh RLX SOURCE_FOLDER
#
# Every row is right on every device there is, and docs/ops.md is what the program makes of them.
set -euo pipefail
[ $# = 2 ] || { echo "usage: ops.sh RLX SOURCE_FOLDER" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mapfile -t devices < <("$1" devices 2>/dev/null | grep -xE 'cpu|lavapipe|swiftshader' | sort)
# shellcheck disable=SC2046  # the names are words
"$1" ops --markdown $(printf -- '--device %s ' "${devices[@]}") 2>"$work/wrong" >"$work/ops.md" || {
  grep -v '^Warning\|^ - While\|^    at ' "$work/wrong"
  exit 1
}
if [ "${devices[*]}" != 'cpu lavapipe swiftshader' ]; then
  echo "right on ${devices[*]}; docs/ops.md has columns for others and is not compared"
elif ! diff -u "$2/docs/ops.md" "$work/ops.md"; then
  echo "docs/ops.md is old: tools/generate"
  exit 1
fi
