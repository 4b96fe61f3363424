//! Running the experiments, each within its time.

use super::courses::{self, Course};
use super::record::{Done, Record};
use super::{Args, EXPERIMENT};
use crate::frame::{Chosen, Experiment, Part, Progress, Spec, Stop, from_flags, measure_part};
use crate::report::Section;
use crate::target::MysqlServer;
use crate::{Result, alter, drop_stall, drop_throughput, many_tables, rebuild, truncate_scale};
use serde_json::Value;
use std::time::{Duration, Instant};

/// Runs one after the other until all are done, the time is over or it is stopped; what was lost. One that ends before its time leaves the rest to
/// those after it.
pub(super) fn all(
    args: &Args,
    courses: &[Course],
    chosen: &Chosen,
    progress: &Progress,
    stop: &Stop,
) -> Result<(Record, Vec<String>)> {
    let begun = Instant::now();
    let time = courses::time(courses, chosen.specs.len());
    let mut record = Record {
        quick: args.quick,
        budget: courses::budget(courses, chosen.specs.len()).as_secs(),
        took: 0.0,
        targets: chosen.specs.iter().map(Spec::shown).collect(),
        done: Vec::new(),
    };
    let mut lost = Vec::new();
    let mut gone = Vec::new();
    let whole = stop.within(time);
    // What those before have left of their time.
    let mut spare = Duration::ZERO;
    for (number, course) in courses.iter().enumerate() {
        if whole.is_set() {
            break;
        }
        progress.part(&format!(
            "{} of {}, {}",
            number + 1,
            courses.len(),
            course.experiment
        ));
        let share = course.time * chosen.specs.len() as u32 + spare;
        let since = Instant::now();
        let run = Run {
            args,
            course,
            chosen,
            progress,
            stop: &whole.within(share),
        };
        let (done, trouble) = run.done(&mut gone);
        lost.extend(trouble);
        record.done.push(done);
        record.took = begun.elapsed().as_secs_f64();
        spare = share.saturating_sub(since.elapsed());
        if number + 1 < courses.len() && record.done.iter().any(|d| d.measured) {
            let unfinished = record.report(Some("It is still running.".into()));
            args.report.keep(&unfinished)?;
        }
    }
    Ok((record, lost))
}

/// An experiment and where it runs.
struct Run<'a> {
    args: &'a Args,
    course: &'a Course,
    chosen: &'a Chosen,
    progress: &'a Progress,
    stop: &'a Stop,
}

impl Run<'_> {
    /// What came of it, and what went wrong, if something did. `gone`: targets of which that was said already.
    fn done(&self, gone: &mut Vec<String>) -> (Done, Vec<String>) {
        let since = Instant::now();
        let (there, mut lost) = self.there(gone);
        let ran = match there.specs.is_empty() {
            true => Err("no target is left".into()),
            false => self.measure(&there),
        };
        let name = self.course.experiment;
        let mut done = Done {
            experiment: name.into(),
            command: self.course.command(self.chosen.specs.len()),
            took: since.elapsed().as_secs_f64(),
            measured: false,
            incomplete: None,
            data: Value::Null,
            section: None,
        };
        match ran {
            Ok(part) => {
                lost.extend(part.failed.map(|why| format!("{name}: {why}.")));
                done.incomplete = part.report.incomplete.clone();
                done.measured = part.measured;
                done.section = Some(Section::of(&part.report, &format!("{EXPERIMENT}-{name}")));
                done.data = part.report.data;
            }
            Err(e) => {
                done.incomplete = Some(e.to_string());
                lost.push(format!("{name}: {e}."));
            }
        }
        (done, lost)
    }

    /// The targets that answer, and what is said of the others, once.
    fn there(&self, gone: &mut Vec<String>) -> (Chosen, Vec<String>) {
        let mut there = self.chosen.clone();
        let mut lost = Vec::new();
        there.specs.retain(|spec| match spec {
            Spec::Embedded => true,
            Spec::Url(url) => match MysqlServer::at(url) {
                Ok(_) => true,
                Err(e) => {
                    let (name, place) = (self.course.experiment, spec.shown());
                    if !gone.contains(&place) {
                        let why = format!("From {name} on {place} is lost: {e}.");
                        self.progress.say(&why);
                        lost.push(why);
                        gone.push(place);
                    }
                    false
                }
            },
        });
        (there, lost)
    }

    /// What comes of the experiment.
    fn measure(&self, there: &Chosen) -> Result<Part> {
        match self.course.experiment {
            "many-tables" => self.many_tables(there),
            "drop-throughput" => self.part::<drop_throughput::Args>(there),
            "drop-stall" => self.part::<drop_stall::Args>(there),
            "rebuild" => self.part::<rebuild::Args>(there),
            "alter" => self.part::<alter::Args>(there),
            "truncate-scale" => self.part::<truncate_scale::Args>(there),
            other => Err(format!("there is no experiment {other}").into()),
        }
    }

    fn part<E: Experiment + clap::Args>(&self, there: &Chosen) -> Result<Part> {
        let flags = self.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        measure_part(&from_flags::<E>(&flags)?, there, self.progress, self.stop)
    }

    fn many_tables(&self, there: &Chosen) -> Result<Part> {
        #[derive(clap::Args)]
        struct Size {
            #[arg(long)]
            tables: u32,
        }
        let flags = self.course.flags_on(1);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let tables = from_flags::<Size>(&flags)?.tables;
        let targets = &self.args.targets;
        many_tables::measure_part(tables, targets, there, self.progress, self.stop)
    }

    /// The course's flags and those that say where, but for the targets.
    fn flags(&self) -> Vec<String> {
        let targets = &self.args.targets;
        let mut flags = self.course.flags_on(self.chosen.specs.len());
        flags.push("--dir".into());
        flags.push(targets.dir.display().to_string());
        if let Some(n) = targets.durability {
            flags.extend(["--durability".into(), n.to_string()]);
        }
        for (name, value) in &targets.variables {
            flags.extend(["--set".into(), format!("{name}={value}")]);
        }
        flags
    }
}
