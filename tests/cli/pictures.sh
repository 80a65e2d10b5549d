#!/usr/bin/env bash
# usage: pictures.sh SPECTRUM SPLAT SOURCE_FOLDER
#
# The examples that draw: a spectrum of each kind of file has its peaks where the signal has them, and
# a scene is fitted from noise to the pictures that it should give.
set -uo pipefail
[ $# = 3 ] || { echo "usage: pictures.sh SPECTRUM SPLAT SOURCE_FOLDER" >&2; exit 2; }
spectrum=$(realpath "$1") splat=$(realpath "$2") source=$(realpath "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export RLX_DEVICE=cpu
failed=0

# draws NAME PEAK FILE [COLUMN]: the first peak is that, and both pictures are there.
draws() {
  local name=$1 peak=$2
  if ! "$spectrum" "$3" out.png out.svg "${@:4}" >out.txt 2>err.txt ||
    ! sed -n 2p out.txt | grep -qE "^ *$peak(\.00)? Hz" || [ ! -s out.png ] || ! grep -q ">$peak Hz" out.svg; then
    echo "FAILED: $name" && cat out.txt err.txt && failed=1
  fi
  rm -f out.png out.svg
}

draws "a WAV" 468.75 "$source/examples/speech.wav"
awk 'BEGIN { print "time,volts"; for (i = 0; i < 4096; ++i) print i / 128 "," sin(i * 3.14159265358979 / 8) }' >wave.csv
RATE=128 draws "a column of a CSV" 8 wave.csv 1
# An EDF: one signal, 16 records of a second, 128 samples in each: a square wave of 16 samples.
{ printf '%-8s%-80s%-80s%-8s%-8s%-8s%-44s%-8s%-8s%-4s' 0 someone something 01.01.26 00.00.00 512 '' 16 1 1
  printf '%-16s%-80s%-8s%-8s%-8s%-8s%-8s%-80s%-8s%-32s' wave '' uV -100 100 -32768 32767 '' 128 ''
  for _ in $(seq 128); do printf '\000\020%.0s' 1 2 3 4 5 6 7 8; printf '\000\360%.0s' 1 2 3 4 5 6 7 8; done; } >wave.edf
draws "a signal of an EDF" 8 wave.edf 0

"$splat" --fit fit >out.txt 2>&1
reached=$(sed -n 's/.*PSNR \([0-9.]*\) dB/\1/p' out.txt | tail -n 1)
if ! awk -v x="${reached:-0}" 'BEGIN { exit !(x >= 30) }' || [ ! -s fit-fitted.png ] || [ ! -s fit-wanted.png ]; then
  echo "FAILED: a scene is fitted to 30 dB" && cat out.txt && failed=1
fi
exit $failed
