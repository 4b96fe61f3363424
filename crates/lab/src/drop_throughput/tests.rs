use super::*;
use crate::frame::{parsed, testing};

fn args(list: &[&str]) -> Args {
    parsed(list)
}

#[test]
fn the_empty_pool_is_always_first() {
    let fills = |list: &[&str]| args(list).plan().fills;
    let gib = |n: u64| Size(n << 30);
    assert_eq!(fills(&["--fill", "4G,1G"]), [Size(0), gib(1), gib(4)]);
    assert_eq!(fills(&["--fill", "0,1G"]), [Size(0), gib(1)]);
    assert_eq!(
        fills(&["--scale", "1"]),
        [Size(0), gib(21), gib(52), gib(104)]
    );
}

/// The embedded engine with little of everything, to a report with all its parts.
#[test]
fn a_small_run_gives_a_whole_report() {
    let left = testing::whole::<Args>(&["--fill", "0,24M", "--tables", "20", "--rounds", "2"]);
    assert!(left.page.contains("<svg") && left.page.contains("Percona Server 5.1.56"));
    let cells = left.data["cells"].as_array().unwrap();
    assert!(cells.len() >= 2 && cells.len().is_multiple_of(2));
    let (first, last) = (&cells[0], &cells[cells.len() - 1]);
    assert_eq!(first["fill_bytes"], 0);
    assert!(last["cached_bytes"].as_u64().unwrap() >= 24 << 20);
    assert!(last["seconds_per_drop"].as_f64().unwrap() > 0.0);
    assert!(left.csv.lines().count() > cells.len());
}

#[test]
fn a_run_that_is_stopped_leaves_a_valid_report() {
    testing::stopped::<Args>(&["--fill", "0,8M"]);
}

#[test]
fn rounds_are_summed_up() {
    let round = |dropped: &[f64]| Round {
        create: 0.0,
        dropped: dropped.to_vec(),
    };
    let r = round(&[0.1, 0.4, 0.5]);
    assert!((r.slowest() - 0.3).abs() < 1e-9);
    assert!((r.per_drop() - 0.5 / 3.0).abs() < 1e-9);
    let cell = Cell {
        subject: 0,
        fill: Size(0),
        pool: PoolPages::default(),
        rounds: vec![round(&[3.0]), round(&[1.0]), round(&[2.0])],
    };
    assert_eq!(cell.median().per_drop(), 2.0);
}
