//! Writing reports.

use super::Stop;
use crate::Result;
use crate::report::Report;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the report goes.
#[derive(clap::Args, Clone, Debug)]
pub struct ReportArgs {
    /// The report, as one HTML file; `-` is standard output [default: lab-<experiment>.html]
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Its figures as JSON [default: beside the report]
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Its figures as CSV [default: beside the report]
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// A picture of its summary to share, as PNG; `-` is standard output
    #[cfg(feature = "card")]
    #[arg(long, value_name = "FILE.png")]
    card: Option<PathBuf>,
    /// Overwrite files that are there already
    #[arg(long)]
    force: bool,
}

/// Whether a file's name stands for standard output.
fn is_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

impl ReportArgs {
    /// Whether a file was named for the page, or for the picture, which is of a whole report.
    pub fn is_named(&self) -> bool {
        self.report.is_some() || self.card().is_some()
    }

    /// Where the picture goes, if there is to be one.
    fn card(&self) -> Option<&PathBuf> {
        #[cfg(feature = "card")]
        return self.card.as_ref();
        #[cfg(not(feature = "card"))]
        None
    }

    /// The page, the JSON and the CSV, by their flags.
    fn files(&self, experiment: &str) -> [(&'static str, PathBuf); 3] {
        let usual = PathBuf::from(format!("lab-{experiment}.html"));
        let page = self.report.clone().unwrap_or(usual.clone());
        let beside = |named: &Option<PathBuf>, extension: &str| {
            let near = if is_output(&page) { &usual } else { &page };
            named
                .clone()
                .unwrap_or_else(|| near.with_extension(extension))
        };
        let (json, csv) = (beside(&self.json, "json"), beside(&self.csv, "csv"));
        [("--report", page), ("--json", json), ("--csv", csv)]
    }

    /// Fails if the report could not be written, or would overwrite something, which is better known before a run of minutes than
    /// after it.
    pub fn check(&self, experiment: &str) -> Result<()> {
        self.check_all(&self.files(experiment))
    }

    /// Writes the picture, if there is to be one.
    fn write_card(&self, report: &Report) -> Result<()> {
        #[cfg(feature = "card")]
        if let Some(path) = &self.card {
            put(path, &report.card()?)?;
        }
        let _ = report;
        Ok(())
    }

    /// The same where JSON and CSV are written only if they are named.
    pub fn check_page(&self, experiment: &str) -> Result<()> {
        let [page, _, _] = self.files(experiment);
        let named = [("--json", &self.json), ("--csv", &self.csv)];
        let named = named
            .into_iter()
            .filter_map(|(flag, p)| Some((flag, p.clone()?)));
        self.check_all(&std::iter::once(page).chain(named).collect::<Vec<_>>())
    }

    /// The same for JSON and CSV alone, as far as they are named.
    pub fn check_figures(&self) -> Result<()> {
        let json = self.json.iter().map(|p| ("--json", p.clone()));
        let csv = self.csv.iter().map(|p| ("--csv", p.clone()));
        self.check_all(&json.chain(csv).collect::<Vec<_>>())
    }

    fn check_all(&self, files: &[(&'static str, PathBuf)]) -> Result<()> {
        let card = self.card().map(|path| ("--card", path.clone()));
        let files: Vec<_> = files.iter().cloned().chain(card).collect();
        if files.iter().filter(|f| is_output(&f.1)).count() > 1 {
            return Err("only one of a report's files can be standard output".into());
        }
        for (flag, path) in files.iter().filter(|f| !is_output(&f.1)) {
            let failed = |why: &str| format!("{flag} {}: {why}", path.display());
            if path.is_dir() {
                return Err(failed("it is a directory").into());
            }
            if path.exists() && !self.force {
                return Err(failed("it is there already; --force overwrites it").into());
            }
            let part = part_of(path);
            std::fs::write(&part, "")
                .and_then(|()| std::fs::remove_file(&part))
                .map_err(|e| failed(&e.to_string()))?;
        }
        Ok(())
    }

    /// Whether standard output is one of the files, so that nothing else may be printed there.
    fn takes_output(&self) -> bool {
        let named = [&self.report, &self.json, &self.csv];
        let named = named.into_iter().flatten().chain(self.card());
        named.into_iter().any(|p| is_output(p))
    }

    /// Writes the report's three files, and the picture if it is named; the name of the first.
    pub fn write(&self, report: &Report) -> Result<PathBuf> {
        let [(_, page), (_, json), (_, csv)] = self.files(report.experiment);
        put(&page, report.html().as_bytes())?;
        put(&json, report.json().as_bytes())?;
        put(&csv, report.csv.as_bytes())?;
        self.write_card(report)?;
        Ok(page)
    }

    /// Writes the page, and JSON, CSV and picture as far as they are named; the page's name.
    pub fn write_page(&self, report: &Report) -> Result<PathBuf> {
        let [(_, page), _, _] = self.files(report.experiment);
        put(&page, report.html().as_bytes())?;
        self.write_figures(&report.json(), &report.csv)?;
        self.write_card(report)?;
        Ok(page)
    }

    /// Writes what an experiment that still runs has, where that can be written again.
    pub fn keep(&self, report: &Report) -> Result<()> {
        let texts = [report.html(), report.json(), report.csv.clone()];
        for ((_, path), text) in self.files(report.experiment).iter().zip(texts) {
            if !is_output(path) {
                write(path, text.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Writes JSON and CSV alone, as far as they are named.
    pub fn write_figures(&self, json: &str, csv: &str) -> Result<()> {
        for (path, text) in [(&self.json, json), (&self.csv, csv)] {
            if let Some(path) = path {
                put(path, text.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Prints what people read.
    pub fn print(&self, text: &str) {
        match self.takes_output() {
            true => eprint!("{text}"),
            false => print!("{text}"),
        }
    }
}

/// Ends an experiment: prints its report and writes it. An experiment that did not come to its end is an error, but its
/// report is whole. One that ended before it measured anything says why and leaves an earlier report alone.
pub fn conclude(args: &ReportArgs, report: &Report, measured: bool) -> Result<()> {
    if let (false, Some(why)) = (measured, &report.incomplete) {
        return Err(why.clone().into());
    }
    args.print(&report.text());
    let path = args.write(report)?;
    if !is_output(&path) {
        eprintln!("Report: {}", path.display());
    }
    match &report.incomplete {
        Some(why) => Err(why.clone().into()),
        None => Ok(()),
    }
}

/// Why an experiment that ended like this is incomplete, if it is.
pub fn shortfall(ended: &Result<()>, stop: &Stop) -> Option<String> {
    match ended {
        _ if stop.is_asked() => Some("It was stopped before its end.".into()),
        Err(e) => Some(format!("It ended with an error: {e}")),
        Ok(()) if stop.was_short() => Some("Its time was over before its end.".into()),
        Ok(()) => None,
    }
}

/// What a file is written to before it has its name.
fn part_of(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    part.into()
}

/// Writes a file, or to standard output.
fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    match is_output(path) {
        true => Ok(std::io::stdout().write_all(bytes)?),
        false => write(path, bytes),
    }
}

/// Writes a file whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let part = part_of(path);
    std::fs::write(&part, bytes)
        .and_then(|()| std::fs::rename(&part, path))
        .map_err(|e| format!("{}: {e}", path.display()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::parsed;

    fn args(list: &[&str]) -> ReportArgs {
        parsed(list)
    }

    #[test]
    fn nothing_is_overwritten_without_force() {
        let dir = tempfile::tempdir().unwrap();
        let page = dir.path().join("r.html");
        let named = page.to_str().unwrap();
        let report = args(&["--report", named]);
        report.check("x").unwrap();
        std::fs::write(page.with_extension("csv"), "earlier").unwrap();
        let why = report.check("x").unwrap_err().to_string();
        assert!(
            why.starts_with("--csv ") && why.contains("--force"),
            "{why}"
        );
        args(&["--report", named, "--force"]).check("x").unwrap();
        args(&["--report", named, "--csv", "-"]).check("x").unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[cfg(feature = "card")]
    #[test]
    fn a_picture_is_written_where_it_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let (page, card) = (dir.path().join("r.html"), dir.path().join("c.png"));
        let flags = [
            "--report",
            page.to_str().unwrap(),
            "--card",
            card.to_str().unwrap(),
        ];
        let report = Report {
            experiment: "x",
            title: "X".into(),
            intro: String::new(),
            incomplete: None,
            headline: Vec::new(),
            blocks: Vec::new(),
            facts: Vec::new(),
            data: serde_json::Value::Null,
            csv: String::new(),
        };
        args(&flags).check("x").unwrap();
        args(&flags).write(&report).unwrap();
        assert_eq!(std::fs::read(&card).unwrap(), report.card().unwrap());
        std::fs::remove_file(&page).unwrap();
        for other in ["json", "csv"] {
            std::fs::remove_file(page.with_extension(other)).unwrap();
        }
        let why = args(&flags).check("x").unwrap_err().to_string();
        assert!(why.starts_with("--card "), "{why}");
        let both = ["--report", "-", "--card", "-"];
        assert!(args(&both).check("x").is_err() && args(&both[2..]).takes_output());
    }

    #[test]
    fn one_file_can_be_standard_output() {
        assert!(args(&["--report", "-", "--json", "-"]).check("x").is_err());
        let report = args(&["--report", "-"]);
        assert!(report.takes_output() && !args(&["--report", "r"]).takes_output());
        assert_eq!(
            report.files("x").map(|f| f.1),
            ["-", "lab-x.json", "lab-x.csv"].map(PathBuf::from)
        );
    }
}
