//! What docs/compatibility.md says of statements, types and functions is what happens: its tables are made here, and this test fails where they say
//! something else. `MILLPOND_DOCS_UPDATE=1` writes them.
//!
//! What is tried stands in the text files beside this one. That a statement runs is all that is looked at; whether it does what it should
//! is for the other tests.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::support::{Answer, Client, TestDb};
use millpond_session::{SqlError, SqlResult};

const UPDATE: &str = "MILLPOND_DOCS_UPDATE";

/// Lines of a text file that are not comments.
fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    let said = |l: &&str| !l.starts_with('#') && !l.trim().is_empty();
    text.lines().filter(said)
}

fn parts(line: &'static str) -> Vec<&'static str> {
    line.split(" | ").map(str::trim).collect()
}

/// How a statement went, in a cell of a table.
fn outcome(done: SqlResult<Vec<Answer>>) -> String {
    match done {
        Err(SqlError { code, message, .. }) => format!("{code}: {}", cell(&message)),
        Ok(answers) => {
            let refusal = answers.iter().find_map(refusal);
            refusal.map_or("works".into(), |text| format!("says: {}", cell(&text)))
        }
    }
}

/// What a row of a table's maintenance says against it.
fn refusal(answer: &Answer) -> Option<String> {
    let kind = answer.columns.iter().position(|c| c.name == "Msg_type")?;
    let row = answer.rows.iter().find(|r| {
        ["error", "note"].contains(&&*r[kind].to_lowercase())
            && !r[kind + 1].contains("doing recreate")
    })?;
    Some(row[kind + 1].clone())
}

/// A text as it may stand in a table of Markdown.
fn cell(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    first.replace('|', "\\|").replace('<', "&lt;")
}

/// A database `x` with a table `t` and nothing else, in use. What statements before have made is gone, where it is not in a database.
fn begin(c: &mut Client) {
    for sql in [
        "DROP USER u@localhost",
        "DROP USER v@localhost",
        "DROP ROLE r",
        "DROP TABLESPACE s",
        "DROP TABLESPACE r",
    ] {
        // Most of them were not made.
        let _ = c.run(sql);
    }
    for sql in [
        "DROP DATABASE IF EXISTS d",
        "DROP DATABASE IF EXISTS x",
        "CREATE DATABASE x",
        "USE x",
        "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20), c INT, j JSON, KEY (c))",
        "INSERT INTO t VALUES (1, 'x', 1, '[1]'), (2, 'y', 2, '[2]'), (3, 'z', 3, NULL)",
    ] {
        c.ok(sql);
    }
}

fn statements() -> String {
    let mut out = String::new();
    // SHUTDOWN is a matter between a session and its server.
    let begun = || {
        let db = TestDb::new();
        db.instance().on_shutdown(|| {});
        db
    };
    let mut db = begun();
    for line in lines(include_str!("statements.txt")) {
        if let Some(chapter) = line.strip_prefix("== ") {
            let _ = write!(
                out,
                "\n**{chapter}**\n\n| statement | here | as in |\n|---|---|---|\n"
            );
            continue;
        }
        let mut c = db.raw();
        begin(&mut c);
        let [name, text] = parts(line)[..] else {
            panic!("{line}");
        };
        let mut statements: Vec<&str> = text.split(" ;; ").collect();
        let last = statements.pop().expect("one");
        let set_up = statements.iter().try_for_each(|s| c.run(s).map(drop));
        let went = match set_up {
            Ok(()) => outcome(c.run(last)),
            Err(e) => outcome(Err(e)),
        };
        if c.0.killed() {
            drop(c);
            db = begun();
        }
        let text = cell(text).replace(" ;; ", "; ");
        let _ = writeln!(out, "| {name} | {went} | `{text}` |");
    }
    out
}

fn types() -> String {
    let db = TestDb::new();
    let mut c = db.raw();
    let mut out = String::from("\n| type | here | as in |\n|---|---|---|\n");
    begin(&mut c);
    for line in lines(include_str!("types.txt")) {
        c.ok("DROP TABLE IF EXISTS n");
        let [name, ty, literal] = parts(line)[..] else {
            panic!("{line}");
        };
        let made = c.run(&format!("CREATE TABLE n (a {ty})"));
        let kept = made.and_then(|_| c.run(&format!("INSERT INTO n VALUES ({literal})")));
        let found = kept.and_then(|_| c.run(&format!("SELECT a FROM n WHERE a = {literal}")));
        let went = match found {
            Ok(answers) if answers[0].rows.len() != 1 => "does not find it again".into(),
            other => outcome(other),
        };
        let _ = writeln!(out, "| {name} | {went} | `{ty}`, {} |", cell(literal));
    }
    out
}

fn functions() -> String {
    let db = TestDb::new();
    let mut c = db.raw();
    begin(&mut c);
    let names = lines(include_str!("functions.txt")).flat_map(str::split_whitespace);
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for name in names {
        // With no argument at all most are refused, but by another error.
        let unknown = match c.run(&format!("SELECT {name}()")) {
            Err(e) => [1235, 1305].contains(&e.code),
            Ok(_) => false,
        };
        if unknown { &mut missing } else { &mut there }.push(format!("`{name}`"));
    }
    let all = there.len() + missing.len();
    format!(
        "\n{} of the {all} functions in MySQL 8.4's reference are there. Not there (error 1305 or 1235): {}.\n\n<details><summary>Those that are</summary>\n\n{}\n\n</details>\n",
        there.len(),
        missing.join(", "),
        there.join(" ")
    )
}

/// A type as far as it is compared: how long a text may be, and whether it is one of several, is not; neither is whether it may be NULL.
fn plain_type(ty: &str) -> &str {
    let base = ty.split('(').next().unwrap_or_default();
    match base {
        "char" | "enum" | "set" => "varchar",
        "double" => "double",
        _ if base == "varchar" => base,
        _ => ty,
    }
}

/// Tables of performance_schema, and what is said of those that are there: their columns are MySQL's.
fn performance_schema() -> String {
    let db = TestDb::new();
    let mut c = db.raw();
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for line in lines(include_str!("performance_schema.txt")) {
        let (name, kept) = line.split_once(": ").unwrap_or((line, ""));
        let sql = format!(
            "SELECT CONCAT(column_name, ' ', column_type) FROM information_schema.columns
             WHERE table_schema = 'performance_schema' AND table_name = '{name}' ORDER BY ordinal_position"
        );
        let columns = c.rows(&sql);
        if columns.is_empty() {
            missing.push(format!("`{name}`"));
            continue;
        }
        let is: Vec<_> = columns.iter().map(|c| c.split_once(' ')).collect();
        let is: Vec<_> = is.into_iter().flatten().collect();
        let want: Vec<_> = kept.split(", ").filter_map(|c| c.split_once(' ')).collect();
        let compared = |list: &[(&str, &str)]| -> Vec<String> {
            let one = |(name, ty): &(&str, &str)| format!("{name} {}", plain_type(ty));
            list.iter().map(one).collect()
        };
        assert_eq!(compared(&is), compared(&want), "{name}");
        there.push(format!("`{name}`"));
    }
    let listed = c.one(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'performance_schema'",
    );
    assert_eq!(listed, there.len().to_string(), "all are in the list");
    let views = c.rows("SHOW FULL TABLES FROM sys");
    let views = views.iter().filter_map(|v| v.strip_suffix("|VIEW"));
    let views: Vec<String> = views.map(|v| format!("`{v}`")).collect();
    format!(
        "\n{} of the {} tables that performance_schema has in MySQL 8.4 are there, with its columns (of ENUM, SET and CHAR columns VARCHAR ones): {}.\n\nNot there (error 1146): {}.\n\nViews of `sys`: {}.\n",
        there.len(),
        there.len() + missing.len(),
        there.join(" "),
        missing.join(" "),
        views.join(" ")
    )
}

/// Holds a part of the document, between two comments, to what it should be.
fn hold(name: &str, made: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/compatibility.md");
    let text = std::fs::read_to_string(&path).expect("docs/compatibility.md");
    let begin = format!("<!-- {name}: made by a test -->\n");
    let end = format!("<!-- end of {name} -->");
    let from = text.find(&begin).expect("where it begins") + begin.len();
    let to = from + text[from..].find(&end).expect("where it ends");
    if std::env::var_os(UPDATE).is_some() {
        let new = format!("{}{made}{}", &text[..from], &text[to..]);
        std::fs::write(&path, new).expect("written");
        return;
    }
    for (said, is) in text[from..to].lines().zip(made.lines()) {
        assert_eq!(said, is, "docs/compatibility.md; {UPDATE}=1 writes it anew");
    }
    assert_eq!(&text[from..to], made, "{UPDATE}=1 writes it anew");
}

#[test]
fn the_document_says_what_happens() {
    hold("performance_schema", &performance_schema());
    hold("statements", &statements());
    hold("types", &types());
    hold("functions", &functions());
}
