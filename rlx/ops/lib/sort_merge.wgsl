// Two sorted runs merged one element after the other, from any place on. Functions: element(at).

struct Entry {
  key: u32,
  index: u32,
}
// Indices differ, so there are no ties: the sort is stable.
fn is_before(a: Entry, b: Entry) -> bool { return a.key < b.key || (a.key == b.key && a.index < b.index); }

// What is left of each run, and its next element.
struct Heads {
  left: u32,
  left_end: u32,
  right: u32,
  right_end: u32,
  of_left: Entry,
  of_right: Entry,
}

// Behind the first `skipped` elements of both together.
fn start_merge(left: u32, left_count: u32, right: u32, right_count: u32, skipped: u32) -> Heads {
  var low = select(0u, skipped - right_count, skipped > right_count);
  var high = min(skipped, left_count);
  while (low < high) {
    let middle = (low + high) / 2u;
    if (is_before(element(left + middle), element(right + skipped - 1u - middle))) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  let a = left + low;
  let b = right + skipped - low;
  return Heads(a, left + left_count, b, right + right_count, element(a), element(b));
}

fn next_merged(heads: ptr<function, Heads>) -> Entry {
  let h = *heads;
  let takes_left = h.right >= h.right_end || (h.left < h.left_end && is_before(h.of_left, h.of_right));
  if (takes_left) {
    (*heads).left = h.left + 1u;
    (*heads).of_left = element(h.left + 1u);
    return h.of_left;
  }
  (*heads).right = h.right + 1u;
  (*heads).of_right = element(h.right + 1u);
  return h.of_right;
}
