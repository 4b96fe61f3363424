//! Statements with the answers that MySQL gives, in `golden/*.txt`. A line `> statement` (`> ~statement` if the order
//! of rows is free) is followed by its rows, columns joined by `|`, or `ok <affected>[ id <last insert id>]`,
//! `(empty)`, or `error <code>`.

mod support;

use std::fmt::Write;

use support::{Answer, Client, TestDb};

/// As the files have it.
fn printed(answer: &Answer) -> Vec<String> {
    let done = &answer.done;
    if answer.columns.is_empty() {
        let mut line = format!("ok {}", done.affected);
        if done.last_insert_id != 0 {
            let _ = write!(line, " id {}", done.last_insert_id);
        }
        return vec![line];
    }
    if answer.rows.is_empty() {
        return vec!["(empty)".into()];
    }
    answer.rows.iter().map(|r| r.join("|")).collect()
}

fn answer(client: &mut Client, sql: &str, sort: bool) -> Vec<String> {
    match client.run(sql) {
        Ok(answers) => {
            let mut lines: Vec<String> = answers.iter().flat_map(printed).collect();
            if sort {
                lines.sort();
            }
            lines
        }
        Err(e) => vec![format!("error {}", e.code)],
    }
}

fn run(name: &str) {
    let file = format!("{}/tests/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).expect("golden file");
    let db = TestDb::new();
    let mut session = db.raw();
    for s in ["create database golden", "use golden"] {
        answer(&mut session, s, false);
    }
    let mut wrong = String::new();
    let mut statements = 0;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(sql) = line.strip_prefix("> ") else {
            continue;
        };
        let mut want: Vec<String> = Vec::new();
        while let Some(l) = lines.next_if(|l| !l.starts_with("> ")) {
            if !l.starts_with('#') {
                want.push(l.to_string());
            }
        }
        let (sort, sql) = match sql.strip_prefix('~') {
            Some(s) => (true, s),
            None => (false, sql),
        };
        statements += 1;
        let got = answer(&mut session, sql, sort);
        if got != want {
            let _ = writeln!(wrong, "> {sql}\n  want {want:?}\n  got  {got:?}");
        }
    }
    assert!(statements > 0);
    assert!(wrong.is_empty(), "{name}:\n{wrong}");
}

#[test]
fn select() {
    run("select");
}

#[test]
fn dml() {
    run("dml");
}

#[test]
fn misc() {
    run("misc");
}

#[test]
fn strict() {
    run("strict");
}

#[test]
fn values() {
    run("values");
}

#[test]
fn several() {
    run("several");
}

#[test]
fn coercion() {
    run("coercion");
}

#[test]
fn functions() {
    run("functions");
}

#[test]
fn definitions() {
    run("definitions");
}
