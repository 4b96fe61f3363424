use super::*;
use crate::frame::{parsed, testing};

fn args(list: &[&str]) -> Args {
    parsed(list)
}

#[test]
fn scale_one_is_the_article() {
    let plan = args(&["--scale", "1"]).plan();
    assert_eq!((plan.rows, plan.cached), (20_000_000, Size(315_000 << 14)));
    assert_eq!((plan.threads, plan.dirty_ratio), (8, 3.0));
    assert_eq!((plan.drop_rows, plan.interval), (1000, Some(30.0)));
    // Thirty drops with each of six algorithms, and as long without.
    assert_eq!(plan.budget, 10_800.0);
    assert_eq!(plan.window, Some(LONGEST));
}

#[test]
fn windows_fit_the_time() {
    let limits = |list: &[&str], subjects: usize| {
        let results = frame::Results {
            plan: args(list).plan(),
            conditions: frame::Conditions::gather(&std::env::temp_dir()).unwrap(),
            subjects: Vec::new(),
            cells: Vec::new(),
            extra: Extra::default(),
            notes: Vec::new(),
            part: false,
        };
        results.limits(subjects)
    };
    let seconds = |limits: &Limits| {
        let course = limits.shape.course(0.1, &mut crate::random::Random::new(1));
        course.until + PREPARING
    };
    let six = limits(&[], 6);
    assert_eq!(
        (six.shape.pairs, seconds(&six) * 6.0 * 3.0 < 85.1),
        (7, true)
    );
    let one = limits(&[], 1);
    assert!(one.shape.window >= WINDOW && one.shape.window < 0.6);
    // Each has as many pairs as a verdict takes.
    let quick = limits(&["--quick"], 6);
    assert_eq!(
        (quick.shape.pairs, seconds(&quick) * 5.0 < 24.0),
        (10, true)
    );
    let long = limits(&["--window", "7"], 6).shape;
    assert_eq!((long.window, long.pairs), (7.0, 1));
    let article = limits(&["--scale", "1"], 6).shape;
    assert_eq!((article.window, article.pairs), (60.0, 4));
}

#[test]
fn ratios_are_read() {
    assert_eq!(dirty_ratio("10:1"), Ok(10.0));
    assert_eq!(dirty_ratio("2"), Ok(2.0));
    assert!(dirty_ratio("0.5").is_err() && dirty_ratio("1:3").is_err());
    assert!(part("1").is_err() && part("0.3").is_ok());
}

/// The embedded engine under a little load, to a report with all its parts.
#[test]
fn a_small_run_gives_a_whole_report() {
    let flags = "--rows 2000 --threads 2 --cached 8M --pool 64M --rate 500 --interval 0.02 --window 0.1 --time 600 --precision 100000 \
                 --no-precedence --algorithm full_scan,millpond";
    let left = testing::whole::<Args>(&flags.split_whitespace().collect::<Vec<_>>());
    assert_eq!(left.data["ended"], "all intervals are narrow");
    let cells = left.data["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    for cell in cells {
        // Blocks of eight; on a machine that is too slow for its windows little is seen in each.
        let pairs = cell["pairs"].as_u64().unwrap();
        assert!(pairs >= 16 && pairs % 8 == 0, "{pairs}");
        assert_eq!(cell["lags_from"], "work on pages");
        assert!(cell["drops"].as_u64().unwrap() >= 8);
        assert!(
            cell["lru_pages"].as_u64().unwrap() > 0 && cell["dirty_pages"].as_u64().unwrap() > 0
        );
        let of = |figure: &str| cell["stall_ms"][figure].as_f64().unwrap();
        assert!(of("low") <= of("estimate") && of("estimate") <= of("high"));
        // How many points there are depends on how many requests a busy machine gets done.
        assert!(cell["around_near"].is_array());
        assert_eq!(cell["latency"][0]["share"], 0.5);
    }
    assert!(
        left.data["sentence"]
            .as_str()
            .unwrap()
            .contains("full_scan")
    );
    // A line for each drop and each moment without one, at least one a window.
    assert!(left.csv.lines().count() > 2 * 16 * 2);
    let drops = |d: &str| {
        left.csv
            .lines()
            .filter(|l| l.split(',').nth(3) == Some(d))
            .count()
    };
    assert_eq!(drops("1"), drops("0"));
    for part in ["class=\"lead\"", "The stall of a drop"] {
        assert!(left.page.contains(part), "{part}");
    }
}

#[test]
fn tables_may_be_made_as_they_are_dropped_or_looked_up_before() {
    for how in ["--churn", "--hot"] {
        let flags = [
            "--rows",
            "1000",
            "--threads",
            "1",
            "--cached",
            "4M",
            "--pool",
            "64M",
            "--rate",
            "100",
        ];
        let rest = [
            "--window",
            "0.1",
            "--time",
            "0.5",
            "--algorithm",
            "stale",
            "--no-precedence",
            how,
        ];
        let left = testing::whole::<Args>(&[&flags[..], &rest].concat());
        assert_eq!(left.data["ended"], "the time was over");
        assert!(left.data["cells"][0]["drops"].as_u64().unwrap() > 0);
    }
}

#[test]
fn a_run_that_is_stopped_leaves_a_valid_report() {
    let report = testing::stopped::<Args>(&["--rows", "1000"]);
    assert!(report.headline.is_empty());
}
