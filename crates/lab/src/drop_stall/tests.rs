use super::*;
use crate::frame::{parsed, testing};

fn args(list: &[&str]) -> Args {
    parsed(list)
}

#[test]
fn scale_one_is_the_article() {
    let plan = args(&["--scale", "1"]).plan();
    assert_eq!(plan.rows, 20_000_000);
    assert_eq!(plan.time, Duration::from_secs(900));
    assert_eq!(plan.pool_bytes, 6 << 30);
    assert_eq!((plan.threads, plan.dirty_ratio), (8, 3.0));
    assert_eq!(plan.schedule.len(), 30);
    assert_eq!(plan.schedule[1].0, Duration::from_secs(45));
}

#[test]
fn a_large_table_is_dropped_in_the_middle() {
    let plan = args(&["--tables", "2", "--interval", "1", "--drop-rows", "5000"]).plan();
    let ddl: Vec<Ddl> = plan.schedule.iter().map(|e| e.1).collect();
    assert_eq!(ddl, [Ddl::DropSmall(0), Ddl::DropLarge, Ddl::DropSmall(1)]);
    let churn = args(&["--churn", "2", "--time", "3"]).plan();
    assert_eq!(churn.schedule.len(), 6);
    assert_eq!(churn.schedule[5].1, Ddl::Churn(5));
}

#[test]
fn ratios_are_read() {
    assert_eq!(dirty_ratio("10:1"), Ok(10.0));
    assert_eq!(dirty_ratio("2"), Ok(2.0));
    assert!(dirty_ratio("0.5").is_err() && dirty_ratio("1:3").is_err());
}

/// The embedded engine under a little load, to a report with all its parts.
#[test]
fn a_small_run_gives_a_whole_report() {
    let flags =
        "--rows 2000 --threads 2 --tables 3 --interval 0.1 --drop-rows 1500 --algorithm millpond";
    let left = testing::whole::<Args>(&flags.split(' ').collect::<Vec<_>>());
    let cell = &left.data["cells"][0];
    for case in ["without_drops", "with_drops"] {
        let run = &cell[case];
        assert!(run["requests"].as_u64().unwrap() > 0, "{run}");
        assert!(run["lru_pages"].as_u64().unwrap() > 0);
        let p = |name: &str| run[name].as_f64().unwrap();
        assert!(p("p50_seconds") <= p("p999_seconds") && p("p999_seconds") <= p("max_seconds"));
    }
    assert_eq!(cell["without_drops"]["events"].as_array().unwrap().len(), 0);
    assert_eq!(cell["with_drops"]["events"].as_array().unwrap().len(), 4);
    assert!(left.page.contains("Longest stall") && left.page.contains("class=\"mark\""));
}

#[test]
fn a_run_that_is_stopped_leaves_a_valid_report() {
    let report = testing::stopped::<Args>(&["--rows", "1000"]);
    assert!(report.headline.is_empty());
}
