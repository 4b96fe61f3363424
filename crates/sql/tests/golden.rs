//! Statements with the answers that MySQL gives, in `golden/*.txt`. A line `> statement` (`> ~statement` if the order
//! of rows is free) is followed by its rows, columns joined by `|`, or `ok <affected>[ id <last insert id>]`,
//! `(empty)`, or `error <code>`.

use std::fmt::Write;

use millpond_sql::result::{ColumnMeta, Completion, ResultSink};
use millpond_sql::{ConnectionInfo, Instance, InstanceOptions, Session, Value, value};
use millpond_store::Options;

/// Prints answers as the files have them.
#[derive(Default)]
struct Printer {
    columns: Vec<ColumnMeta>,
    lines: Vec<String>,
}

impl ResultSink for Printer {
    fn columns(&mut self, columns: &[ColumnMeta]) -> std::io::Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }
    fn row(&mut self, row: &[Value<'_>]) -> std::io::Result<()> {
        let texts: Vec<String> = row
            .iter()
            .zip(&self.columns)
            .map(|(v, c)| {
                if v.is_null() {
                    return "NULL".to_string();
                }
                let mut text = Vec::new();
                value::write_text(v, &c.ty, &mut text);
                String::from_utf8_lossy(&text).into_owned()
            })
            .collect();
        self.lines.push(texts.join("|"));
        Ok(())
    }
    fn finish(&mut self, done: &Completion) -> std::io::Result<()> {
        if self.columns.is_empty() {
            let mut line = format!("ok {}", done.affected);
            if done.last_insert_id != 0 {
                let _ = write!(line, " id {}", done.last_insert_id);
            }
            self.lines.push(line);
        } else if self.lines.is_empty() {
            self.lines.push("(empty)".into());
        }
        Ok(())
    }
}

fn answer(session: &mut Session, sql: &str, sort: bool) -> Vec<String> {
    let mut p = Printer::default();
    match session.execute(sql, &mut p) {
        Ok(()) => {
            if sort {
                p.lines.sort();
            }
            p.lines
        }
        Err(e) => vec![format!("error {}", e.code)],
    }
}

fn run(name: &str) {
    let file = format!("{}/tests/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).expect("golden file");
    let path = std::env::temp_dir().join(format!("millpond-golden-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let instance = Instance::open(InstanceOptions {
        path: path.clone(),
        store: Options {
            pool_bytes: 8 << 20,
            log_bytes: 16 << 20,
            ..Options::default()
        },
        variables: Vec::new(),
    })
    .expect("open");
    let info = ConnectionInfo {
        user: "root".into(),
        host: "localhost".into(),
        ..ConnectionInfo::default()
    };
    let mut session = instance.connect(info).expect("connect");
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
    drop(session);
    instance.close().expect("close");
    let _ = std::fs::remove_dir_all(&path);
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
