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
