//! Random statements of every sort, and programs, from a grammar (`grammar/`). A script begins in an empty database, makes tables and goes on
//! with what the grammar has. In `cargo test` it runs twice, as plain statements and as prepared ones: both answer the same, and neither an
//! internal error. With a peer (`scripts/random-statements`) each statement is to give MySQL's rows, types, warnings and errors, but for what
//! `known/` gives the reason of. What differs is reduced to a script of a few statements. MariaDB is asked too, and counted.
//!
//! `MILLPOND_RANDOM_STATEMENTS` sets the number of statements (default 400), `MILLPOND_RANDOM_SEED` repeats a run, `MILLPOND_RANDOM_PEER` is
//! MySQL's URL, `MILLPOND_RANDOM_SECOND` MariaDB's, `MILLPOND_RANDOM_RULE` is the rule to begin with in the place of `statement`, `MILLPOND_RANDOM_ASPECT` is what differences to
//! reduce (`rows`, `error 1690`), of each sort as many as `MILLPOND_RANDOM_REDUCED` says. `MILLPOND_RANDOM_LIST` is a file to which each
//! unknown difference is written as it was met.

mod compare;
mod grammar;
mod known;
mod messages;
mod reduce;
mod text;
mod twins;
mod world;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use compare::Difference;
use grammar::Grammar;
use known::Known;
use text::Text;
use twins::{Twins, Verdict};
use world::World;

use crate::env;

/// Statements of one script, behind those that make its tables.
const A_SCRIPT: u64 = 30;
/// Attempts at a definition of a table that works.
const TABLE_ATTEMPTS: u32 = 8;
/// Differences of one sort that are reduced; the rest are counted.
const REDUCED: u64 = 3;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/random_statements")
}

/// A run's counts.
#[derive(Default)]
struct Tally {
    statements: u64,
    failed: u64,
    different: u64,
    known: u64,
    /// Statements that MariaDB was asked too, and answered the same.
    second: u64,
    as_second: u64,
    sorts: BTreeMap<String, u64>,
}

#[test]
fn random_statements_agree() {
    let count = env("MILLPOND_RANDOM_STATEMENTS", 400);
    let seed = env("MILLPOND_RANDOM_SEED", 1);
    println!("MILLPOND_RANDOM_SEED={seed} MILLPOND_RANDOM_STATEMENTS={count}");
    let start = std::env::var("MILLPOND_RANDOM_RULE").unwrap_or("statement".into());
    let grammar = Grammar::read(&folder().join("grammar"));
    let known = Known::read(&folder().join("known"));
    let mut twins = Twins::new();
    let mut tally = Tally::default();
    let mut script = 0;
    while tally.statements < count {
        let world = World::new(&grammar, seed.wrapping_mul(1_000_003).wrapping_add(script));
        one_script(world, &start, &mut twins, &known, &mut tally);
        script += 1;
    }
    println!(
        "{} statements, {} of them errors: {} differ, {} as they should",
        tally.statements, tally.failed, tally.different, tally.known
    );
    if tally.second > 0 {
        let (same, of) = (tally.as_second, tally.second);
        println!("{same} of {of} that MariaDB was asked too give its answer");
    }
    for (sort, n) in &tally.sorts {
        println!("{n:6} {sort}");
    }
    if std::env::var_os("MILLPOND_RANDOM_KNOWN").is_some() {
        for (n, because) in known.counts() {
            println!("{n:6} {because}");
        }
    }
    assert_eq!(tally.different, 0, "differences");
    // Else the grammar no longer makes statements that mean something.
    assert!(tally.failed * 2 < tally.statements, "most statements fail");
}

