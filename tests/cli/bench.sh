#!/usr/bin/env bash
# usage: bench.sh PROGRAM SOURCE_FOLDER
#
# rlx bench runs once on tiny models and tells what it should; no time is held to anything. The peer is
# rlx again, by a script, so that comparing is checked where onnxruntime is not installed.
set -uo pipefail
[ $# = 2 ] || { echo "usage: bench.sh PROGRAM SOURCE_FOLDER" >&2; exit 2; }
rlx=$(realpath "$1") source=$(realpath "$2")
. "$(dirname "$(realpath "$0")")/claims.sh"

encoder=$source/examples/encoder.rlx
mlp=$source/tests/fuzz/corpus/onnx/mlp.onnx
quick=(--seconds 0.01)
claim "help of bench has an example" 0 'rlx bench' 'Example' -- bench --help
claim "a model is measured by batch and by threads" 0 'GFLOP/s, reads of' 'encoder\.rlx +1 +1 +rlx' 'encoder\.rlx +4 +2 +rlx' \
  -- bench "$encoder" --bind seq=8 --batch 1,4 --threads 1,2 "${quick[@]}" --json b.json --html b.html --note 'a </script> in a note'
holds "the figures are JSON" grep -q '"p99_us"' b.json
holds "with the machine" grep -q '"instruction_set"' b.json
holds "and the limits of each number of threads" test "$(grep -c '"read_bytes"' b.json)" = 2
holds "the page asks nothing of the network" bash -c '! grep -qE "(src|href)=|https?://|@import|fetch\(" b.html'
holds "what is in the data ends no script" test "$(grep -o '</script>' b.html | wc -l)" = 1
claim "a record has a date" 0 -- bench "$encoder" --bind seq=8 "${quick[@]}" --no-limits --record records --note busy
holds "and what was noted" bash -c 'grep -qx busy records/20*-*.txt && grep -q "\"note\": \"busy\"" records/20*-*.json'
holds "without each run" bash -c '! grep -q some_runs records/*.json'
claim "an image is made" 0 'encoder\.rlxi: ' -- compile "$encoder" --device cpu --out encoder.rlxi
claim "and measured" 0 'encoder\.rlxi +1 ' -- bench encoder.rlxi --bind seq=8 "${quick[@]}" --no-limits

# The last argument is the job.
printf '#!/bin/sh\nexec "%s" bench --worker "$2"\n' "$rlx" >same
printf '#!/bin/sh\nexec "%s" bench --worker "$2" | sed "s/\\"name\\":\\"[^\\"]*\\"/\\"name\\":\\"another\\"/g"\n' "$rlx" >other
printf '#!/bin/sh\necho it does not work >&2\nexit 3\n' >broken
chmod +x same other broken
peers=(--peers --peer-library none --rounds 2 --no-limits)
claim "a peer that computes the same agrees" 0 'by median' ' 0 +0\.001$' 'geometric mean' -- bench "$mlp" --batch 2 "${quick[@]}" "${peers[@]}" --peer "$PWD/same"
claim "one whose outputs are others does not" 1 'Inf !' -- bench "$mlp" --batch 2 "${quick[@]}" "${peers[@]}" --peer "$PWD/other"
claim "one that fails says why" 1 '^rlx: .*broken failed' 'it does not work' -- bench "$mlp" --batch 2 "${quick[@]}" "${peers[@]}" --peer "$PWD/broken"
claim "one that is not there is named" 1 '^rlx: cannot start .*/nobody' -- bench "$mlp" --batch 2 "${quick[@]}" "${peers[@]}" --peer "$PWD/nobody"
claim "peers that were not named are asked for" 2 '^rlx: --peers: .*--peer PROGRAM' -- bench "$mlp" --peers

claim "a missing model is named" 1 '^rlx: .*nowhere\.onnx' -- bench nowhere.onnx
claim "an unbound symbol names the flag" 1 '--bind seq=NUMBER' -- bench "$encoder"
claim "without models there is nothing to measure" 1 '^rlx: there is no model' -- bench --models nowhere --packages nowhere
claim "a wrong number of threads is wrong usage" 2 '^rlx: --threads' -- bench "$encoder" --threads -1
claim "of any command" 2 '^rlx: --threads' -- run "$encoder" --threads many
claim "threads are given to any command" 0 probabilities -- run "$encoder" --device cpu --bind batch=1 --bind seq=4 --threads 1
summary
