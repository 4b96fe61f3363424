//! Writing reports.

use super::Stop;
use crate::Result;
use crate::report::Report;
use std::path::{Path, PathBuf};

/// Where the report goes.
#[derive(clap::Args, Clone, Debug)]
pub struct ReportArgs {
    /// The report, as one HTML file; JSON and CSV are written beside it [default: lab-<experiment>.html]
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

impl ReportArgs {
    /// Whether a file was named.
    pub fn is_named(&self) -> bool {
        self.report.is_some()
    }

    fn path(&self, experiment: &str) -> PathBuf {
        let named = || format!("lab-{experiment}.html").into();
        self.report.clone().unwrap_or_else(named)
    }

    /// Fails if the report could not be written, which is better known before a run of minutes than after it.
    pub fn check(&self, experiment: &str) -> Result<()> {
        let path = self.path(experiment);
        let failed = |e: std::io::Error| format!("--report {}: {e}", path.display());
        if path.is_dir() {
            return Err(format!("--report {}: it is a directory", path.display()).into());
        }
        let part = part_of(&path);
        std::fs::write(&part, "").map_err(failed)?;
        std::fs::remove_file(&part).map_err(failed)?;
        Ok(())
    }

    /// Writes the report's three files; the path of the first.
    pub fn write(&self, report: &Report) -> Result<PathBuf> {
        let path = self.path(report.experiment);
        write(&path, &report.html())?;
        write(&path.with_extension("json"), &report.json())?;
        write(&path.with_extension("csv"), &report.csv)?;
        Ok(path)
    }
}

/// Ends an experiment: prints its report and writes it. An experiment that did not come to its end is an error, but its
/// report is whole. One that ended before it measured anything says why and leaves an earlier report alone.
pub fn conclude(args: &ReportArgs, report: &Report, measured: bool) -> Result<()> {
    if let (false, Some(why)) = (measured, &report.incomplete) {
        return Err(why.clone().into());
    }
    print!("{}", report.text());
    let path = args.write(report)?;
    eprintln!("Report: {}", path.display());
    match &report.incomplete {
        Some(why) => Err(why.clone().into()),
        None => Ok(()),
    }
}

/// Why an experiment that ended like this is incomplete, if it is.
pub fn shortfall(ended: &Result<()>, stop: &Stop) -> Option<String> {
    match ended {
        _ if stop.is_set() => Some("It was stopped before its end.".into()),
        Err(e) => Some(format!("It ended with an error: {e}")),
        Ok(()) => None,
    }
}

/// What a file is written to before it has its name.
fn part_of(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    part.into()
}

/// Writes a file whole or not at all.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let part = part_of(path);
    std::fs::write(&part, text)
        .and_then(|()| std::fs::rename(&part, path))
        .map_err(|e| format!("{}: {e}", path.display()).into())
}
