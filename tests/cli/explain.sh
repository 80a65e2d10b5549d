#!/usr/bin/env bash
# usage: explain.sh PROGRAM SOURCE_FOLDER
#
# rlx explain tells what passes did and nearly did, and its page opens in a browser, where there is one.
set -uo pipefail
[ $# = 2 ] || { echo "usage: explain.sh PROGRAM SOURCE_FOLDER" >&2; exit 2; }
rlx=$(realpath "$1") source=$(realpath "$2")
. "$(dirname "$(realpath "$0")")/claims.sh"

# gelu, by its formula; the second with a number that is none of its.
cat >gelu.rlx <<'END'
rlx 1
%0 = input @"x" : f32[n, 8]
%1 = constant value=f32[]{1.4142135} : f32[]
%2 = constant value=f32[]{1} : f32[]
%3 = constant value=f32[]{0.5} : f32[]
%4 = constant value=f32[]{1.3} : f32[]
%5 = div %0, %1 @"scaled" : f32[n, 8]
%6 = erf %5 @"bell" : f32[n, 8]
%7 = add %6, %2 @"raised" : f32[n, 8]
%8 = mul %0, %7 @"gated" : f32[n, 8]
%9 = mul %8, %3 @"gelu" : f32[n, 8]
%10 = div %9, %4 @"scaled2" : f32[n, 8]
%11 = erf %10 @"bell2" : f32[n, 8]
%12 = add %11, %2 @"raised2" : f32[n, 8]
%13 = mul %9, %12 @"gated2" : f32[n, 8]
%14 = mul %13, %3 @"nearly" : f32[n, 8]
output "y" %14
END
claim "passes, ops and steps are told" 0 'find-activations +[1-9]' 'gelu +0 +1' 'steps without passes' 'as it is:' \
  -- explain gelu.rlx --bind n=4
claim "a near miss says where and why" 0 "find-activations +1 +mul 'nearly' .*wanted" -- explain gelu.rlx --bind n=4
claim "nodes are told one by one" 0 "^  - erf 'bell' f32\[n, 8\]" '^  \+ gelu ' -- explain gelu.rlx --bind n=4 -v
claim "steps have bytes" 0 'erf +.*f32\[4, 8\] +128 B +128 B' -- explain gelu.rlx --bind n=4 --disable-pass simplify --disable-pass fuse
taken=$("$rlx" explain gelu.rlx --bind n=4 | sed -n 's/.* without passes, \([0-9]*\) with them.*/\1/p')
claim "they are those that inspect counts" 0 "^on cpu  steps: $taken host$" -- inspect gelu.rlx --bind n=4
claim "groups are told, too" 0 '^fuse$' '^  \+ fused ' -- explain gelu.rlx --bind n=4 -v
claim "they can be left out" 0 '!unfused' -- explain gelu.rlx --bind n=4 --no-steps
claim "the way to a program that is ready is timed" 0 \
  '^  ready in .*: import .*, passes .* \([0-9.]+ %\), lowering .*, preparing ' -- explain gelu.rlx --times
claim "a symbol that nobody binds is named" 0 'with 1 for n: add --bind n=NUMBER' -- explain gelu.rlx
claim "a pass that is none is refused" 1 "^rlx: there is no pass 'fly'" -- explain gelu.rlx --disable-pass fly

sed 's/@"bell2"/@"<\/script><b>bell2"/' gelu.rlx >named.rlx
# Two rows name two experts at most.
cat >experts.rlx <<'END'
rlx 1
%0 = input @"x" : f32[2, 8]
%1 = input @"w" : f32[64, 8, 16]
%2 = input @"expert" : i32[2]
%3 = grouped_matmul %0, %1, %2 @"named" : f32[2, 16]
output "y" %3
END
claim "of experts those are counted that rows can name" 0 'named .*1\.10 kB +128 B' 'as it is: +1\.10 kB read' -- \
  explain experts.rlx

claim "a page is written" 0 -- explain named.rlx --bind n=4 --html page.html
holds "which asks nothing of the network" bash -c '! grep -qE "(src|href)=|https?://|@import|fetch\(" page.html'
holds "and whose data end no script" test "$(grep -o '</script>' page.html | wc -l)" = 1
if command -v chromium >/dev/null; then
  chromium --headless=new --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" --virtual-time-budget=3000 --dump-dom \
    "file://$PWD/page.html#search=bell2" >dom.html 2>/dev/null </dev/null
  holds "a browser shows the passes' totals" grep -q 'steps moving' dom.html
  holds "and finds a node" grep -q '1 found' dom.html
  holds "with its cost" grep -q 'arithmetic' dom.html
  holds "and its name as text" grep -q '&lt;/script&gt;&lt;b&gt;bell2' dom.html
else
  echo "chromium is not installed: the page was not opened"
fi
summary
