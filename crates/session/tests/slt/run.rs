//! Runs a file's records on an engine and tells the differences, or writes what the engine answers into the file.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::engine::{Embedded, Engine, Failure, Outcome, Peer};
use crate::file::{self, Expect, Item, Record};
use crate::support::TestDb;

/// The database that a file's statements begin in.
const DATABASE: &str = "slt";

/// Runs one file, on the server of `MILLPOND_SLT_PEER` if there is one; `Err` has the differences.
pub fn file(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let items = file::parse(&text)?;
    let files = text.contains(FILES).then(Files::new);
    if let Ok(url) = std::env::var("MILLPOND_SLT_PEER") {
        let mut peer = Peer::connect(&url);
        let name = if peer.mariadb() { "mariadb" } else { "mysql" };
        // One file at a time, for they share the database.
        let mut peer = Located::new(&mut peer, files.as_ref());
        if name == "mysql" {
            set_as_here(&mut peer);
        }
        return compare(&mut peer, name, &items);
    }
    let db = match &files {
        Some(files) => TestDb::with(&[("secure_file_priv", &files.name())]),
        None => TestDb::new(),
    };
    let mut millpond = Embedded::connect(&db);
    let mut millpond = Located::new(&mut millpond, files.as_ref());
    if std::env::var_os("MILLPOND_SLT_UPDATE").is_none() {
        return compare(&mut millpond, "millpond", &items);
    }
    let updated = file::print(&update(&mut millpond, items));
    if updated != text {
        std::fs::write(path, updated).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// Stands in statements and answers for the file's own temporary directory, to which `secure_file_priv` is set.
const FILES: &str = "{files}";

/// A temporary directory that is gone when this is dropped.
struct Files(PathBuf);

impl Files {
    fn new() -> Files {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("millpond-slt-{}-{n}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).expect("a new directory");
        Files(path)
    }
    fn name(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An engine to whose statements the directory has its true name.
struct Located<'e> {
    engine: &'e mut dyn Engine,
    name: Option<String>,
}

impl<'e> Located<'e> {
    fn new(engine: &'e mut dyn Engine, files: Option<&Files>) -> Located<'e> {
        Located {
            engine,
            name: files.map(Files::name),
        }
    }
}

impl Engine for Located<'_> {
    fn run(&mut self, sql: &str) -> Result<Outcome, Failure> {
        let Some(name) = &self.name else {
            return self.engine.run(sql);
        };
        let back = |text: &str| text.replace(name, FILES);
        match self.engine.run(&sql.replace(FILES, name)) {
            Ok(mut outcome) => {
                for cell in outcome.rows.iter_mut().flatten().flatten() {
                    if let Ok(text) = std::str::from_utf8(cell) {
                        *cell = back(text).into_bytes();
                    }
                }
                Ok(outcome)
            }
            Err(e) => Err(Failure {
                message: back(&e.message),
                ..e
            }),
        }
    }
}

/// Gives a session of MySQL the values that variables have by default in Millpond, where MySQL's own defaults are others.
fn set_as_here(engine: &mut dyn Engine) {
    for sql in [
        "SET NAMES utf8mb4",
        // Those that 8.0 doesn't have, or has otherwise.
        "SET restrict_fk_on_non_standard_key = OFF",
        "SET explain_format = TRADITIONAL",
        "SET explain_json_format_version = 1",
    ] {
        engine.run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
}

fn begin(engine: &mut dyn Engine) {
    for sql in [
        format!("DROP DATABASE IF EXISTS {DATABASE}"),
        format!("CREATE DATABASE {DATABASE}"),
        format!("USE {DATABASE}"),
    ] {
        engine.run(&sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
}

/// What the engine answered, in the words of a record.
fn found(answer: Result<Outcome, Failure>) -> Expect {
    match answer {
        Ok(o) if o.types.is_empty() => Expect::Done {
            affected: o.affected,
            id: o.last_insert_id,
        },
        Ok(o) => Expect::Rows {
            types: o.types,
            rows: o.rows.iter().map(|r| file::row_line(r)).collect(),
        },
        Err(e) => Expect::Error {
            code: e.code,
            message: file::escaped(&e.message),
        },
    }
}

/// Warnings that a statement leaves to be asked for. SHOW WARNINGS tells the number of those that it shows.
fn left(record: &Record, answer: &Result<Outcome, Failure>) -> u16 {
    match answer {
        Ok(o) if !record.shows_warnings() => o.warnings,
        _ => 0,
    }
}

fn sorted(expect: &Expect) -> Expect {
    let mut expect = expect.clone();
    if let Expect::Rows { rows, .. } = &mut expect {
        rows.sort();
    }
    expect
}

/// What of an answer other servers must share: they word messages, type columns and warn otherwise.
fn essence(expect: &Expect) -> Expect {
    let mut expect = expect.clone();
    match &mut expect {
        Expect::Rows { types, .. } => types.clear(),
        Expect::Error { message, .. } => message.clear(),
        Expect::Done { .. } => {}
    }
    expect
}

/// What a peer is held to: everything with `MILLPOND_SLT_STRICT`, else what [`essence`] keeps.
fn differs(engine: &str, record: &Record, want: &Expect, got: &Expect) -> bool {
    if engine == "millpond" || std::env::var_os("MILLPOND_SLT_STRICT").is_some() {
        return want != got;
    }
    // Plans and their estimates are Millpond's own; that there is one must agree.
    let plans = matches!((want, got), (Expect::Rows { .. }, Expect::Rows { .. }));
    if engine == "mysql" && record.explains() && plans {
        return false;
    }
    let (want, got) = (essence(want), essence(got));
    !record.shows_warnings() && want != got
}

fn compare(engine: &mut dyn Engine, name: &str, items: &[Item]) -> Result<(), String> {
    begin(engine);
    let mut wrong = String::new();
    // The record before, if it left warnings that nobody has asked for.
    let mut unread: Option<(&Record, u16)> = None;
    let records = items.iter().filter_map(|i| match i {
        Item::Record(r) if r.runs_on(name) => Some(r),
        _ => None,
    });
    for record in records {
        if let Some((of, n)) = unread.take_if(|_| !record.shows_warnings()) {
            let _ = writeln!(wrong, "line {}: {}\n  leaves {n} warnings", of.line, of.sql);
        }
        let answer = engine.run(&record.sql);
        let warnings = left(record, &answer);
        unread = (name == "millpond" && warnings > 0).then_some((record, warnings));
        let mut got = found(answer);
        let mut want = record.expect.clone();
        if record.rowsort {
            (got, want) = (sorted(&got), sorted(&want));
        }
        if differs(name, record, &want, &got) {
            let _ = writeln!(
                wrong,
                "line {}: {}\n  want {want:?}\n  got  {got:?}",
                record.line, record.sql
            );
        }
    }
    if let Some((of, n)) = unread {
        let _ = writeln!(wrong, "line {}: {}\n  leaves {n} warnings", of.line, of.sql);
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// The file with what the engine answers; where a statement leaves warnings, with a query for them.
fn update(engine: &mut dyn Engine, items: Vec<Item>) -> Vec<Item> {
    begin(engine);
    let mut out: Vec<Item> = Vec::new();
    let mut unread = false;
    for item in items {
        let Item::Record(mut record) = item else {
            out.push(item);
            continue;
        };
        if record.runs_on("millpond") {
            if unread && !record.shows_warnings() {
                ask(engine, &mut out);
            }
            let answer = engine.run(&record.sql);
            unread = left(&record, &answer) > 0;
            let got = found(answer);
            record.expect = if record.rowsort { sorted(&got) } else { got };
        }
        out.push(Item::Record(record));
    }
    if unread {
        ask(engine, &mut out);
    }
    out
}

/// Puts a query for the warnings behind the last record.
fn ask(engine: &mut dyn Engine, out: &mut Vec<Item>) {
    let sql = "SHOW WARNINGS".to_string();
    let query = Record {
        line: 0,
        guards: Vec::new(),
        expect: found(engine.run(&sql)),
        sql,
        rowsort: false,
    };
    let last = |i: &Item| matches!(i, Item::Record(_));
    let at = out.iter().rposition(last).expect("what warned") + 1;
    out.splice(at..at, [Item::Text(String::new()), Item::Record(query)]);
}
