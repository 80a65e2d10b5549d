#!/usr/bin/env bash
# usage: models.sh RLX SOURCE_FOLDER [NAME…]
#
# Generates the models of tools/make-models and compares what each gives on every device with what
# onnxruntime gave, which tests/models keeps. No device may leave a step to the host, where not said
# otherwise; the CPU runs no op by its reference; and neither passes nor rlx convert change anything. Skipped where node is
# not installed.
set -uo pipefail
[ $# -ge 2 ] || { echo "usage: models.sh RLX SOURCE_FOLDER [NAME…]" >&2; exit 2; }
rlx=$(realpath "$1") source=$(realpath "$2")
shift 2
command -v node >/dev/null || { echo "node is not installed"; exit 77; }

# Of the largest magnitude of an output. The worst seen is 6e-6 of whole networks, which add up what
# their layers round, and 3e-7 of single operators.
tolerance_of() { case $1 in ms-* | onnx-* | control) echo 1e-6 ;; *) echo 2e-5 ;; esac; }
# On SwiftShader these take too long to be worth it.
large=' bert-base crnn resnet18 resnet18-int8 '
# What the data decide is read back, and the sum of an i64 mask is the host's.
hosted=' control ms-decoder-next ms-decoder-prompt '

work=$(mktemp -d "$(dirname "$rlx")/models.XXXXXX") # 0.6 GB, which not every /tmp has
trap 'rm -rf "$work"' EXIT
if [ $# = 0 ]; then
  for reference in "$source"/tests/models/*.json; do set -- "$@" "$(basename "$reference" .json)"; done
fi
"$source/tools/make-models" "$work" "$@" || exit 1

devices=$("$rlx" devices 2>/dev/null)
failed=0
problem() { echo "  $*"; failed=1; }
. "$(dirname "$(realpath "$0")")/steps.sh"
for name in "$@"; do
  inputs=()
  for input in "$work/$name"/*.npy; do inputs+=(--input "$(basename "$input" .npy)=$input"); done
  for device in cpu lavapipe swiftshader; do
    grep -qx "$device" <<<"$devices" || continue
    if [ $device = swiftshader ] && [[ $large == *" $name "* ]]; then continue; fi
    flags=(--device $device --out "$work/out" --report-json "$work/report.json")
    strict=1
    if [ $device = cpu ] || [[ $hosted == *" $name "* ]]; then strict=; else flags+=(--strict); fi
    start=$EPOCHREALTIME
    "$rlx" run "$work/$name.onnx" "${inputs[@]}" "${flags[@]}" >/dev/null 2>"$work/errors" ||
      { echo "$name on $device"; problem "$(grep '^rlx:' "$work/errors" || tail -n 1 "$work/errors")"; continue; }
    echo "$name on $device: $(((${EPOCHREALTIME/./} - ${start/./}) / 1000)) ms"
    node "$source/tools/models/compare.mjs" "$source/tests/models/$name.json" "$work/out" "$(tolerance_of "$name")" || failed=1
    if [ $device = lavapipe ]; then check_steps "$source/tests/models/steps" "$name" "$work/$name.onnx"; fi
    if [ $device = cpu ] && grep -q '"implementation": "reference"' "$work/report.json"; then
      problem "runs references: $(grep -B3 '"implementation": "reference"' "$work/report.json" | sed -n 's/.*"op": "\(.*\)",/\1/p' | sort -u | tr '\n' ' ')"
    fi
    if [ "$strict" ] && grep -q '"host_steps": [1-9]' "$work/report.json"; then problem "leaves steps to the host"; fi
    if [ $device = cpu ]; then
      # Passes change nothing beyond rounding.
      rm -rf "$work/plain"
      "$rlx" run "$work/$name.onnx" "${inputs[@]}" --device cpu --disable-pass all --out "$work/plain" >/dev/null &&
        node "$source/tools/models/compare.mjs" "$source/tests/models/$name.json" "$work/plain" "$(tolerance_of "$name")" ||
        problem "is another one without passes"
    fi
    if [ $device = cpu ] && [[ $large != *" $name "* ]]; then
      # As rlx's own text and tensors it gives the same bits.
      rm -f "$work"/converted.*
      "$rlx" convert "$work/$name.onnx" "$work/converted.rlx" >/dev/null &&
        "$rlx" run "$work/converted.rlx" "${inputs[@]}" --device cpu --out "$work/again" >/dev/null &&
        diff -r "$work/out" "$work/again" || problem "is another one after convert"
    fi
    rm -rf "$work/out" "$work/again"
  done
done
exit $failed
