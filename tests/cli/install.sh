#!/usr/bin/env bash
# usage: install.sh CMAKE BUILD_FOLDER SOURCE_FOLDER
#
# What is installed is all a user needs: the examples, and what the README says, build against it
# outside the tree; its headers are those of the list, tests/cli/public-headers, and name nothing but
# the standard library and each other; who includes rlx/rlx.h compiles no more than that takes.
set -euo pipefail
[ $# = 3 ] || { echo "usage: install.sh CMAKE BUILD_FOLDER SOURCE_FOLDER" >&2; exit 2; }
cmake=$1 build=$2 source=$3
export LC_ALL=C  # what sorts and compares
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

failed=0
wrong() {
  echo "install.sh: $*"
  failed=1
}
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }
# configure_and_build FOLDER: a project outside the tree, quick rather than fast.
configure_and_build() {
  quietly "$cmake" -G Ninja -S "$1" -B "$1/out" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_CXX_FLAGS_DEBUG=-O0
  grep 'left out' "$work/log" || true
  quietly "$cmake" --build "$1/out"
}

quietly "$cmake" --install "$build" --prefix "$prefix"
"$prefix/bin/rlx" --version
"$prefix/bin/rlx" demo >/dev/null 2>&1 || wrong "rlx demo does not find what it runs"
[ -f "$prefix/share/rlx/examples/encoder.rlx" ] || wrong "what rlx demo runs is not installed"
if grep -rnF -e "$source" -e "$build" "$prefix" --include='*.cmake' --include='*.h'; then wrong "paths of the tree are installed"; fi
if grep -qaF -e "$source" -e "$build" "$prefix/bin/rlx"; then wrong "the program keeps a path of the tree"; fi

cd "$prefix/include"
[ -f rlx/rlx.h ] || wrong "rlx/rlx.h is not installed"
if grep -rnE '#include <[^>]*[./]' .; then wrong "a public header includes what is not the standard library's"; fi
if grep -rnE 'nlohmann|protozero|CLI::|fmt::|dnnl|WGPU|testing::' .; then wrong "a public header names another library's types"; fi
while read -r header; do
  [ -f "$header" ] || wrong "$header is included by a public header and not installed"
done < <(grep -rhoP '#include "\K[^"]+' . | sort -u)
# The list has two parts: what rlx/rlx.h leads to, and after an empty line what only rlx/op.h does.
leads_to() {  # leads_to HEADER: it and what it includes, sorted
  local all=$1 before=
  while [ "$all" != "$before" ]; do
    before=$all
    # shellcheck disable=SC2086
    all=$({ printf '%s\n' $before; grep -hoP '#include "\K[^"]+' $before; } | sort -u)
  done
  echo "$all"
}
list=$source/tests/cli/public-headers
of_user=$(sed '/^$/,$d' "$list")
diff <(echo "$of_user") <(leads_to rlx/rlx.h) || wrong "rlx/rlx.h does not lead to what $list says (<)"
diff <(sort -u "$list" | sed '/^$/d') <(find rlx -name '*.h' | sort) || wrong "what is installed is not what $list says (<)"
# shellcheck disable=SC2086
if grep -nwE 'Steps?|[A-Za-z]*Plans?|Backend|Executable' $of_user; then wrong "a header for users knows of steps, plans or backends"; fi
# shellcheck disable=SC2086
if grep -nE '#include <(algorithm|atomic|chrono|functional|iostream|memory|mutex|ostream|ranges|regex|sstream|thread|variant)>' $of_user; then
  wrong "a header for users includes a large header of the standard library"
fi
# Of these lines <string>, <vector>, <map>, <optional> and <span> are 42,000, as GCC 12 has them.
most_lines=45700
lines=$("${CXX:-c++}" -std=c++20 -I. -E -x c++ rlx/rlx.h | wc -l)
[ "$lines" -le "$most_lines" ] || wrong "rlx/rlx.h is $lines lines after the preprocessor, at most $most_lines are right"
[ "$failed" = 0 ] || exit 1
echo "$(find . -name '*.h' | wc -l) public headers, rlx/rlx.h is $lines lines"

cp -r "$source/examples" "$work/examples"
configure_and_build "$work/examples"
for example in "$source"/examples/*.cpp; do
  case $example in *_test.cpp) continue ;; esac
  name=$(basename "$example" .cpp)
  [ -x "$work/examples/out/$name" ] || grep -q 'picture\.h' "$example" || wrong "example $name was not built"
done
"$work/examples/out/hello" | tee "$work/hello"
# The probabilities of a row are ten, and 1 together.
awk '/^f32\[2, 10\] on cpu: / { for (i = 5; i <= NF; ++i) sum += $i; right = NF == 14 && sum > 0.9999 && sum < 1.0001 }
  END { exit !right }' "$work/hello" || wrong "hello printed something else"

# The README's lines, with an ONNX model of one node: y = Relu(x), both f32[3].
mkdir "$work/app"
block() { awk -v start="\`\`\`$1" '$0 == start { on = 1; next } on && /^```/ { exit } on' "$source/README.md"; }
{
  echo 'cmake_minimum_required(VERSION 3.25)'
  echo 'project(app LANGUAGES CXX)'
  block cmake
  echo 'add_library(plugin SHARED app.cpp)'
  echo 'target_link_libraries(plugin PRIVATE rlx::rlx)'
} >"$work/app/CMakeLists.txt"
{
  echo '#include <iostream>'
  echo '#include <rlx/rlx.h>'
  echo 'int main() {'
  echo 'const rlx::Tensor x = rlx::Tensor::of(rlx::DType::f32, {3}, {-1, 0, 2});'
  block cpp
  echo 'std::cout << results.at("y").at(0) << results.at("y").at(2) << std::endl; }'
} >"$work/app/app.cpp"
configure_and_build "$work/app"
value() { printf '\x0a\x01%s\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x03' "$1"; }
{
  printf '\x08\x08\x42\x02\x10\x0d\x3a\x33\x0a\x0c\x0a\x01x\x12\x01y\x22\x04Relu\x12\x01g'
  printf '\x5a\x0f%s\x62\x0f%s' "$(value x)" "$(value y)"
} >"$work/app/model.onnx"
cd "$work/app"
out/app | tee "$work/ran"
[ "$(paste -sd' ' "$work/ran")" = 'f32[3] 02' ] || wrong "the README's program printed something else"
exit "$failed"
