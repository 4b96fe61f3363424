//! What experiments with subjects share: a target at a time, measured with each algorithm that it has, to one report.

use super::{Chosen, Conditions, Progress, ReportArgs, Spec, Stop, Subject, TargetArgs};
use super::{conclude, shortfall};
use crate::Result;
use crate::report::Report;
use std::cell::RefCell;

/// An experiment, as the command line asks for it.
pub(crate) trait Experiment: Sized {
    /// The subcommand.
    const NAME: &'static str;
    /// Its shape.
    type Plan;
    /// What is measured at a time.
    type Cell;
    /// What is known beside its cells.
    type Extra: Default;

    /// Where it runs.
    fn targets(&self) -> &TargetArgs;
    /// Where its report goes.
    fn files(&self) -> &ReportArgs;
    /// What to do.
    fn plan(&self) -> Self::Plan;
    /// Units of progress of all.
    fn units(&self, plan: &Self::Plan, chosen: &Chosen) -> u64;
    /// Measures all targets; what was measured before an error stays in the results.
    fn measure(&self, on: Places<'_>, results: &mut ResultsOf<Self>) -> Result<()>;
    /// The report; `incomplete` says why it is not whole.
    fn report(results: &ResultsOf<Self>, incomplete: Option<String>) -> Report;

    /// Keeps what there is, for a run that ends before it can.
    fn keep(&self, results: &ResultsOf<Self>) -> Result<()> {
        if results.part {
            return Ok(());
        }
        let unfinished = Self::report(results, Some("It is still running.".into()));
        self.files().keep(&unfinished)
    }
}

/// Where all is measured.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    pub specs: &'a [Spec],
    /// More than one of them offers algorithms.
    pub several: bool,
    pub progress: &'a Progress,
    pub stop: &'a Stop,
    /// Targets that the time was too short for.
    pub short: &'a RefCell<Vec<String>>,
}

impl<'a> Places<'a> {
    /// All targets chosen. `short` is told of those that the time is too short for.
    pub fn of(
        chosen: &'a Chosen,
        progress: &'a Progress,
        stop: &'a Stop,
        short: &'a RefCell<Vec<String>>,
    ) -> Places<'a> {
        Places {
            specs: &chosen.specs,
            several: chosen.several,
            progress,
            stop,
            short,
        }
    }

    /// One target after the other; each gets the same part of the time, if there is a limit. One that is lost is named, and the
    /// rest goes on.
    pub fn each(self, mut measure: impl FnMut(Place<'_>) -> Result<()>) -> Result<()> {
        let mut lost = Vec::new();
        for (number, spec) in self.specs.iter().enumerate() {
            if self.stop.is_set() {
                break;
            }
            let stop = self.stop.shared_by(self.specs.len() - number);
            let place = Place {
                spec,
                several: self.several,
                progress: self.progress,
                stop: &stop,
            };
            let done = measure(place);
            if stop.was_short() {
                self.short.borrow_mut().push(spec.shown());
            }
            match done {
                Ok(()) => {}
                Err(e) if self.specs.len() == 1 => return Err(e),
                Err(e) => {
                    let why = format!("{} is lost: {e}", spec.shown());
                    self.progress.say(&why);
                    lost.push(why);
                }
            }
        }
        match lost.is_empty() {
            true => Ok(()),
            false => Err(lost.join("; ").into()),
        }
    }
}

/// Where a target is measured.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub spec: &'a Spec,
    /// There are other targets.
    pub several: bool,
    pub progress: &'a Progress,
    pub stop: &'a Stop,
}

/// What was measured so far.
pub(crate) struct Results<P, C, X = ()> {
    pub plan: P,
    pub conditions: Conditions,
    pub subjects: Vec<Subject>,
    pub cells: Vec<C>,
    pub extra: X,
    /// What was left out or is not as it should be, and why.
    pub notes: Vec<String>,
    /// Of a larger experiment, which writes the report.
    pub part: bool,
}

/// An experiment's results.
pub(crate) type ResultsOf<E> =
    Results<<E as Experiment>::Plan, <E as Experiment>::Cell, <E as Experiment>::Extra>;

