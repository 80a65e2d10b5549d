#!/usr/bin/env bash
# usage: examples.sh HELLO MAKE_ENCODER SOURCE_FOLDER
#
# The example programs run, and the model in examples/ is what make_encoder writes.
set -euo pipefail
[ $# = 3 ] || { echo "usage: examples.sh HELLO MAKE_ENCODER SOURCE_FOLDER" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$1" | tee "$work/hello.txt"
grep -q '^f32\[2, 10\] on ' "$work/hello.txt"
"$2" "$work/encoder.rlx"
cmp "$work/encoder.rlx" "$3/examples/encoder.rlx"
cmp "$work/encoder.safetensors" "$3/examples/encoder.safetensors"
