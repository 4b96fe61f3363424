use super::*;

/// A log with so many queries in each second.
fn log(counts: &[u32]) -> String {
    let mut text = String::new();
    for (i, n) in counts.iter().enumerate() {
        for q in 0..*n {
            text += &format!(
                "# Time: x\n# User@Host: root[root] @ localhost []\n# Query_time: 0.00{}  Lock_time: 0\nSET timestamp={};\n{}\n",
                q % 10,
                1000 + i,
                if q == 3 { "DROP TABLE t;" } else { "SELECT 1;" }
            );
        }
    }
    text
}

fn results(counts: &[u32], every: u32) -> Results {
    Results::read(log(counts).as_bytes(), "test", every).unwrap()
}

#[test]
fn queries_are_averaged_over_steps() {
    let r = results(&[10, 20, 30, 0, 0, 5, 7], 5);
    assert_eq!(r.per_second(), [10, 20, 30, 0, 0, 5, 7]);
    let steps = r.steps();
    assert_eq!(steps.len(), 2);
    assert_eq!((steps[0].0, steps[0].1, steps[0].2.queries), (1000, 5, 60));
    assert_eq!((steps[1].0, steps[1].1, steps[1].2.queries), (1005, 2, 12));
    assert_eq!(r.ddl.len(), 5);
    assert_eq!(r.ddl[0].at, 1000.0);
}

#[test]
fn stalls_are_runs_of_seconds() {
    let r = results(&[20, 20, 1, 0, 1, 20, 1, 20, 20, 20, 20], 1);
    assert_eq!(r.longest_stall(), 3);
    assert_eq!(r.lowest(), (0, 1));
    assert_eq!(results(&[5, 5, 5], 1).longest_stall(), 0);
    assert_eq!(results(&[5, 5, 5], 1).lowest(), (5, 3));
}

#[test]
fn the_report_has_its_parts() {
    let report = results(&[10, 20, 30, 20], 2).report();
    let page = report.html();
    assert!(page.contains("Longest stall") && page.matches("<svg").count() == 4);
    assert!(page.contains("DROP TABLE t; took"));
    assert_eq!(report.csv.lines().count(), 5);
}

#[test]
fn what_is_no_slow_log_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("x");
    std::fs::write(&log, "nothing\n").unwrap();
    use clap::Parser;
    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }
    let cli = Cli::try_parse_from(["lab", log.to_str().unwrap()]).unwrap();
    assert!(run(&cli.args).unwrap_err().to_string().contains("no query"));
}
