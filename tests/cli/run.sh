#!/usr/bin/env bash
# usage: run.sh PROGRAM SOURCE_FOLDER
#
# Runs the program rlx as a user would and checks what it prints and how it exits. What needs a GPU
# is checked on every adapter there is; with none, all the rest must still hold.
set -uo pipefail
[ $# = 2 ] || { echo "usage: run.sh PROGRAM SOURCE_FOLDER" >&2; exit 2; }
rlx=$(realpath "$1")
[ -x "$rlx" ] || { echo "run.sh: there is no program $1" >&2; exit 2; }
encoder=$(realpath "$2")/examples/encoder.rlx

. "$(dirname "$(realpath "$0")")/claims.sh"

cat >double.rlx <<'END'
rlx 1
%0 = input @"x" : f32[n, 2]
%1 = add %0, %0 @"twice" : f32[n, 2]
output "y" %1
END
cat >root.rlx <<'END'
rlx 1
%0 = input @"x" : f32[3]
%1 = neg %0 @"negated" : f32[3]
%2 = sqrt %1 @"root" : f32[3]
%3 = exp %2 @"grown" : f32[3]
output "y" %3
END

cat >forever.rlx <<'END'
rlx 1
%0 = input @"x" : f32[2]
%1 = input @"go" : bool[]
%2 = while_loop _, %1, %0 body={
  %0 = input @"i" : i64[]
  %1 = input @"go" : bool[]
  %2 = input @"x" : f32[2]
  %3 = add %2, %2 @"twice" : f32[2]
  output "go" %1
  output "y" %3
} captured=0 @"forever" : f32[2]
output "y" %2
END

# The command line.
claim "the version" 0 '^rlx [0-9]+\.[0-9]+' -- --version
claim "help names the commands" 0 'run' 'inspect' 'compile' 'devices' 'compare' 'ops' 'demo' 'Exits with' -- --help
for command in run inspect compile convert quantise devices compare demo; do
  claim "help of $command has an example" 0 "rlx $command" 'Example' -- "$command" --help
done
claim "a loop without an end ends where its budget does" 1 '^rlx: run: its loops went round more than 1000 times' \
  -- run forever.rlx --input go=true --device cpu --iteration-budget 1000
claim "a loop within its budget ends by itself" 0 'y +f32' \
  -- run forever.rlx --input go=false --device cpu --iteration-budget 1000
claim "a budget below 0 is wrong usage" 2 '^rlx: .*--iteration-budget' \
  -- run forever.rlx --device cpu --iteration-budget=-1
claim "no command is wrong usage" 2 '^rlx: A command is required' --
claim "an unknown command is wrong usage" 2 '^rlx: .*fly' -- fly
claim "an unknown flag is wrong usage" 2 '^rlx: .*--fast' '!values' -- run double.rlx --bind n=1 --device cpu --fast
claim "a missing operand is wrong usage" 2 '^rlx: .*FILE' -- run
claim "an unknown format is wrong usage" 2 '^rlx: .*--format' -- run double.rlx --format xml

# Inputs.
claim "a literal is the input" 0 'y +f32\[2, 2\]' '2 4 6 8' -- run double.rlx --device cpu --input 'x=[[1, 2], [3, 4]]'
claim "--bind gives inputs a shape" 0 'y +f32\[5, 2\]' -- run double.rlx --device cpu --bind n=5
claim "a number fills an input" 0 'y +f32\[1, 2\] .* 7 7' -- run double.rlx --device cpu --bind n=1 --input x=3.5
claim "an unbound symbol names the flag" 1 "^rlx: input 'x' .*--bind n=NUMBER" -- run double.rlx --device cpu
claim "a wrong input name lists the right ones" 1 "^rlx: there is no input 'z'; there is x" -- run double.rlx --device cpu --input z=1
claim "a wrong shape names both" 1 "^rlx: .*input 'x' is f32\[3\], the graph wants f32\[n, 2\]" -- run double.rlx --device cpu --input 'x=[1, 2, 3]'
claim "a ragged literal is refused" 1 '^rlx: the literal .*elements where others have' -- run double.rlx --device cpu --input 'x=[[1, 2], [3]]'
claim "a wrong spec is wrong usage" 2 '^rlx: --input: .*random:SEED' -- run double.rlx --device cpu --input x=some
claim "a wrong binding is wrong usage" 2 '^rlx: --bind: ' -- run double.rlx --device cpu --bind n=many
claim "an unknown symbol lists the right ones" 1 "^rlx: there is no symbol 'm' .*there is n" -- run double.rlx --device cpu --bind m=1
claim "an extent beyond its bound is refused" 1 "'seq' lies in 1\.\.64" -- run "$encoder" --device cpu --bind seq=65 --bind batch=1
claim "a wrong output lists the right ones" 1 "^rlx: there is no output 'q'; there is y" -- run double.rlx --device cpu --bind n=1 --output q

# Files.
claim "a missing file is named" 1 '^rlx: .*nowhere\.rlx' '!terminate' -- run nowhere.rlx
claim "a missing array is named" 1 '^rlx: .*nowhere\.npy' -- run double.rlx --device cpu --input x=nowhere.npy
head -c 60 double.rlx >cut.rlx
claim "a truncated graph says where" 1 '^rlx: cut\.rlx:[0-9]+:[0-9]+' -- run cut.rlx --device cpu
cp "$encoder" lonely.rlx
claim "missing weights are named" 1 '^rlx: .*lonely\.safetensors' -- run lonely.rlx --device cpu --bind batch=1 --bind seq=4
head -c 2000 "${encoder%.rlx}.safetensors" >lonely.safetensors
claim "truncated weights are refused" 1 '^rlx: .*lonely\.safetensors' -- run lonely.rlx --device cpu --bind batch=1 --bind seq=4

# Outputs.
claim "JSON has full values" 0 '"dtype": "f32"' '"values"' '0\.2' -- run double.rlx --device cpu --input 'x=[[0.1, 2]]' --format json
claim "JSON writes NaN and Inf as strings" 0 '"NaN"' '"-Infinity"' -- run double.rlx --device cpu --input 'x=[[nan, -inf]]' --format json
claim "arrays are written" 0 'results/y\.npy +f32\[1, 2\]' -- run double.rlx --device cpu --input 'x=[[1, 2]]' --format npy --out results
claim "and read back as inputs" 0 ' 4 8$' -- run double.rlx --device cpu --input x=results/y.npy
claim "a folder that cannot be made is named" 1 '^rlx: .*double\.rlx' -- run double.rlx --device cpu --bind n=1 --out double.rlx/results
cat >alike.rlx <<'END'
rlx 1
%0 = input @"x" : f32[2]
%1 = neg %0 : f32[2]
output "o:0" %0
output "o_0" %1
END
claim "outputs with like names have a file each" 0 'results/o_0\.npy' 'results/o_0_2\.npy' -- run alike.rlx --device cpu --input 'x=[1, 2]' --format npy --out results
cp results/o_0_2.npy random_x.npy
claim "a file may be named as a word is" 0 'o:0 .* -1 -2$' -- run alike.rlx --device cpu --input x=random_x.npy
printf 'rlx 1\n%%0 = input @"x" : u64[1]\noutput "y" %%0\n' >large.rlx
claim "a literal may be any u64" 0 '18446744073709551615' -- run large.rlx --device cpu --input 'x=[18446744073709551615]' --format json
claim "a negative number is no u64" 1 '^rlx: the literal .* does not fit into u64' -- run large.rlx --device cpu --input 'x=[-1]'
cat >complex.rlx <<'END'
rlx 1
%0 = constant value=c64[2]{(1, 2), (3, -4)} : c64[2]
output "z" %0
END
claim "a complex number has both its parts" 0 '1\.0\+2\.0i 3\.0-4\.0i$' -- run complex.rlx --device cpu
claim "in JSON as well" 0 '^ +2(\.0)?$' '^ +-4(\.0)?$' -- run complex.rlx --device cpu --format json
claim "random inputs repeat by seed" 0 '"y"' -- run double.rlx --device cpu --bind n=4 --input x=random:3 --format json
cp out.txt first.json
claim "the same seed again" 0 '"y"' -- run double.rlx --device cpu --bind n=4 --input x=random:3 --format json
holds "gives the same outputs" cmp out.txt first.json
claim "another seed" 0 '"y"' -- run double.rlx --device cpu --bind n=4 --input x=random:4 --format json
holds "gives others" bash -c '! cmp -s out.txt first.json'

# Looking inside.
claim "the first NaN is found at its node" 1 "^rlx: node 'root' \(sqrt.*1 NaN.*at \[1\].*operands are finite" -- run root.rlx --device cpu --input 'x=[-1, 2, -3]' --check-nan
claim "finite results pass" 0 'finite' -- run root.rlx --device cpu --input 'x=[-1, -2, -3]' --check-nan
claim "an input's NaN is traced to it" 1 "^rlx: node 'negated' .*input 'x'" -- run root.rlx --device cpu --input 'x=[nan, 1, 1]' --check-nan
claim "values are dumped" 0 -- run root.rlx --device cpu --input 'x=[-1, -2, -3]' --dump values
holds "one file for each node, and an index" test -s values/1_negated.npy -a -s values/2_root.npy -a -s values/3_grown.npy -a -s values/index.json
claim "a report tells memory and steps" 0 'slots' 'at the peak' 'steps on the host' 'median of 3 runs' -- run "$encoder" --device cpu --bind batch=1 --bind seq=4 --report --repeat 3
claim "reports and traces are files" 0 -- run "$encoder" --device cpu --bind batch=1 --bind seq=4 --report-json report.json --trace trace.json
holds "with what was asked for" grep -q '"host_steps"' report.json
holds "in the form that trace viewers read" grep -q '"traceEvents"' trace.json

# Converting.
claim "a graph is written with its tensors beside it" 0 '^copy\.rlx: [0-9]+ nodes, tensors in copy\.safetensors$' -- convert "$encoder" copy.rlx
claim "and gives the same" 0 'cpu and cpu agree' -- compare copy.rlx --devices cpu,cpu --bind batch=2 --bind seq=5
holds "as a file it is the same" cmp copy.rlx "$encoder"
claim "over itself" 0 'copy\.safetensors$' -- convert copy.rlx copy.rlx
claim "and again over it" 0 'copy\.safetensors$' -- convert "$encoder" copy.rlx
printf 'rlx 1\n%%0 = input @"ids" : i64[2, 9]\noutput "ids" %%0\n' >ids.rlx
"$rlx" run ids.rlx --input ids=ones --out samples >/dev/null
claim "quantising tells what each layer lost" 0 'linear_8 +4\.10 kB +int4_block +640 B +[0-9.]+ % +[0-9.]+ %' 'probabilities +[0-9.]+ %' '14 layers from' \
  -- quantise "$encoder" --calibrate samples --format int4 --out small.rlx
claim "and what it wrote runs" 0 'probabilities' -- run small.rlx --input ids=samples/ids.npy
holds "without the floats it had" bash -c '[ $(($(stat -c %s small.safetensors) * 4)) -lt "$(stat -c %s "$1")" ]' _ "${encoder%.rlx}.safetensors"
claim "what would lose too much is kept" 0 'it would lose too much' -- quantise "$encoder" --calibrate samples --format int4 --most 0 --out small.rlx
claim "each input needs a sample" 1 "^rlx: there is no .*ids\.npy for the input 'ids'" -- quantise "$encoder" --calibrate . --out small.rlx
claim "a folder of samples that is missing is named" 1 "^rlx: 'nowhere' is no folder" -- quantise "$encoder" --calibrate nowhere --out small.rlx
mkdir -p empty
claim "an empty one is told" 1 "^rlx: 'empty' is empty" -- quantise "$encoder" --calibrate empty --out small.rlx
claim "an unknown format of weights is told" 1 '^rlx: .*int5' -- quantise "$encoder" --calibrate samples --format int5 --out small.rlx
claim "a graph without layers is told" 1 "^rlx: 'ids\.rlx' has no product, convolution or table" -- quantise ids.rlx --calibrate samples --out small.rlx
# A table, a gate and experts.
weight() { echo "%$1 = weight value=$3{$(seq -s ', ' "$4" | sed -E 's/[0-9]+/&.5/g; s/[0-9]*[13579]\.5/-&/g')} @\"$2\" : $3"; }
{ echo 'rlx 1'
  echo '%0 = input @"ids" : i64[2, 9]'
  weight 1 table 'f32[4, 32]' 128
  echo '%2 = gather %1, %0 axis=0 @"embed" : f32[2, 9, 32]'
  echo '%3 = reshape %2 shape=dims[18, 32] @"rows" : f32[18, 32]'
  weight 4 gate 'f32[32, 3]' 96
  echo '%5 = matmul %3, %4 @"scores" : f32[18, 3]'
  echo '%6 = argmax %5 axis=-1 keep=false @"expert" : i64[18]'
  weight 7 experts 'f32[3, 32, 32]' 3072
  echo '%8 = grouped_matmul %3, %7, %6 @"work" : f32[18, 32]'
  echo 'output "y" %8'; } >experts.rlx
claim "experts, gates and tables are quantised" 0 'embed +512 B +int8_block +144 B' 'scores +384 B +int8_block +108 B' 'work +12\.3 kB +int8_block +3\.46 kB' 'y +[0-9.]+ %' \
  -- quantise experts.rlx --calibrate samples --out few.rlx
claim "and run" 0 'y +f32\[18, 32\]' -- run few.rlx --device cpu --input ids=samples/ids.npy
# The same in half floats, and as small as the weights of large models are.
sed -E 's/([0-9]+)\.5/0.0\1/g; s/f32/f16/g' experts.rlx >half.rlx
claim "so are weights of f16" 0 'embed +256 B +int8_block +144 B' 'scores +192 B +int8_block' 'work +6\.14 kB +int8_block +3\.46 kB +0\.[0-9]+ % +0\.[0-9]+ %' \
  -- quantise half.rlx --calibrate samples --out few-half.rlx
claim "and give f16" 0 'y +f16\[18, 32\]' -- run few-half.rlx --device cpu --input ids=samples/ids.npy
sed -E 's/0\.0([0-9])/0.00001\1/g; s/f16/bf16/g' half.rlx >brain.rlx
for model in half brain; do
  claim "formats without scales of their own get one of the tensor: $model" 0 'embed .* nvfp4 +72 B +(1[0-2]|[0-9])\.[0-9]+ % +(1[0-2]|[0-9])\.[0-9]+ %' 'work .* kB +(1[0-2]|[0-9])\.[0-9]+ %' \
    -- quantise $model.rlx --calibrate samples --format nvfp4 --out few-$model.rlx
  claim "which their results are multiplied by: $model" 0 'y +b?f16\[18, 32\]' -- run few-$model.rlx --device cpu --input ids=samples/ids.npy
done
# Two convolutions; the first has products enough for bytes.
{ echo 'rlx 1'
  echo '%0 = input @"x" : f32[1, 1, 500]'
  echo "%1 = weight value=f32[1, 1, 400]{$(seq -s ', ' 1 400)} @\"w\" : f32[1, 1, 400]"
  echo '%2 = conv %0, %1 @"wide" : f32[1, 1, 101]'
  echo '%3 = weight value=f32[2, 1, 3]{3, -2, 1, 0, 0, 0} @"v" : f32[2, 1, 3]'
  echo '%4 = conv %2, %3 @"narrow" : f32[1, 2, 99]'
  echo 'output "y" %4'; } >signal.rlx
printf 'rlx 1\n%%0 = input @"x" : f32[1, 1, 500]\noutput "x" %%0\n' >x.rlx
"$rlx" run x.rlx --input x=random:1 --out signals >/dev/null
claim "convolutions become bytes" 0 'wide +1\.60 kB +i8, x u8 +404 B +0\.[0-9]+ % +[0-9.]+ %' 'narrow +24 B +i8 +14 B' 'y +1\.[0-9]+ %' \
  -- quantise signal.rlx --calibrate signals --out bytes.rlx
claim "that give much the same" 0 'y +f32\[1, 2, 99\]' -- run bytes.rlx --device cpu --input x=signals/x.npy
sed 's/f32/f16/g' signal.rlx >half-signal.rlx
sed 's/f32/f16/g' x.rlx >half-x.rlx
"$rlx" run half-x.rlx --input x=random:1 --out half-signals >/dev/null
claim "those of f16 as well" 0 'wide +800 B +i8, x u8 +404 B +0\.[0-9]+ % +[0-9.]+ %' 'narrow +12 B +i8 +14 B' 'y +[12]\.[0-9]+ %' \
  -- quantise half-signal.rlx --calibrate half-signals --out half-bytes.rlx
claim "and give it" 0 'y +f16\[1, 2, 99\]' -- run half-bytes.rlx --device cpu --input x=half-signals/x.npy
claim "or their weights alone do" 0 'wide +1\.60 kB +i8 +404 B' -- quantise signal.rlx --calibrate signals --weights-only --out bytes.rlx
claim "one without large tensors is one file" 0 '^copy\.rlx: 2 nodes$' -- convert double.rlx copy.rlx
holds "and leaves no tensors of the one before" test ! -e copy.safetensors
printf precious >copy.safetensors
claim "tensors that are another's are refused" 1 "^rlx: 'copy\.safetensors' exists and is not of 'copy\.rlx'" -- convert "$encoder" copy.rlx
holds "and kept" grep -qx precious copy.safetensors
claim "a missing graph to convert is named" 1 "^rlx: cannot open 'nowhere\.onnx'" -- convert nowhere.onnx copy.rlx
claim "a file that is no graph is told" 1 '^rlx: .*cut\.rlx:' -- convert cut.rlx copy.rlx
claim "another ending is wrong usage" 2 "^rlx: OUT: 'copy\.onnx' does not end in \.rlx" -- convert double.rlx copy.onnx
claim "a folder that is not there is named" 1 "^rlx: cannot write 'no/where\.rlx'" -- convert double.rlx no/where.rlx
claim "where there is no place for them, tensors are named" 1 "^rlx: cannot write 'no/where\.safetensors'" -- convert "$encoder" no/where.rlx
# A limit on the size of files stands for a disk that is full.
holds "a write that fails is told and leaves nothing" bash -c "trap '' XFSZ; ulimit -f 1
  ! '$rlx' convert '$encoder' full.rlx 2>err.txt && grep -q \"^rlx: cannot write 'full.safetensors'\" err.txt && ! ls -A | grep full"

# Images: what compile writes runs as the graph does.
claim "a graph is compiled to an image" 0 '^double\.rlxi: 1 steps, 0 kernels, for cpu$' -- compile double.rlx --device cpu --out double.rlxi
claim "which runs" 0 'y +f32\[2, 2\]' '2 4 6 8' -- run double.rlxi --input 'x=[[1, 2], [3, 4]]'
claim "takes --bind" 0 'y +f32\[5, 2\]' -- run double.rlxi --bind n=5
claim "asks for it" 1 "^rlx: input 'x' .*--bind n=NUMBER" -- run double.rlxi
claim "lists its outputs" 1 "^rlx: there is no output 'q'; there is y" -- run double.rlxi --bind n=1 --output q
claim "and is shown" 0 '^image 6  cpu' '^  v0  input' 'call add  reads v0, v0' '^  y  f32\[n, 2\]' -- inspect double.rlxi
cp out.txt image.txt
claim "as inspect would have it" 0 -- inspect double.rlx --image
holds "to the letter" cmp out.txt image.txt
claim "an image is no JSON" 2 '^rlx: inspect: an image has neither --json' -- inspect double.rlxi --json
claim "a model with weights is one file" 0 '^encoder\.rlxi: [0-9]+ steps' -- compile "$encoder" --device cpu --out encoder.rlxi
claim "the graph" 0 '"probabilities"' -- run "$encoder" --device cpu --bind batch=2 --bind seq=5 --format json
cp out.txt graph.json
claim "and the image" 0 '"probabilities"' -- run encoder.rlxi --bind batch=2 --bind seq=5 --format json
holds "give the same" cmp out.txt graph.json
claim "bounds of symbols are in the image" 1 "'seq' lies in 1\.\.64" -- run encoder.rlxi --bind seq=65 --bind batch=1
head -c 5000 encoder.rlxi >cut.rlxi
claim "a truncated image is refused" 1 '^rlx: cut\.rlxi: the image has [0-9]+ bytes, the file has 5000' -- run cut.rlxi
{ head -c 3000 encoder.rlxi; printf X; tail -c +3002 encoder.rlxi; } >damaged.rlxi
claim "a damaged image is refused" 1 '^rlx: damaged\.rlxi: .*damaged' -- inspect damaged.rlxi
cp double.rlx named.rlxi
claim "a graph is no image" 1 '^rlx: named\.rlxi: .*image' -- run named.rlxi
claim "an image is no graph" 1 '^rlx: double\.rlxi is an image, and a graph is needed here' -- compare double.rlxi --devices cpu,cpu --bind n=1
claim "what needs the graph says so" 2 '^rlx: --check-nan: needs a graph, and double\.rlxi is an image' -- run double.rlxi --bind n=1 --check-nan
claim "another ending is wrong usage of compile" 2 "^rlx: --out: 'double\.bin' does not end in \.rlxi" -- compile double.rlx --out double.bin

# Graphs and devices.
claim "inspect shows what is in a graph" 0 'ids +i64\[batch, seq\]' 'probabilities' 'seq in 1\.\.64' '2 attention' 'of [0-9]+ parameters' 'at the peak' -- inspect "$encoder"
claim "inspect asks for what it needs to plan" 0 '--bind n=NUMBER' -- inspect double.rlx
claim "inspect prints the graph and its memory" 0 '%1 = add %0, %0' 'slot +bytes' -- inspect double.rlx --bind n=3 --memory --text
claim "inspect as JSON" 0 '"peak_bytes"' '"symbols"' -- inspect "$encoder" --json
claim "a device equals itself" 0 'cpu and cpu agree' 'to the bit' -- compare "$encoder" --devices cpu,cpu --bind batch=2 --bind seq=5
claim "one device cannot be compared" 2 '^rlx: --devices' -- compare "$encoder" --devices cpu
claim "an unknown device lists what there is" 1 "^rlx: there is no device 'abacus'; there is cpu" -- run double.rlx --bind n=1 --device abacus
claim "the CPU is always there" 0 '^cpu' 'auto takes' -- devices
claim "devices as JSON" 0 '"name": "cpu"' '"auto_why"' -- devices --json
cp out.txt devices.json
claim "ops as JSON: one array of ops" 0 -- ops neg --device cpu --json
node -e '
  const [op, ...others] = JSON.parse(require("fs").readFileSync("out.txt"));
  console.log(Object.keys(op).join(), others.length, op.name, op.devices.cpu.includes("f32"));' >ops.txt
holds "with these fields, and the dtypes that were right" grep -qx 'name,family,rows,gradient,devices,note 0 neg true' ops.txt
claim "a filter must be a regular expression" 1 "^rlx: conformance: the filter '\\[' is no regular expression" -- conformance --data . --filter '['

# Without a WebGPU library all is as before on the CPU, and the reason is there to read.
claim "a missing library is told" 0 '^cpu' '^missing' '/nonexistent' 'auto takes cpu' -- devices --webgpu-library /nonexistent
claim "and the CPU works" 0 '2 4$' -- run double.rlx --webgpu-library /nonexistent --input 'x=[[1, 2]]'
claim "but there is no GPU, and it says why" 1 "^rlx: there is no device 'gpu'" '/nonexistent' -- run double.rlx --webgpu-library /nonexistent --bind n=1 --device gpu
printf 'not a library' >fake.so
claim "a file that is no library is told" 0 '^missing' 'fake\.so' -- devices --webgpu-library ./fake.so
claim "the demo runs on the CPU alone" 0 '^ *cpu ' 'Only the CPU was found' -- demo --webgpu-library /nonexistent
RLX_WEBGPU_LIBRARY=/elsewhere.so claim "a library named by the environment" 0 '/elsewhere\.so' -- devices
RLX_WEBGPU_LIBRARY='' claim "an empty name means none" 0 'no WebGPU library was named' -- devices

# Every adapter there is.
mapfile -t adapters < <(sed -n 's/^      "name": "\(.*\)",$/\1/p' devices.json | grep -vx cpu)
for adapter in "${adapters[@]}"; do
  claim "$adapter agrees on quantised experts" 0 "cpu and $adapter agree" -- compare few.rlx --devices "cpu,$adapter" --input ids=samples/ids.npy
  claim "$adapter agrees on those of f16" 0 "cpu and $adapter agree" -- compare few-half.rlx --devices "cpu,$adapter" --input ids=samples/ids.npy
  claim "$adapter agrees with the CPU" 0 "cpu and $adapter agree" -- compare "$encoder" --devices "cpu,$adapter" --bind batch=2 --bind seq=7
  claim "$adapter reports its dispatches" 0 'dispatches' 'workgroups' 'pipelines compiled: [1-9]' 'readback' -- run "$encoder" --device "$adapter" --bind batch=1 --bind seq=4 --report
  claim "$adapter is inspected" 0 "on $adapter" 'dispatch' 'kernels' -- inspect "$encoder" --device "$adapter"
  claim "$adapter has images" 0 "^$adapter\.rlxi: [0-9]+ steps, [1-9][0-9]* kernels, for $adapter\$" -- compile "$encoder" --device "$adapter" --out "$adapter.rlxi"
  claim "$adapter runs a graph" 0 '"probabilities"' -- run "$encoder" --device "$adapter" --bind batch=2 --bind seq=5 --format json
  cp out.txt graph.json
  claim "$adapter runs its image" 0 '"probabilities"' -- run "$adapter.rlxi" --bind batch=2 --bind seq=5 --format json
  holds "$adapter gives the same from both" cmp out.txt graph.json
  claim "$adapter refuses the CPU's image" 1 "^rlx: the image was built for 'cpu' and cannot run on '$adapter'" -- run double.rlxi --device "$adapter" --bind n=1
  claim "the CPU refuses the image of $adapter" 1 "^rlx: the image was built for '$adapter' and cannot run on 'cpu'" -- run "$adapter.rlxi" --device cpu --bind batch=1 --bind seq=4
  claim "$adapter finds the first NaN" 1 "^rlx: node 'root'" -- run root.rlx --device "$adapter" --input 'x=[-1, 2, -3]' --check-nan
  claim "$adapter rounds otherwise, which no tolerance makes a difference" 1 "cpu and $adapter differ first at node '.*' \\(" 'at \[.* on cpu, ' -- compare "$encoder" --devices "cpu,$adapter" --bind batch=2 --bind seq=7 --tolerance 0
  claim "$adapter doubles to the bit" 0 "to the bit" -- compare double.rlx --devices "cpu,$adapter" --bind n=3 --tolerance 0
done
claim "the demo runs everywhere" 0 'probabilities' "${adapters[@]/#/^ *}" -- demo

summary "on cpu ${adapters[*]}"
