//! Statements with what MySQL answers, as data: every `.slt` file below this folder is a test. README.md tells the format, how
//! expectations are rewritten (`MILLPOND_SLT_UPDATE=1`) and how the same files run on other servers (`scripts/slt-peers`).

#[path = "../support/engine.rs"]
mod engine;
mod file;
mod run;
#[path = "../support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// The `.slt` files of a folder and those in it, in order.
fn discover(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("a folder of tests");
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            discover(&path, found);
        } else if path.extension().is_some_and(|e| e == "slt") {
            found.push(path);
        }
    }
    found.sort();
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let mut files = Vec::new();
    discover(&root, &mut files);
    assert!(!files.is_empty());
    let trials = files
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).expect("below it");
            let name = name.with_extension("").display().to_string();
            Trial::test(name, move || run::file(&path).map_err(Into::into))
        })
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
