//! Statements that nobody would write: those of the `.slt` files with tokens exchanged, taken out, put in and repeated, run beside the
//! statements they come from. Whatever they answer, nothing may panic, and KILL QUERY must end what takes long.
//!
//! `MILLPOND_MUTATIONS=N` and `MILLPOND_MUTATIONS_SEED=S` (decimal) say how many statements and which; a failure prints the file, the
//! statement and the seed of its file.

#[allow(dead_code)]
#[path = "../slt/file.rs"]
mod file;
mod mutate;

use crate::rng::Rng;
use crate::support::{Client, TestDb};
use file::Item;
use mutate::{Pool, mutated};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Statements that a run of all tests makes.
const STATEMENTS: u64 = 4_000;
/// Those made for each statement of a file.
const FOR_EACH: u64 = 4;
/// After this a statement is killed.
const LONG: Duration = Duration::from_secs(2);
/// Within this it must end then, on a machine that others use too.
const AFTER_KILL: Duration = Duration::from_secs(120);
/// Words of statements that reach beyond their database, or that wait for somebody.
const LEFT_OUT: &str = include_str!("mutations/left_out.txt");

fn env(name: &str, or: u64) -> u64 {
    std::env::var(name).map_or(or, |v| v.parse().expect("a number"))
}

/// The statements of the `.slt` files that run here, by file.
fn corpus() -> Vec<(PathBuf, Vec<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let mut files: Vec<PathBuf> = std::fs::read_dir(root)
        .expect("a folder of tests")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "slt"))
        .collect();
    files.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a file");
        let items = file::parse(&text).expect("records");
        let statements = items.into_iter().filter_map(|item| match item {
            Item::Record(r) if r.runs_on("millpond") && is_at_home(&r.sql) => Some(r.sql),
            _ => None,
        });
        (path, statements.collect())
    };
    files.into_iter().map(read).collect()
}

fn is_at_home(sql: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    !LEFT_OUT.lines().any(|w| sql.contains(w))
}

/// Kills a session's statements that take long, and ends the program if that doesn't help.
struct Watch(Sender<Option<String>>);

impl Watch {
    fn over(db: &TestDb, id: u32) -> Watch {
        let instance = db.instance().clone();
        let (begun, told) = channel::<Option<String>>();
        std::thread::spawn(move || {
            while let Ok(message) = told.recv() {
                let Some(sql) = message else { continue };
                if told.recv_timeout(LONG) != Err(RecvTimeoutError::Timeout) {
                    continue;
                }
                let _ = instance.kill(id, false);
                if told.recv_timeout(AFTER_KILL) == Err(RecvTimeoutError::Timeout) {
                    eprintln!("KILL QUERY does not end: {sql}");
                    std::process::abort();
                }
            }
        });
        Watch(begun)
    }

    fn run<R>(&self, sql: &str, f: impl FnOnce() -> R) -> R {
        self.0.send(Some(sql.to_string())).expect("it listens");
        let done = f();
        self.0.send(None).expect("it listens");
        done
    }
}

/// Runs a file's statements with others beside them; what panicked, if anything did.
fn run_file(statements: &[String], pool: &Pool, seed: u64) -> Result<u64, String> {
    let mut rng = Rng(seed);
    let db = TestDb::with(&[
        ("innodb_lock_wait_timeout", "1"),
        ("lock_wait_timeout", "1"),
    ]);
    let mut client: Client = db.client();
    let watch = Watch::over(&db, client.0.id());
    let mut made = 0;
    let mut run = |sql: &str| {
        let ran = catch_unwind(AssertUnwindSafe(|| watch.run(sql, || client.run(sql))));
        ran.map(drop).map_err(|_| sql.to_string())
    };
    for sql in statements {
        run(sql)?;
        for _ in 0..FOR_EACH {
            let of = &statements[rng.below(statements.len() as u64) as usize];
            let other = mutated(of, pool, &mut rng);
            if is_at_home(&other) {
                run(&other)?;
                made += 1;
            }
        }
    }
    Ok(made)
}

#[test]
fn no_statement_panics() {
    let corpus = corpus();
    let pool = Pool::of(corpus.iter().flat_map(|(_, statements)| statements));
    let seed = env("MILLPOND_MUTATIONS_SEED", 1);
    let mut rng = Rng(seed);
    let mut left = env("MILLPOND_MUTATIONS", STATEMENTS);
    let mut failed = Vec::new();
    while left > 0 {
        let (path, statements) = &corpus[rng.below(corpus.len() as u64) as usize];
        let seed = rng.next();
        match run_file(statements, &pool, seed) {
            Ok(made) => left = left.saturating_sub(made.max(1)),
            Err(sql) => {
                let name = path.file_name().expect("a file's").display().to_string();
                eprintln!("{name}, seed {seed}: panicked: {sql}");
                failed.push(sql);
                left = left.saturating_sub(1);
            }
        }
    }
    assert!(
        failed.is_empty(),
        "{} statements panicked: {failed:#?}",
        failed.len()
    );
}
