#!/usr/bin/env bash
# usage: splat-files.sh SPLAT
#
# The example draws a .splat and a .spz file, and says what is wrong with one that is not whole.
set -euo pipefail
[ $# = 1 ] || { echo "usage: splat-files.sh SPLAT" >&2; exit 2; }
splat=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export RLX_DEVICE=cpu

# scene COUNT VERSION: a header that says so, and two red Gaussians of 21 bytes.
scene() {
  printf 'NGSP\'"$2"'\0\0\0\'"$1"'\0\0\0\0\x0c\0\0'
  printf '\0\0\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0' # places
  printf '\xff\xff'                               # opacities
  printf '\xff\x80\x80\xff\x80\x80'               # colours
  printf '\x90\x90\x90\x90\x90\x90'               # sizes
  printf '\0\0\0\xc0\0\0\0\xc0'                   # rotations
}
wrong=0
# says PATTERN FILE: the program fails with that message.
says() {
  if "$splat" "$2" picture 1 >out.txt 2>&1 || ! grep -qE -- "$1" out.txt; then
    echo "no message that matches $1 for $2:" && cat out.txt && wrong=1
  fi
}
# places WORD: a .splat of two Gaussians at (WORD, WORD, WORD) and one at 0, all red and 0.5 wide.
places() {
  local place size='\0\0\0\x3f\0\0\0\x3f\0\0\0\x3f' rest='\xff\0\0\xff\xff\x80\x80\x80'
  for place in "$1" "$1" '\0\0\0\0'; do printf "$place$place$place$size$rest"; done
}
places '\0\0\x80\x3f' >red.splat
"$splat" red.splat picture 1 >out.txt 2>&1 || { cat out.txt; wrong=1; }
grep -q '^3 Gaussians' out.txt && [ -s picture-0.png ] || { echo "red.splat was not drawn"; wrong=1; }
places '\0\0\xc0\x7f' >lost.splat # no numbers: they must not be sorted
"$splat" lost.splat picture 1 >out.txt 2>&1 || { cat out.txt; wrong=1; }
places '\0\0\xc0\x7f' | head -c 64 >nowhere.splat
says 'no Gaussian that is anywhere' nowhere.splat
rm -f picture-0.png

scene 2 3 | gzip >whole.spz
if ! "$splat" whole.spz picture 1 >out.txt 2>&1; then
  grep -q 'zlib, which was not there' out.txt || { cat out.txt; exit 1; }
  exit 0
fi
[ -s picture-0.png ] || { echo "nothing was drawn"; wrong=1; }
scene 5 3 | gzip >short.spz
says 'shorter than its header says' short.spz
printf 'NGSP\3\0\0\0\0\0\0\xf0\0\x0c\0\0' | gzip >boastful.spz
says 'too short for the [0-9]+ bytes' boastful.spz
scene 2 1 | gzip >old.spz
says 'version 1; 2 to 4' old.spz
head -c 30 whole.spz >cut.spz
says 'not what zlib writes' cut.spz
scene 2 4 >table.spz
says 'parts are missing|zstd, which was not there' table.spz
exit $wrong
