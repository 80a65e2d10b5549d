#!/usr/bin/env bash
# usage: onnx.sh RLX SOURCE_FOLDER
#
# How many of ONNX's backend tests pass never falls below what tests/cli/onnx-counts says. Skipped
# where the tests or the device are not installed.
set -euo pipefail
[ $# = 2 ] || { echo "usage: onnx.sh RLX SOURCE_FOLDER" >&2; exit 2; }
[ -d /usr/share/libonnx-testdata/data ] || { echo "libonnx-testdata is not installed"; exit 77; }

failed=0
while read -r least device flags; do
  "$1" devices 2>/dev/null | grep -qx "$device" || { echo "there is no $device"; continue; }
  # shellcheck disable=SC2086  # flags are words
  summary=$("$1" conformance --device "$device" $flags 2>/dev/null | tail -n 1 || true)
  echo "$summary"
  passed=$(sed -nE 's/.*: ([0-9]+) of [0-9]+ passed.*/\1/p' <<<"$summary")
  if [ "${passed:-0}" -lt "$least" ]; then
    echo "on $device at least $least passed before"
    failed=1
  fi
done <"$2/tests/cli/onnx-counts"
exit "$failed"
