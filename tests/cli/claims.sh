# Sourced by scripts that check the program rlx as a user sees it: $rlx is the program. Makes a folder
# to work in, which goes away at the end, and goes there.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
checks=0 failures=0

# claim NAME EXIT PATTERN… -- ARGUMENTS…: the program exits so, and the two streams hold each of the
# patterns (extended regular expressions; one that starts with ! must not be there).
claim() {
  local name=$1 wanted=$2 patterns=() status pattern problem=
  shift 2
  while [ "$1" != -- ]; do patterns+=("$1"); shift; done
  shift
  "$rlx" "$@" >out.txt 2>err.txt </dev/null
  status=$?
  cat out.txt err.txt >all.txt
  [ $status = "$wanted" ] || problem+="  exited with $status, not $wanted"$'\n'
  for pattern in "${patterns[@]}"; do
    case $pattern in
      !*) ! grep -qE -- "${pattern#!}" all.txt || problem+="  has what matches ${pattern#!}"$'\n' ;;
      *) grep -qE -- "$pattern" all.txt || problem+="  has nothing that matches $pattern"$'\n' ;;
    esac
  done
  # A message is one, and is rlx's own: no text from a crash, nothing uncaught.
  if [ "$wanted" != 0 ] && ! grep -q '^rlx: ' err.txt && [ ! -s out.txt ]; then problem+="  says nothing"$'\n'; fi
  finish "$name" "$problem" "rlx $*"
}

# holds NAME COMMAND…: the command succeeds.
holds() {
  local name=$1 problem=
  shift
  "$@" >all.txt 2>&1 </dev/null || problem="  failed"$'\n'
  finish "$name" "$problem" "$*"
}

finish() {
  checks=$((checks + 1))
  [ -n "$2" ] || return 0
  failures=$((failures + 1))
  printf 'FAILED %s\n%s  %s\n' "$1" "$2" "$3"
  sed 's/^/  | /' all.txt | head -n 30
}

# Prints the summary; fails where a claim did.
summary() {
  echo "$checks checks${1:+ $1}, $failures failed"
  [ "$failures" = 0 ]
}
