use super::*;
use crate::frame::{parsed, testing};
use std::collections::HashSet;

fn args(list: &[&str]) -> Args {
    parsed(list)
}

#[test]
fn cases_are_chosen_by_name() {
    let all: Vec<&str> = CASES.iter().flat_map(Case::names).collect();
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    let names = |list: &[&str]| -> Vec<&str> {
        let plan = args(list).plan();
        plan.cases.iter().flat_map(Case::names).collect()
    };
    assert_eq!(names(&[]), all);
    assert_eq!(
        names(&["--only", "drop index,OPTIMIZE"]),
        ["drop index", "OPTIMIZE TABLE"]
    );
    let none = run(&args(&["--only", "nothing like it"]));
    assert!(none.unwrap_err().to_string().contains("add last column"));
}

/// Every change on the embedded engine with a small table, to a report with all its parts.
#[test]
fn a_small_run_gives_a_whole_report() {
    let flags = "--rows 300 --rounds 1 --threads 2 --before 0.02 --pool 24M";
    let left = testing::whole::<Args>(&flags.split(' ').collect::<Vec<_>>());
    let cells = left.data["cells"].as_array().unwrap();
    let names: Vec<&str> = cells
        .iter()
        .map(|c| c["change"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        CASES.iter().flat_map(Case::names).collect::<Vec<_>>()
    );
    let of = |name: &str| cells.iter().find(|c| c["change"] == name).unwrap();
    assert_eq!(of("rename column")["algorithm"], "INSTANT");
    assert_eq!(of("OPTIMIZE TABLE")["algorithm"], "DEFAULT");
    for c in cells.iter().filter(|c| c["refused"].is_null()) {
        let of = |figure: &str| c[figure].as_f64().unwrap();
        let median = of("median_seconds");
        assert!(
            of("least_seconds") <= median && median <= of("most_seconds"),
            "{c}"
        );
        assert_eq!(c["first_error"], serde_json::Value::Null, "{c}");
    }
    let refused = cells.iter().filter(|c| !c["refused"].is_null()).count();
    assert_eq!(left.csv.lines().count(), cells.len() - refused + 1);
    assert_eq!(left.page.matches("refuses").count(), refused);
}

#[test]
fn a_run_that_is_stopped_leaves_a_valid_report() {
    let report = testing::stopped::<Args>(&["--rows", "200"]);
    assert!(report.headline.is_empty());
}
