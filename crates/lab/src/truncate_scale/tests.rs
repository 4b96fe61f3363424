use super::*;
use crate::frame::{parsed, testing};

fn args(list: &[&str]) -> Args {
    parsed(list)
}

#[test]
fn scale_one_is_the_article() {
    let pools = args(&["--scale", "1"]).plan().pools;
    assert_eq!(pools, [32u64, 64, 128, 256, 450].map(|n| Size(n << 30)));
    let plan = args(&["--pools", "2G,1G", "--tables", "7"]).plan();
    assert_eq!(plan.pools, [Size(1 << 30), Size(2 << 30)]);
    assert_eq!(plan.threads, 7);
}

/// The embedded engine with two small pools, to a report with all its parts.
#[test]
fn a_small_run_gives_a_whole_report() {
    let flags = "--pools 24M,32M --tables 6 --threads 3 --rounds 2";
    let left = testing::whole::<Args>(&flags.split(' ').collect::<Vec<_>>());
    let cells = left.data["cells"].as_array().unwrap();
    assert!(cells.len() >= 2 && cells.len().is_multiple_of(2));
    for c in cells {
        let pages = c["lru_pages"].as_u64().unwrap();
        let pool = c["pool_bytes"].as_u64().unwrap();
        assert!(pages * (16 << 10) > pool / 10 * 8, "{c}");
        assert!(c["truncate_seconds"].as_f64().unwrap() > 0.0);
    }
    assert_eq!(left.csv.lines().count(), cells.len() * 2 + 1);
}

#[test]
fn a_run_that_is_stopped_leaves_a_valid_report() {
    testing::stopped::<Args>(&[]);
}
