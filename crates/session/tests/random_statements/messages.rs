//! Texts of errors and warnings without what MariaDB only words otherwise.

use super::compare::Answer;

/// What is said otherwise, and how it is compared.
const SAME: &[(&str, &str)] = &[
    ("utf8mb4_uca1400_nopad_ai_ci", "utf8mb4_0900_ai_ci"),
    ("utf8mb4_nopad_bin", "utf8mb4_0900_bin"),
    ("MariaDB", "MySQL"),
    ("in 'field list'", "in 'SELECT'"),
    // The type in which a text is no number.
    ("incorrect DECIMAL value", "incorrect DOUBLE value"),
    ("incorrect INTEGER value", "incorrect DOUBLE value"),
    ("Incorrect time value", "Truncated incorrect time value"),
    (
        "Incorrect datetime value",
        "Truncated incorrect datetime value",
    ),
    // A definition's row.
    (" at row 0", " at row 1"),
    (" ' IN '", " 'in'"),
    // A constraint without a name.
    ("Check constraint 't0_chk_", "CONSTRAINT 'CONSTRAINT_"),
    ("Check constraint 't1_chk_", "CONSTRAINT 'CONSTRAINT_"),
    ("Check constraint ", "CONSTRAINT "),
    ("' is violated", "' failed for"),
    ("Unknown VIEW:", "Unknown table"),
    // A program's variable.
    ("column '..", "column '"),
];

/// The text in the form that is compared: names without their table's and database's, one sort of quotes.
fn plain(text: &str) -> String {
    let mut text = text.replace('`', "'").replace("'.'", ".");
    for (theirs, ours) in SAME {
        text = text.replace(theirs, ours);
    }
    text = unqualified(&text);
    if let Some(at) = text.find("' failed for") {
        text.truncate(at);
    }
    text.trim_end_matches('.').to_string()
}

/// `'rs.t0.c'` and `'t0.c'` as `'c'`.
fn unqualified(text: &str) -> String {
    let parts = text.split('\'').enumerate();
    let part = |(n, p): (usize, &str)| {
        let name = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_alphanumeric() || c == '_');
        let named = n % 2 == 1 && p.contains('.') && p.split('.').all(name);
        let numeric = p.chars().all(|c| c.is_ascii_digit() || c == '.');
        if named && !numeric {
            p.rsplit('.').next().unwrap_or(p).to_string()
        } else {
            p.to_string()
        }
    };
    parts.map(part).collect::<Vec<_>>().join("'")
}

/// MariaDB's numbers of errors that MySQL 8 has another for.
const CODES: &[(&str, &str)] = &[
    // A CHECK constraint is violated.
    ("4025", "3819"),
    // JSON_TABLE finds nothing where it must.
    ("4176", "3665"),
    // A view that isn't there.
    ("4092", "1051"),
    ("4078", "1241"),
    // An argument outside of a function's domain.
    ("3020", "1365"),
];

/// The code in MySQL's numbers.
fn same_code(code: &str) -> &str {
    let found = CODES.iter().find(|(theirs, _)| *theirs == code);
    found.map_or(code, |(_, ours)| ours)
}

/// MariaDB's answer in the words of MySQL's.
pub fn in_our_words(answer: &mut Answer) {
    for (_, code, text) in &mut answer.warnings {
        *code = same_code(code).to_string();
        *text = plain(text);
    }
    match &mut answer.outcome {
        Err(f) => f.code = same_code(&f.code.to_string()).parse().expect("a number"),
        Ok(o) => {
            for cell in o.rows.iter_mut().flatten().flatten() {
                if let Some(name) = collation_here(cell) {
                    *cell = name.into();
                }
            }
        }
    }
}

/// Our name of a collation that MariaDB calls otherwise.
fn collation_here(name: &[u8]) -> Option<&'static str> {
    match name {
        b"utf8mb4_uca1400_nopad_ai_ci" => Some("utf8mb4_0900_ai_ci"),
        b"utf8mb4_nopad_bin" => Some("utf8mb4_0900_bin"),
        _ => None,
    }
}
