// The element of x at the place that the indices name. Functions: place_of.
// Loads: x 1 for each result.

fn compute(i: u32) -> T { return load_x(place_of(i)); }
