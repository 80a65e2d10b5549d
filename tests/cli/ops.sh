#!/usr/bin/env bash
# usage: ops.sh RLX SOURCE_FOLDER
#
# docs/ops.md is what the program makes of the rows that run now. Skipped where a device it has
# columns for is missing.
set -euo pipefail
[ $# = 2 ] || { echo "usage: ops.sh RLX SOURCE_FOLDER" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

devices=$("$1" devices 2>/dev/null | grep -cE '^(cpu|lavapipe|swiftshader)$' || true)
if [ "$devices" != 3 ]; then
  echo "only $devices of the three devices are here"
  exit 77
fi
"$1" ops --markdown --device cpu --device lavapipe --device swiftshader 2>/dev/null >"$work/ops.md"
if ! diff -u "$2/docs/ops.md" "$work/ops.md"; then
  echo "docs/ops.md is old: ./run ops --markdown > docs/ops.md"
  exit 1
fi