fn one_script(
    mut world: World<'_>,
    start: &str,
    twins: &mut Twins,
    known: &Known,
    tally: &mut Tally,
) {
    twins.begin();
    let mut before: Vec<Text> = Vec::new();
    let filled = ["fill_0", "fill_0", "fill_1", "fill_1"];
    let rules = filled.into_iter().chain((0..A_SCRIPT).map(|_| start));
    let rules = ["settings", "table_0", "table_1"].into_iter().chain(rules);
    let mut rules = rules.chain(["look_0", "look_1"]).peekable();
    let mut attempts = 0;
    while let Some(&rule) = rules.peek() {
        let statement = world.statement(rule);
        let sql = statement.sql();
        let Verdict {
            failed,
            difference,
            as_mariadb,
        } = twins.run(&sql, known);
        tally.statements += 1;
        tally.failed += u64::from(failed);
        tally.second += u64::from(as_mariadb.is_some());
        tally.as_second += u64::from(as_mariadb == Some(true));
        before.push(statement);
        // Some definitions are wrong ones: without tables there is little to do.
        attempts = if failed && rule.starts_with("table_") {
            attempts + 1
        } else {
            0
        };
        if attempts == 0 || attempts == TABLE_ATTEMPTS {
            rules.next();
        }
        let upper = sql.to_ascii_uppercase();
        if ["CREATE", "ALTER", "DROP", "RENAME", "CALL"]
            .iter()
            .any(|w| upper.starts_with(w))
        {
            world.look(&mut twins.observer());
        }
        let Some((difference, is_known)) = difference else {
            continue;
        };
        tally.known += u64::from(is_known);
        if !is_known {
            report(&before, &difference, twins, known, tally);
        }
        let reads = ["SELECT", "SHOW", "DO "]
            .iter()
            .any(|w| upper.starts_with(w));
        if difference.deep() && !reads {
            return;
        }
    }
}

/// Counts a difference and prints it reduced.
fn report(
    script: &[Text],
    difference: &Difference,
    twins: &mut Twins,
    known: &Known,
    tally: &mut Tally,
) {
    tally.different += 1;
    let sort = sort(difference);
    let seen = tally.sorts.entry(sort.clone()).or_default();
    *seen += 1;
    let wanted = std::env::var("MILLPOND_RANDOM_ASPECT").unwrap_or_default();
    if sort.starts_with(&wanted) {
        list(&sort, script, difference);
    }
    if *seen > env("MILLPOND_RANDOM_REDUCED", REDUCED) || !sort.starts_with(&wanted) {
        return;
    }
    println!("---- {sort}");
    let mut last = difference.clone();
    let mut fails = |script: &[Text]| {
        twins.begin();
        let (end, start) = script.split_last().expect("a statement");
        // What parted the two before is another difference.
        let parted = |s: &Text| {
            twins
                .run(&s.sql(), known)
                .difference
                .is_some_and(|(d, _)| d.deep())
        };
        if start.iter().any(parted) {
            return false;
        }
        match twins.run(&end.sql(), known).difference {
            Some((d, false)) if self::sort(&d) == sort => {
                last = d;
                true
            }
            _ => false,
        }
    };
    let script = reduce::reduce(
        script.to_vec(),
        env("MILLPOND_RANDOM_TRIES", 400) as u32,
        &mut fails,
    );
    for statement in &script {
        println!("{};", statement.sql().trim());
    }
    println!("-- here  {}\n-- there {}", last.here, last.there);
}

/// Adds a difference to the file of `MILLPOND_RANDOM_LIST`.
fn list(sort: &str, script: &[Text], difference: &Difference) {
    let Some(path) = std::env::var_os("MILLPOND_RANDOM_LIST") else {
        return;
    };
    let file = OpenOptions::new().create(true).append(true).open(path);
    let sql = script.last().expect("a statement").sql();
    let (here, there) = (&difference.here, &difference.there);
    let entry = format!(
        "{sort}\n  {}\n  -- here  {here}\n  -- there {there}\n",
        sql.trim()
    );
    let written = file.and_then(|mut f| f.write_all(entry.as_bytes()));
    written.expect("a list of differences");
}

/// What differences are counted by: the aspect, of errors and warnings which, and of types which.
fn sort(d: &Difference) -> String {
    let codes = |text: &str| match d.aspect {
        "error" => text
            .split(':')
            .next()
            .unwrap_or("")
            .split(' ')
            .next()
            .map(String::from),
        "warnings" | "texts" => {
            let first = text.split(' ').take(2).collect::<Vec<_>>();
            Some(first.join(" "))
        }
        "types" if text.len() == 1 => Some(text.to_string()),
        _ => Some(String::new()),
    };
    let code = |text: &str| {
        let code = codes(text).unwrap_or_default();
        let number = code.parse::<u16>().is_ok();
        if d.aspect == "error" && !number {
            "works".to_string()
        } else {
            code
        }
    };
    format!("{} {} | {}", d.aspect, code(&d.here), code(&d.there))
}