impl<P, C, X> Results<P, C, X> {
    /// What was left out, for people.
    pub fn left_out(&self) -> Option<String> {
        (!self.notes.is_empty()).then(|| format!("Left out: {}.", self.notes.join("; ")))
    }
}

/// Runs an experiment, prints its tables, writes its report.
pub(crate) fn run<E: Experiment>(experiment: &E) -> Result<()> {
    experiment.files().check(E::NAME)?;
    let stop = Stop::on_signals()?;
    let (report, any) = measure(experiment, &stop)?;
    conclude(experiment.files(), &report, any)
}

/// What came of an experiment.
pub(crate) struct Part {
    pub report: Report,
    /// Whether there is anything in the report.
    pub measured: bool,
    /// What went wrong; that it was stopped or its time was over is nothing wrong.
    pub failed: Option<String>,
}

/// Its report, and whether there is anything in it.
fn measure<E: Experiment>(experiment: &E, stop: &Stop) -> Result<(Report, bool)> {
    let chosen = experiment.targets().chosen()?;
    let progress = Progress::new(experiment.units(&experiment.plan(), &chosen));
    let part = measure_on(experiment, &chosen, (&progress, stop), false);
    progress.end();
    part.map(|p| (p.report, p.measured))
}

/// Measures for something larger, on targets that are known to be there.
pub(crate) fn measure_part<E: Experiment>(
    experiment: &E,
    chosen: &Chosen,
    progress: &Progress,
    stop: &Stop,
) -> Result<Part> {
    measure_on(experiment, chosen, (progress, stop), true)
}

fn measure_on<E: Experiment>(
    experiment: &E,
    chosen: &Chosen,
    (progress, stop): (&Progress, &Stop),
    part: bool,
) -> Result<Part> {
    let mut results = Results {
        plan: experiment.plan(),
        conditions: Conditions::gather(&experiment.targets().dir)?,
        subjects: Vec::new(),
        cells: Vec::new(),
        extra: E::Extra::default(),
        notes: Vec::new(),
        part,
    };
    let short = RefCell::default();
    let on = Places::of(chosen, progress, stop, &short);
    let ended = match stop.is_set() {
        true => Ok(()),
        false => experiment.measure(on, &mut results),
    };
    let incomplete = shortfall(&ended, stop).or_else(|| too_short_for(&short.into_inner()));
    Ok(Part {
        report: E::report(&results, incomplete),
        measured: !results.cells.is_empty(),
        failed: ended.err().map(|e| e.to_string()),
    })
}

/// Says which targets the time was too short for.
pub(crate) fn too_short_for(targets: &[String]) -> Option<String> {
    let names = targets.join(" and ");
    (!names.is_empty()).then(|| format!("The time was too short for {names}."))
}

/// Helpers for tests of experiments.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::frame::parsed;

    /// What a run leaves.
    pub(crate) struct Left {
        /// The page.
        pub page: String,
        /// The `data` of what programs read.
        pub data: serde_json::Value,
        pub csv: String,
    }

    /// Runs an experiment on the embedded engine, to the end; nothing of the engine is left behind.
    pub(crate) fn whole<E: Experiment + clap::Args>(flags: &[&str]) -> Left {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.html");
        let mut all = vec!["--dir", dir.path().to_str().unwrap()];
        all.extend(["--report", path.to_str().unwrap()]);
        all.extend(flags);
        run(&parsed::<E>(&all)).unwrap();
        let read = |extension: &str| std::fs::read_to_string(path.with_extension(extension));
        let doc: serde_json::Value = serde_json::from_str(&read("json").unwrap()).unwrap();
        assert_eq!(doc["complete"], true);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3);
        Left {
            page: read("html").unwrap(),
            data: doc["data"].clone(),
            csv: read("csv").unwrap(),
        }
    }

    /// The report of a run that is stopped before it began, which is valid.
    pub(crate) fn stopped<E: Experiment + clap::Args>(flags: &[&str]) -> Report {
        let dir = tempfile::tempdir().unwrap();
        let mut all = vec!["--dir", dir.path().to_str().unwrap()];
        all.extend(flags);
        let stop = Stop::default();
        stop.set();
        let (report, any) = measure(&parsed::<E>(&all), &stop).unwrap();
        assert!(report.incomplete.is_some() && !any);
        assert!(report.html().ends_with("</html>\n"));
        report
    }
}
