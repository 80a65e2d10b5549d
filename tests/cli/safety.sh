#!/usr/bin/env bash
# usage: safety.sh PROGRAM SOURCE_FOLDER
#
# What the program takes from the folder it is started in, and what it does to files that are not its
# own: nothing is loaded that nobody named, and nothing is replaced but regular files.
set -uo pipefail
[ $# = 2 ] || { echo "usage: safety.sh PROGRAM SOURCE_FOLDER" >&2; exit 2; }
rlx=$(realpath "$1")
[ -x "$rlx" ] || { echo "safety.sh: there is no program $1" >&2; exit 2; }
source=$(realpath "$2")
encoder=$source/examples/encoder.rlx
. "$(dirname "$(realpath "$0")")/claims.sh"

cat >double.rlx <<'END'
rlx 1
%0 = input @"x" : f32[n, 2]
%1 = add %0, %0 @"twice" : f32[n, 2]
output "y" %1
END

# Where reports and results are written.
mkfifo pipe
cat pipe >through.txt &
reader=$!
claim "a FIFO is written through" 0 -- run double.rlx --device cpu --bind n=1 --report-json pipe
[ -p pipe ] || kill "$reader"
wait "$reader"
holds "and stays one" test -p pipe
holds "with the report at its other end" grep -q '"host_steps"' through.txt
printf old >kept.json
chmod 600 kept.json
ln -s kept.json link.json
claim "a link's file is written" 0 -- run double.rlx --device cpu --bind n=1 --report-json link.json
holds "and the link stays one" test -L link.json
holds "with the report where it leads" grep -q '"host_steps"' kept.json
holds "and what only its owner could read stays so" test "$(stat -c %a kept.json)" = 600
if mknod null c 1 3 2>/dev/null && : 2>/dev/null >null; then # root's alone, and not everywhere
  claim "a device is written through" 0 -- run double.rlx --device cpu --bind n=1 --report-json null
  holds "and stays one" test -c null
fi
ln -s /proc/self/fd/1 stdout # as /dev/stdout is, which a mistake would replace for everyone
holds "what standard output is goes there in turn" bash -c "'$rlx' run double.rlx --device cpu --bind n=1 --report-json stdout >both.txt && grep -q host_steps both.txt && grep -q '^ *y ' both.txt"

# Flags that say nothing.
for flag in --report-json --trace --out --dump; do
  claim "an empty $flag is wrong usage" 2 "^rlx: $flag: .*empty" -- run double.rlx --device cpu --bind n=1 "$flag" ''
done
for tolerance in nan inf -1 much; do
  claim "a tolerance of $tolerance is wrong usage" 2 '^rlx: --tolerance: .*0 or more' -- compare double.rlx --devices cpu,cpu --bind n=1 --tolerance "$tolerance"
done
claim "a dim has an end" 2 '^rlx: --bind: .*more than a dim can be' -- inspect double.rlx --bind n=9223372036854775807
claim "and so have bytes" 1 'does not fit 64 bits' -- inspect double.rlx --bind n=9223372036854775806

# onnx NAME: y = Relu(x) of three floats, y having another name of one byte.
onnx() {
  value() { printf '\x0a\x01%b\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x03' "$1"; }
  printf '\x08\x08\x42\x02\x10\x0d\x3a\x33\x0a\x0c\x0a\x01x\x12\x01%b\x22\x04Relu\x12\x01g' "$1"
  printf '\x5a\x0f'
  value x
  printf '\x62\x0f'
  value "$1"
}
onnx y >MODEL.ONNX
claim "an ending in capitals is the same" 0 ' 0 0 2$' -- run MODEL.ONNX --device cpu --input 'x=[-1, 0, 2]'
onnx '\x1b' >escape.onnx
claim "a name does not reach the terminal's controls" 0 '\\x1b' "!$(printf '\033')" -- run escape.onnx --device cpu
claim "nor in a message" 1 '\\x1b' "!$(printf '\033')" -- run escape.onnx --device cpu --output "$(printf 'z\033[2J')"

printf 'rlx 1\n%%0 = input @"x" : f32[2, 2]\n%%1 = transpose %%0 order=[%s0] : f32[2, 2]\noutput "y" %%1\n' "$(seq -s, 0 9000)," >long.rlx
claim "a message is no longer than a screen" 1 'characters \.\.\.' -- run long.rlx --device cpu
holds "whatever a file has in it" test "$(wc -c <err.txt)" -lt 6000

# Streams that are not there: what is opened next must not become them.
holds "a closed output is told, and nothing else is written to" bash -c "! '$rlx' devices >&- 2>err.txt && grep -q 'could not be written' err.txt"
holds "a closed error stream does no harm" bash -c "'$rlx' run double.rlx --bind n=1 --device cpu 2>&- <&-"

# A file that changes under a run. The input comes through a FIFO, so that the run has begun.
"$rlx" run "$encoder" --device cpu --bind batch=1 --bind seq=4 --input ids=zeros >/dev/null || exit 2
cat >weighted.rlx <<'END'
rlx 1
%0 = input @"x" : f32[64]
%1 = weight value=f32[64]@"w" @"w" : f32[64]
%2 = add %0, %1 @"sum" : f32[64]
output "y" %2
END
header='{"w":{"dtype":"F32","shape":[64],"data_offsets":[0,256]}}       '
weights() { printf "\\x$(printf %02x ${#header})\\0\\0\\0\\0\\0\\0\\0%s" "$header"; head -c 256 "$1"; }
weights /dev/zero >weighted.safetensors
touch -d '1 minute ago' weighted.safetensors
claim "weights in a file" 0 -- run weighted.rlx --device cpu --input x=zeros --format npy
mv y.npy zeros.npy
mkfifo x.npy
# changing NAME COMMAND…: the command changes the weights when the program has read them.
changing() {
  local name=$1 problem=
  shift
  "$rlx" run weighted.rlx --device cpu --input x=x.npy >out.txt 2>err.txt &
  local program=$!
  exec 3>x.npy
  "$@"
  cat zeros.npy >&3
  exec 3>&-
  if wait "$program"; then problem="  exited with 0"$'\n'; fi
  cat out.txt err.txt >all.txt
  grep -q 'written to while it was in use' err.txt || problem+="  does not say so"$'\n'
  finish "$name" "$problem" "$*"
}
overwrite() { yes | head -c 256 | dd of=weighted.safetensors bs=1 seek=$((${#header} + 8)) conv=notrunc 2>/dev/null; }
changing "weights that are overwritten during a run are told" overwrite
changing "weights that are cut off during a run are told" truncate -s $((${#header} + 100)) weighted.safetensors

# Converting.
mkdir folder.rlx
claim "a folder is not written over" 1 "^rlx: cannot write 'folder\.rlx': it is a folder" -- convert "$encoder" folder.rlx
holds "and no tensors stay behind" test ! -e folder.safetensors

# ONNX's tests: what has nothing to compare with has not passed.
mkdir -p data/node/test_bare data/node/test_empty/test_data_set_0
onnx y | tee data/node/test_bare/model.onnx >data/node/test_empty/model.onnx
claim "a test without data has failed" 1 'failed node/test_bare: it has no test_data_set_0' '0 of 1 passed' -- conformance --data data --filter bare
claim "as has one without outputs" 1 'failed node/test_empty: ' '0 of 1 passed' -- conformance --data data --filter empty
claim "no test at all is no success" 1 "^rlx: conformance: no test in data has a name that matches 'nothing'" -- conformance --data data --filter nothing

# Libraries and drivers. A file that is no library is told where it is tried, and so shows that it was.
library=libwebgpu_wrapper.so
for folder in . .deps/npm/node_modules/bun-webgpu-linux-x64 tree/.deps/npm/node_modules/bun-webgpu-linux-x64; do
  mkdir -p "$folder"
  printf 'not a library' >"$folder/$library"
done
for folder in .deps/lavapipe tree/.deps/lavapipe; do
  mkdir -p "$folder"
  printf 'no manifest' >"$folder/lvp_icd.json"
done
mkdir -p tree/bin examples
cp "$rlx" tree/bin/rlx
cp "$encoder" "${encoder%.rlx}.safetensors" examples
holds "the program keeps no path of the tree it was built in" bash -c "! grep -qaF '$source' '$rlx'"
unset RLX_WEBGPU_LIBRARY RLX_VULKAN_DRIVERS
claim "nothing is loaded from the current folder" 0 '^cpu' '!libwebgpu_wrapper' '!lvp_icd' -- devices
rlx=$work/tree/bin/rlx
claim "nor from folders above the program" 0 '^cpu' '!libwebgpu_wrapper' '!lvp_icd' -- devices
printf 'not a library' >"tree/bin/$library"
claim "a library beside the program is" 0 "tree/bin/$library" -- devices
claim "the demo runs no graph of the current folder" 1 '^rlx: demo: there is no \.\./share/rlx/' -- demo

summary
