use super::*;
use crate::frame::parsed;
use serde_json::Value;

const fn tiny(experiment: &'static str, flags: &'static str) -> Course {
    Course {
        experiment,
        time: Duration::from_secs(600),
        flags,
        measuring: None,
    }
}

/// Every experiment with little of everything, in time enough for a slow machine.
const TINY: [Course; 6] = [
    tiny("many-tables", "--tables 20"),
    tiny(
        "drop-throughput",
        "--fill 16M --tables 5 --rounds 3 --algorithm full_scan,millpond",
    ),
    tiny(
        "drop-stall",
        "--rows 2000 --threads 2 --cached 8M --pool 64M --rate 200 --window 0.1 --interval 0.05 --precision 100000 --time 500 --algorithm millpond",
    ),
    tiny(
        "rebuild",
        "--rows 500 --keys plain,foreign-key --rounds 3 --threads 1 --before 0.02 --pool 24M --fragment 0",
    ),
    tiny(
        "alter",
        "--rows 300 --only FORCE --rounds 1 --threads 1 --before 0.02 --pool 24M",
    ),
    tiny(
        "truncate-scale",
        "--pools 24M,32M --tables 4 --threads 2 --rounds 3 --algorithm full_scan,millpond",
    ),
];

fn args(list: &[&str]) -> Args {
    parsed(list)
}

fn in_dir(dir: &tempfile::TempDir) -> Args {
    let (here, page) = (dir.path(), dir.path().join("r.html"));
    args(&[
        "--dir",
        here.to_str().unwrap(),
        "--report",
        page.to_str().unwrap(),
    ])
}

#[test]
fn a_small_run_gives_a_whole_page_that_can_be_drawn_again() {
    let dir = tempfile::tempdir().unwrap();
    let args = in_dir(&dir);
    let (record, lost) = measured(&args, &TINY, &Stop::default()).unwrap();
    assert_eq!(lost, Vec::<String>::new());
    let report = record.report(None);
    let page = report.html();
    for course in &TINY {
        let section = format!("id=\"all-{}\"", course.experiment);
        assert_eq!(page.matches(&section).count(), 1, "{}", course.experiment);
        assert!(page.contains(&course.command(1)), "{}", course.experiment);
    }
    assert_eq!(page.matches("<article").count(), 5);
    assert_eq!(page.matches(">Measured here<").count(), 5);
    assert!(!page.contains("Too little was measured") && !page.contains("Not whole"));
    for fetched in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(fetched), "{fetched}");
    }
    let ids: Vec<&str> = page.split(" id=\"").skip(1).collect();
    let ids: Vec<&str> = ids.iter().filter_map(|t| t.split('"').next()).collect();
    for target in page.split("href=\"#").skip(1) {
        let target = target.split('"').next().unwrap();
        let times = ids.iter().filter(|id| **id == target).count();
        assert_eq!(times, 1, "{target}");
    }
    // The JSON holds all of it.
    let (again, incomplete) = Record::read(&report.json()).unwrap();
    assert_eq!(incomplete, None);
    assert_eq!(again.report(None).html(), page);
    // What there was while it ran, and nothing of the engine.
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3);
    let kept = std::fs::read_to_string(dir.path().join("r.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["complete"], false);
    assert_eq!(kept["data"]["done"].as_array().unwrap().len(), 5);
    assert!(
        report.csv.contains("measured,\"millpond\","),
        "{}",
        report.csv
    );
}

#[test]
fn what_the_time_is_too_short_for_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let courses = [
        Course {
            time: Duration::ZERO,
            ..tiny("rebuild", "--rows 500 --pool 24M")
        },
        tiny("many-tables", "--tables 3"),
    ];
    let (record, lost) = measured(&in_dir(&dir), &courses, &Stop::default()).unwrap();
    assert_eq!(lost, Vec::<String>::new());
    let page = record.report(None).html();
    assert!(page.contains("Too little was measured to say anything."));
    assert!(page.contains("Not whole: Its time was over before its end."));
    assert!(page.contains("This was not measured."));
    assert_eq!(page.matches(">Measured here<").count(), 1);
}

#[test]
fn what_one_leaves_of_its_time_is_for_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let courses = [
        tiny("many-tables", "--tables 3"),
        Course {
            time: Duration::ZERO,
            ..tiny("many-tables", "--tables 2")
        },
    ];
    let (record, lost) = measured(&in_dir(&dir), &courses, &Stop::default()).unwrap();
    assert_eq!(lost, Vec::<String>::new());
    let whole = record.done.iter().filter(|d| d.incomplete.is_none());
    assert_eq!(whole.count(), 2);
}

#[test]
fn a_run_that_is_stopped_keeps_nothing_of_what_was_not_measured() {
    let dir = tempfile::tempdir().unwrap();
    let stop = Stop::default();
    stop.set();
    let (record, lost) = measured(&in_dir(&dir), &TINY, &stop).unwrap();
    assert!(record.done.is_empty() && lost.is_empty());
    assert!(record.report(None).html().ends_with("</html>\n"));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_lost_target_is_named_and_the_rest_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let args = in_dir(&dir);
    let mut chosen = args.targets.chosen().unwrap();
    let gone = "mysql://root:secret@127.0.0.1:1/";
    chosen.specs.push(crate::frame::Spec::Url(gone.into()));
    let courses = ["--tables 3", "--tables 2"].map(|flags| tiny("many-tables", flags));
    let progress = Progress::within(Duration::from_secs(600));
    let ran = measure::all(&args, &courses, &chosen, &progress, &Stop::default());
    let (record, lost) = ran.unwrap();
    assert_eq!(lost.len(), 1, "{lost:?}");
    let said = "From many-tables on 127.0.0.1:1 is lost";
    assert!(lost[0].starts_with(said), "{lost:?}");
    let report = record.report(Some(lost.join(" ")));
    assert!(report.html().contains("Creating 50,000 tables"));
    assert!(!report.json().contains("secret") && !report.html().contains("secret"));
}

#[test]
fn only_its_own_reports_are_drawn_again() {
    let read = |text: &str| Record::read(text).map(drop).unwrap_err().to_string();
    assert!(read("{\"experiment\": \"rebuild\"}").contains("no report of millpond lab all"));
    assert!(read("nothing").contains("expected"));
}
