#!/usr/bin/env bash
# usage: examples.sh HELLO MAKE_ENCODER OWN_OP SOURCE_FOLDER
#
# The example programs run, and the model in examples/ is what make_encoder writes.
set -euo pipefail
[ $# = 4 ] || { echo "usage: examples.sh HELLO MAKE_ENCODER OWN_OP SOURCE_FOLDER" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$1" | tee "$work/hello.txt"
grep -q '^f32\[2, 10\] on ' "$work/hello.txt"
"$2" "$work/encoder.rlx"
cmp "$work/encoder.rlx" "$4/examples/encoder.rlx"
cmp "$work/encoder.safetensors" "$4/examples/encoder.safetensors"

# An op of one's own gives the same wherever it runs.
for device in cpu gpu; do
  if ! RLX_DEVICE=$device "$3" >"$work/own_op.txt" 2>"$work/errors.txt"; then
    grep "^there is no device 'gpu'" "$work/errors.txt"
    continue
  fi
  cat "$work/own_op.txt"
  grep -qE '^f32\[3, 2\] on .*: 0 1 0 1\.2 0\.666667 1\.33333$' "$work/own_op.txt"
done
