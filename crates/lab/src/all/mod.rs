//! All five articles in one go: their experiments in small sizes within a stated time, on one page with what they published beside what
//! was measured here.
//!
//! | module | owns |
//! |---|---|
//! | `courses` | which experiments run, how large, how long at most |
//! | `measure` | running them within their times |
//! | `record` | what is known of a run; what JSON has, and a page is drawn from again |
//! | `articles` | what was published |
//! | `read` | figures out of the experiments' JSON |
//! | `chapters` | a sentence and a chart for each article, from the figures alone |
//! | `page` | the report |
//!
//! An experiment ends when its time is over, whatever it has by then; so all end within the sum. What the page says is computed from the
//! figures when the page is made: there is no sentence that holds whatever was measured.

mod articles;
mod chapters;
mod courses;
mod measure;
mod page;
mod read;
mod record;

use crate::Result;
use crate::frame::{Chosen, Progress, ReportArgs, Stop, TargetArgs, conclude};
use courses::Course;
use record::Record;
use std::path::PathBuf;
use std::time::Duration;

/// The subcommand.
const EXPERIMENT: &str = "all";

/// What to run, and where.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    report: ReportArgs,
    /// A look in a minute for each target, instead of ten: smaller, and less certain
    #[arg(long)]
    quick: bool,
    /// Seconds that all may take on each target [default: 600; 60 with --quick]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    time: Option<u64>,
    /// Measure nothing: draw the page again from the JSON of an earlier run
    #[arg(long, value_name = "FILE.json", conflicts_with_all = ["quick", "time", "target", "durability", "variables"])]
    from: Option<PathBuf>,
}

/// Runs all experiments, prints what was found, writes the report.
pub fn run(args: &Args) -> Result<()> {
    if let Some(path) = &args.from {
        return redraw(args, path);
    }
    args.report.check(EXPERIMENT)?;
    let stop = Stop::on_signals()?;
    let courses = courses::courses(args.quick, args.time);
    let (record, lost) = measured(args, &courses, &stop)?;
    let any = record.done.iter().any(|d| d.measured);
    let why = match (stop.is_asked(), lost.is_empty()) {
        (true, _) => Some("It was stopped before its end.".into()),
        (_, false) => Some(lost.join(" ")),
        _ => None,
    };
    conclude(&args.report, &record.report(why), any)
}

/// Measures all there is time for; what is known, and what was lost.
fn measured(args: &Args, courses: &[Course], stop: &Stop) -> Result<(Record, Vec<String>)> {
    let chosen = args.targets.chosen()?;
    let time = courses::budget(courses, chosen.specs.len());
    eprintln!("{}", announced(courses, &chosen, time));
    let progress = Progress::within(time);
    let over = Stop::default();
    let measured = std::thread::scope(|scope| {
        let ticking = over.on_drop();
        scope.spawn(|| {
            while !over.is_asked() {
                progress.tick();
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        let measured = measure::all(args, courses, &chosen, &progress, stop);
        drop(ticking);
        measured
    });
    progress.end();
    measured
}

/// What is about to happen, and how long it may take.
fn announced(courses: &[Course], chosen: &Chosen, time: Duration) -> String {
    let names: Vec<&str> = courses.iter().map(|c| c.experiment).collect();
    let places: Vec<String> = chosen.specs.iter().map(|s| s.shown()).collect();
    format!(
        "{} on {}: {} s at most; Ctrl-C ends it early and keeps what is there.",
        names.join(", "),
        places.join(", "),
        time.as_secs()
    )
}

fn redraw(args: &Args, path: &std::path::Path) -> Result<()> {
    args.report.check_page(EXPERIMENT)?;
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let (record, incomplete) =
        Record::read(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let page = args.report.write_page(&record.report(incomplete))?;
    eprintln!("Report: {}", page.display());
    Ok(())
}

#[cfg(test)]
mod tests;
