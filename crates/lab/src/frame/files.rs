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

    /// Writes the report's three files; the path of the first.
    pub fn write(&self, report: &Report) -> Result<PathBuf> {
        let named = || format!("lab-{}.html", report.experiment).into();
        let path = self.report.clone().unwrap_or_else(named);
        write(&path, &report.html())?;
        write(&path.with_extension("json"), &report.json())?;
        write(&path.with_extension("csv"), &report.csv)?;
        Ok(path)
    }
}

/// Ends an experiment: prints its report and writes it. An experiment that did not come to its end is an error, but its
/// report is whole.
pub fn conclude(args: &ReportArgs, report: &Report) -> Result<()> {
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

/// Writes a file whole or not at all.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    std::fs::write(&part, text)
        .and_then(|()| std::fs::rename(&part, path))
        .map_err(|e| format!("{}: {e}", path.display()).into())
}
