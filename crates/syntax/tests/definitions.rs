//! Statements other than queries and DML, one a line in `statements/*.sql`: each parses, and what it prints parses to the same tree
//! and prints the same text. In `refused.sql`, none parses.

use std::path::Path;

use millpond_syntax::{LexMode, parse_statement};

fn lines(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/statements")
        .join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    text.lines()
        .filter(|l| !l.is_empty() && !l.starts_with("-- "))
        .map(String::from)
        .collect()
}

fn round_trips(name: &str) {
    let mut wrong = Vec::new();
    for line in lines(name) {
        let statement = match parse_statement(&line, LexMode::default()) {
            Ok(statement) => statement,
            Err(error) => {
                wrong.push(format!("{line}\n    {error}"));
                continue;
            }
        };
        let printed = statement.to_string();
        match parse_statement(&printed, LexMode::default()) {
            Ok(again) if again != statement => {
                wrong.push(format!("{line}\n    another tree: {printed}"));
            }
            Ok(again) if again.to_string() != printed => {
                wrong.push(format!("{line}\n    another text: {printed}"));
            }
            Ok(_) => {}
            Err(error) => wrong.push(format!("{line}\n    {printed}\n    {error}")),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn definitions() {
    round_trips("definitions.sql");
}

#[test]
fn stored_programs() {
    round_trips("programs.sql");
}

#[test]
fn sessions_and_transactions() {
    round_trips("sessions.sql");
}

#[test]
fn accounts() {
    round_trips("accounts.sql");
}

#[test]
fn administration() {
    round_trips("administration.sql");
}

#[test]
fn shows() {
    round_trips("shows.sql");
}

#[test]
fn what_is_refused() {
    let parsed: Vec<_> = lines("refused.sql")
        .into_iter()
        .filter(|line| parse_statement(line, LexMode::default()).is_ok())
        .collect();
    assert!(parsed.is_empty(), "parsed: {parsed:#?}");
}

/// The tree of a statement's variety, seen through its canonical text.
#[test]
fn synonyms_print_alike() {
    let pairs = [
        (
            "create table t (a integer, b bool, c numeric(3), d long varchar, e double precision)",
            "CREATE TABLE `t` (`a` INT, `b` TINYINT(1), `c` DECIMAL(3), `d` MEDIUMTEXT, `e` DOUBLE)",
        ),
        ("show fields in t in d", "SHOW COLUMNS FROM `d`.`t`"),
        (
            "start slave sql_thread for channel 'c'",
            "START REPLICA SQL_THREAD FOR CHANNEL 'c'",
        ),
        (
            "set @@local.x = on, names 'utf8mb4'",
            "SET @@SESSION.`x` = on, NAMES `utf8mb4`",
        ),
        (
            "grant all on *.* to u@localhost with grant option",
            "GRANT ALL PRIVILEGES ON *.* TO 'u'@'localhost' WITH GRANT OPTION",
        ),
        (
            "alter table t add index (a), rename as u",
            "ALTER TABLE `t` ADD KEY (`a`), RENAME TO `u`",
        ),
    ];
    for (text, canonical) in pairs {
        let statement = parse_statement(text, LexMode::default()).unwrap();
        assert_eq!(statement.to_string(), canonical);
    }
}
