//! Where a statement ends, in text that arrives line by line.

use millpond_syntax::pieces::{PieceKind, piece};

/// How a statement was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// `;` or `\g`.
    Plain,
    /// `\G`: print rows vertically.
    Vertical,
    /// `\c`: forget it.
    Cancel,
}

/// Gathers text until it holds a whole statement.
#[derive(Default)]
pub struct Splitter {
    text: String,
    /// Up to where `text` has been looked at: between two of its parts.
    at: usize,
    /// What the part that begins there is, if it has no end yet.
    open: Option<PieceKind>,
}

impl Splitter {
    /// Appends text.
    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Whether nothing but space is waiting for its end.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// What a prompt should say is open: `'`, `"`, `` ` ``, `/*`.
    pub fn open(&self) -> Option<&'static str> {
        match self.open? {
            PieceKind::Quoted(b'\'') => Some("'"),
            PieceKind::Quoted(b'"') => Some("\""),
            PieceKind::Quoted(_) => Some("`"),
            PieceKind::Comment => Some("/*"),
            PieceKind::LineComment | PieceKind::Plain => None,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Splitter::default();
    }

    /// The next whole statement, without its end.
    pub fn next(&mut self) -> Option<(String, End)> {
        while self.at < self.text.len() {
            let found = piece(self.text.as_bytes(), self.at, true);
            self.open = (!found.closed).then_some(found.kind);
            if !found.closed {
                return None;
            }
            if found.kind == PieceKind::Plain {
                if let Some(end) = self.end_within(found.end) {
                    return Some(end);
                }
                if self.awaits_more(found.end) {
                    return None;
                }
            }
            self.at = found.end;
        }
        None
    }

    /// Cuts off the statement that ends before `end`, if one does.
    fn end_within(&mut self, end: usize) -> Option<(String, End)> {
        let bytes = self.text.as_bytes();
        for at in self.at..end {
            let (length, how) = match (bytes[at], bytes.get(at + 1)) {
                (b';', _) => (1, End::Plain),
                (b'\\', Some(b'g')) => (2, End::Plain),
                (b'\\', Some(b'G')) => (2, End::Vertical),
                (b'\\', Some(b'c')) => (2, End::Cancel),
                _ => continue,
            };
            self.at = at;
            return Some(self.cut(length, how));
        }
        None
    }

    /// Whether what comes next may make something else of the text's last sign.
    fn awaits_more(&self, end: usize) -> bool {
        end == self.text.len() && self.text.ends_with(['-', '/', '\\'])
    }

    /// What is left when no more text comes.
    pub fn rest(&mut self) -> Option<String> {
        let text = std::mem::take(&mut self.text);
        self.clear();
        Some(text.trim().to_string()).filter(|t| !t.is_empty())
    }

    fn cut(&mut self, end_len: usize, end: End) -> (String, End) {
        let statement = self.text[..self.at].trim().to_string();
        self.text.drain(..self.at + end_len);
        self.at = 0;
        self.open = None;
        (statement, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(lines: &[&str]) -> Vec<(String, End)> {
        let mut s = Splitter::default();
        let mut out = Vec::new();
        for line in lines {
            s.push(line);
            s.push("\n");
            while let Some(x) = s.next() {
                out.push(x);
            }
        }
        out
    }

    fn plain(texts: &[&str]) -> Vec<(String, End)> {
        texts.iter().map(|t| (t.to_string(), End::Plain)).collect()
    }

    #[test]
    fn statements_end_where_they_should() {
        assert_eq!(
            split(&["select 1; select 2;"]),
            plain(&["select 1", "select 2"])
        );
        assert_eq!(split(&["select", "1", ";"]), plain(&["select\n1"]));
        assert_eq!(
            split(&["select ';', \"a\\\";\", `;` -- ;", "# ;", "/* ; */;"]),
            plain(&["select ';', \"a\\\";\", `;` -- ;\n# ;\n/* ; */"])
        );
        assert_eq!(
            split(&["select 'it''s; é';"]),
            plain(&["select 'it''s; é'"])
        );
        assert_eq!(split(&["select 'a\\", "b';"]), plain(&["select 'a\\\nb'"]));
        assert_eq!(split(&["select 1--1;"]), plain(&["select 1--1"]));
        assert_eq!(
            split(&["select 1\\G nonsense \\c"]),
            [
                ("select 1".to_string(), End::Vertical),
                ("nonsense".to_string(), End::Cancel)
            ]
        );
    }

    #[test]
    fn what_is_open_is_told() {
        let mut s = Splitter::default();
        s.push("select 'a\n");
        assert_eq!(s.next(), None);
        assert_eq!(s.open(), Some("'"));
        assert!(!s.is_empty());
        s.clear();
        assert!(s.is_empty() && s.open().is_none());
        s.push("select 2");
        assert_eq!(s.next(), None);
        assert_eq!(s.rest(), Some("select 2".to_string()));
        assert_eq!(s.rest(), None);
    }
}
