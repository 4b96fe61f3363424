//! `.slt` files as text: comments and records, read and written back. README.md says what they may hold.

/// What a record says of its statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// No result set: rows affected, and the first AUTO_INCREMENT value or 0.
    Done { affected: u64, id: u64 },
    /// A result set: a letter a column, a line a row.
    Rows { types: String, rows: Vec<String> },
    /// An error.
    Error { code: u16, message: String },
}

/// A statement with what it answers.
#[derive(Clone, Debug)]
pub struct Record {
    /// Line of its header, from 1.
    pub line: usize,
    /// `onlyif` and `skipif` lines as they stand.
    pub guards: Vec<String>,
    pub sql: String,
    /// The order of rows is free.
    pub rowsort: bool,
    pub expect: Expect,
}

/// A part of a file.
#[derive(Clone, Debug)]
pub enum Item {
    /// A comment or an empty line.
    Text(String),
    Record(Record),
}

/// Engines that guards may name.
const ENGINES: [&str; 3] = ["millpond", "mariadb", "mysql"];

impl Record {
    /// Whether it is meant for the engine.
    pub fn runs_on(&self, engine: &str) -> bool {
        self.guards.iter().all(|g| {
            let mut words = g.split_whitespace();
            let only = words.next() == Some("onlyif");
            only == (words.next() == Some(engine))
        })
    }

    /// Whether it asks for the warnings of the statement before it.
    pub fn shows_warnings(&self) -> bool {
        self.sql.eq_ignore_ascii_case("show warnings")
    }

    /// Whether it asks for a plan.
    pub fn explains(&self) -> bool {
        self.sql
            .get(..8)
            .is_some_and(|w| w.eq_ignore_ascii_case("explain "))
    }

    fn write(&self, out: &mut String) {
        for g in &self.guards {
            out.push_str(&format!("{g}\n"));
        }
        let header = match &self.expect {
            Expect::Done { affected: 0, id: 0 } => "statement ok".to_string(),
            Expect::Done { affected, id: 0 } => format!("statement count {affected}"),
            Expect::Done { affected, id } => format!("statement count {affected} id {id}"),
            Expect::Error { code, message } => format!("statement error {code}: {message}"),
            Expect::Rows { types, .. } if self.rowsort => format!("query {types} rowsort"),
            Expect::Rows { types, .. } => format!("query {types}"),
        };
        out.push_str(&format!("{header}\n{}\n", self.sql));
        if let Expect::Rows { rows, .. } = &self.expect {
            out.push_str("----\n");
            for r in rows {
                out.push_str(&format!("{r}\n"));
            }
        }
    }
}

/// The file's text.
pub fn print(items: &[Item]) -> String {
    let mut out = String::new();
    for item in items {
        match item {
            Item::Text(t) => out.push_str(&format!("{t}\n")),
            Item::Record(r) => r.write(&mut out),
        }
    }
    out
}

/// Parts of a file's text; an error says where it is wrong.
pub fn parse(text: &str) -> Result<Vec<Item>, String> {
    let mut items = Vec::new();
    let mut guards = Vec::new();
    let mut lines = (1..).zip(text.lines()).peekable();
    while let Some((line, text)) = lines.next() {
        let wrong = |what: &str| format!("line {line}: {what}: {text}");
        if text.is_empty() || text.starts_with('#') {
            if !guards.is_empty() {
                return Err(wrong("a record must follow its guards"));
            }
            items.push(Item::Text(text.to_string()));
            continue;
        }
        if text.starts_with("onlyif ") || text.starts_with("skipif ") {
            let named = text.split_whitespace().nth(1);
            let reason = text.split_once(" # ").is_some_and(|(_, r)| !r.is_empty());
            if !named.is_some_and(|n| ENGINES.contains(&n)) || !reason {
                return Err(wrong("a guard is `onlyif|skipif ENGINE # reason`"));
            }
            guards.push(text.to_string());
            continue;
        }
        let (mut expect, rowsort) = header(text).ok_or_else(|| wrong("no header of a record"))?;
        let mut sql = Vec::new();
        while let Some((_, l)) = lines.next_if(|(_, l)| !l.is_empty() && *l != "----") {
            sql.push(l);
        }
        if sql.is_empty() {
            return Err(wrong("no statement"));
        }
        if lines.next_if(|(_, l)| *l == "----").is_some() {
            let Expect::Rows { rows, .. } = &mut expect else {
                return Err(wrong("rows of no query"));
            };
            while let Some((_, l)) = lines.next_if(|(_, l)| !l.is_empty()) {
                rows.push(l.to_string());
            }
        }
        items.push(Item::Record(Record {
            line,
            guards: std::mem::take(&mut guards),
            sql: sql.join("\n"),
            rowsort,
            expect,
        }));
    }
    Ok(items)
}

/// What a header says, and whether the order of rows is free.
fn header(line: &str) -> Option<(Expect, bool)> {
    if let Some(e) = line.strip_prefix("statement error ") {
        let (code, message) = e.split_once(": ").unwrap_or((e, ""));
        let (code, message) = (code.parse().ok()?, message.to_string());
        return Some((Expect::Error { code, message }, false));
    }
    let words: Vec<&str> = line.split(' ').collect();
    let expect = match words[..] {
        ["statement", "ok"] => Expect::Done { affected: 0, id: 0 },
        ["statement", "count", n] => Expect::Done {
            affected: n.parse().ok()?,
            id: 0,
        },
        ["statement", "count", n, "id", id] => Expect::Done {
            affected: n.parse().ok()?,
            id: id.parse().ok()?,
        },
        ["query", types] | ["query", types, "rowsort"] => Expect::Rows {
            types: types.to_string(),
            rows: Vec::new(),
        },
        _ => return None,
    };
    Some((expect, words.len() == 3 && words[2] == "rowsort"))
}

/// A row as a line: values parted by tabs, `NULL`, `(empty)`, and escapes for what a line can't hold.
pub fn row_line(row: &[Option<Vec<u8>>]) -> String {
    let cells: Vec<String> = row.iter().map(|c| cell(c.as_deref())).collect();
    cells.join("\t")
}

fn cell(value: Option<&[u8]>) -> String {
    let Some(bytes) = value else {
        return "NULL".into();
    };
    match bytes {
        b"" => return "(empty)".into(),
        b"NULL" => return "\\NULL".into(),
        b"(empty)" => return "\\(empty)".into(),
        _ => {}
    }
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(&escaped(chunk.valid()));
        for b in chunk.invalid() {
            out.push_str(&format!("\\x{b:02x}"));
        }
    }
    out
}

/// A text on one line.
pub fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}
