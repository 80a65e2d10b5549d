#!/usr/bin/env bash
# usage: pictures.sh SPECTRUM SPLAT NEIGHBOURS SOURCE_FOLDER
#
# The examples that draw: a spectrum of each kind of file has its peaks where the signal has them, a
# scene is fitted from noise to the pictures that it should give, and clusters of points lie apart.
set -uo pipefail
[ $# = 4 ] || { echo "usage: pictures.sh SPECTRUM SPLAT NEIGHBOURS SOURCE_FOLDER" >&2; exit 2; }
spectrum=$(realpath "$1") splat=$(realpath "$2") neighbours=$(realpath "$3") source=$(realpath "$4")
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

# fits NAME FOLDER: its pictures are found to 30 dB.
fits() {
  local reached
  "$splat" --fit "$2" fit >out.txt 2>&1
  reached=$(sed -n 's/.*PSNR \([0-9.]*\) dB/\1/p' out.txt | tail -n 1)
  if ! awk -v x="${reached:-0}" 'BEGIN { exit !(x >= 30) }' || [ ! -s fit-fitted.png ]; then
    echo "FAILED: $1" && cat out.txt && failed=1
  fi
  rm -f fit-fitted.png
}
# refuses NAME PATTERN: pictures of `views` are no scene, and that is why.
refuses() {
  if "$splat" --fit views fit >out.txt 2>&1 || ! grep -qE -- "$2" out.txt; then
    echo "FAILED: $1" && cat out.txt && failed=1
  fi
}
fits "pictures of a scene are fitted" "$source/examples/scene"
"$splat" --scene views >out.txt 2>&1 || { cat out.txt && failed=1; }
cmp views/cameras.txt "$source/examples/scene/cameras.txt" || failed=1
# Twice as far from everything, and somewhere else: nothing but the cameras tells.
awk '/^#/ { print; next } { for (i = 2; i <= 7; ++i) $i = 2 * $i + 5 * (i % 3); $12 *= 2; $13 *= 2; print }' \
  "$source/examples/scene/cameras.txt" >views/cameras.txt
fits "wherever it is" views
awk '/^#/ { next } { print $1, $2 }' "$source/examples/scene/cameras.txt" >views/cameras.txt
refuses "a camera has 12 numbers" '0\.png has no 12 numbers'
echo "../0.png 0 0 4 0 0 0 0 1 0 0.8 0.1 9" >views/cameras.txt
refuses "pictures lie beside their cameras" '\.\./0\.png is in another folder'
echo "none.png 0 0 4 0 0 0 0 1 0 0.8 0.1 9" >views/cameras.txt
refuses "a picture that is not there is named" "cannot read 'views/none\.png'"
cp "$source/examples/menu.png" views
printf '%s 0 0 4 0 0 0 0 1 0 0.8 0.1 9\n' 0.png menu.png >views/cameras.txt
refuses "pictures have one size" 'menu\.png has another size than 0\.png'
echo "# nothing" >views/cameras.txt
refuses "there are some" 'it names no picture'

# lies NAME WANTED FILE…: as many of the neighbours have the same label.
lies() {
  if ! "$neighbours" out.svg "${@:3}" >out.txt 2>&1 || ! grep -qE -- "$2" out.txt; then
    echo "FAILED: $1" && cat out.txt && failed=1
  fi
}
lies "points it makes are drawn" '^5000 points of 64 dims; of their neighbours (8[5-9]|9[0-9])\.[0-9] %'
[ "$(grep -c '<circle' out.svg)" = 5000 ] || { echo "FAILED: not all points were drawn" && failed=1; }
awk 'BEGIN { for (i = 0; i < 80; ++i) print 9 * (i % 2) + sin(i) "," cos(3 * i) "," sin(7 * i) "," i % 2 }' >points.csv
lies "points of a table are drawn" '^80 points of 3 dims; of their neighbours 100\.0 %' points.csv
# Two clusters that share no edge: the first direction of the layout tells them apart.
for colour in 1f77b4 ff7f0e; do
  sed -n "s/^<circle cx='\([0-9]*\).*#$colour.*/\1/p" out.svg | awk '{ $1 < 400 ? ++left : ++right } END { exit !(NR == 40 && left * right == 0) }' ||
    { echo "FAILED: clusters lie apart" && grep '<circle' out.svg | head -n 80 && failed=1; }
done
exit $failed
