use super::*;
use crate::frame::{parsed, testing};

fn args(list: &[&str]) -> Args {
    parsed(list)
}

#[test]
fn scale_one_is_the_article() {
    let plan = args(&[]).plan();
    assert_eq!((plan.rows, plan.pool), (300_024, Size(256 << 20)));
    assert_eq!(plan.keys, Keys::ALL);
    assert_eq!(args(&["--scale", "10"]).plan().rows, 3_000_240);
    let plan = args(&["--rows", "500", "--keys", "both,plain"]).plan();
    assert_eq!((plan.rows, plan.keys), (500, vec![Keys::Plain, Keys::Both]));
}

/// The embedded engine with a small table, to a report with all its parts.
#[test]
fn a_small_run_gives_a_whole_report() {
    let flags = "--rows 1500 --keys plain,both --rounds 1 --threads 2 --before 0.05 --pool 24M";
    let left = testing::whole::<Args>(&flags.split(' ').collect::<Vec<_>>());
    let cells = left.data["cells"].as_array().unwrap();
    // Two ways, two sets of constraints.
    assert_eq!(cells.len(), 4);
    for c in cells {
        let of = |state: &str, figure: &str| c[state][figure].as_f64().unwrap();
        for state in ["fresh", "fragmented"] {
            let median = of(state, "median_seconds");
            assert!(of(state, "least_seconds") <= median && median <= of(state, "most_seconds"));
        }
        let names: Vec<&str> = (c["stages"].as_array().unwrap().iter())
            .map(|s| s["stage"].as_str().unwrap())
            .collect();
        assert!(names.contains(&"copy to tmp table"), "{names:?}");
        let sorted = c["way"] == "expand_fast_index_creation=ON";
        assert_eq!(names.contains(&"restoring secondary keys"), sorted);
        assert_eq!(c["row_by_row_to_this"].is_number(), sorted);
        let beside = &c["beside"];
        assert_eq!(beside["rebuild_seconds"].as_array().unwrap().len(), 1);
        assert_eq!(beside["first_error"], serde_json::Value::Null);
        let alone = |of: &str| beside["alone"][of]["count"].as_u64().unwrap();
        assert_eq!(
            alone("reads") + alone("writes"),
            beside["alone"]["statements"]
        );
        if c["keys"] == "plain" {
            assert_eq!(c["to_plain"], 1.0);
        }
    }
    // Three rebuilds of each.
    assert_eq!(left.csv.lines().count(), 4 * 3 + 1);
    for part in ["15.3", "32.4", "33.9", "stages", "row by row", "<svg"] {
        assert!(left.page.contains(part), "{part}");
    }
}

#[test]
fn a_run_that_is_stopped_leaves_a_valid_report() {
    let report = testing::stopped::<Args>(&["--rows", "200"]);
    assert!(report.headline.is_empty());
}
