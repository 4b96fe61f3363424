//! Names and texts in quotes, as SHOW CREATE TABLE writes them.

/// A name in backticks.
pub fn quote_name(name: &str) -> String {
    Quotes { ansi: false }.name(name)
}

/// How names are quoted.
#[derive(Clone, Copy)]
pub struct Quotes {
    /// As sql_mode ANSI_QUOTES asks.
    pub ansi: bool,
}

impl Quotes {
    /// A name in these.
    pub fn name(self, name: &str) -> String {
        let quote = if self.ansi { '"' } else { '`' };
        let mut out = String::with_capacity(name.len() + 2);
        out.push(quote);
        for c in name.chars() {
            out.push(c);
            if c == quote {
                out.push(c);
            }
        }
        out.push(quote);
        out
    }
}

/// A text in quotes, escaped as SHOW CREATE TABLE escapes it.
pub fn quote_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("''"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}
