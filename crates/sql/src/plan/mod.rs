//! From statements to operator trees: name resolution, access paths, join order, EXPLAIN.
