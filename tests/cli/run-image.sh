#!/usr/bin/env bash
# usage: run-image.sh PROGRAM FOLDER RUNNER...
#
# The model of `rlx demo` as an image that PROGRAM (rlx) writes into FOLDER, run by RUNNER: tests/wasm/run_image.cpp,
# linked without the compiler. Its outputs must be those of PROGRAM.
set -euo pipefail
program=$1 out=$2
shift 2
encoder=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../../examples/encoder.rlx
mkdir -p "$out"
# The sentences that run_image.cpp has.
ids=
for i in {0..23}; do
  if [ "$i" = 12 ]; then ids+='], ['; elif [ "$i" != 0 ]; then ids+=', '; fi
  ids+=$(((7 + 31 * i + i * i) % 100))
done
"$program" compile "$encoder" --device cpu --out "$out/encoder.rlxi"
"$program" run "$out/encoder.rlxi" --input "ids=[[$ids]]" --format npy --out "$out"
"$@" "$out/encoder.rlxi" "$out/probabilities.npy"
