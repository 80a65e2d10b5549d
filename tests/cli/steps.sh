# Sourced by scripts that run models, which have $rlx, $work and problem.

# check_steps RECORD NAME MODEL: the steps of a run on lavapipe that take time, copies and clears among
# them, of all branches together, are no more than RECORD says.
check_steps() {
  local most steps
  most=$(awk -v name="$2" '$1 == name { print $2 }' "$1")
  [ "$most" ] || return
  steps=$("$rlx" explain "$3" --device lavapipe 2>"$work/errors" |
    sed -n 's/^.* without passes, \([0-9]*\) with them.*/\1/p')
  [ "$steps" ] || { problem "is not explained: $(tail -n 1 "$work/errors")"; return; }
  if [ "$steps" -gt "$most" ]; then problem "takes $steps steps, where $most were enough"; fi
  if [ "$steps" -lt "$most" ]; then echo "  takes $steps steps: $1 may say so"; fi
}
