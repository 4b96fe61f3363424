//! Where a statement ends, in text that arrives line by line.

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

/// Inside what the text so far ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
enum Inside {
    #[default]
    Nothing,
    Quote(u8),
    Comment,
    LineComment,
}

/// Gathers text until it holds a whole statement.
#[derive(Default)]
pub struct Splitter {
    text: String,
    /// Position up to which `text` has been looked at, always between two characters.
    at: usize,
    inside: Inside,
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
        match self.inside {
            Inside::Quote(b'\'') => Some("'"),
            Inside::Quote(b'"') => Some("\""),
            Inside::Quote(_) => Some("`"),
            Inside::Comment => Some("/*"),
            Inside::Nothing | Inside::LineComment => None,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Splitter::default();
    }

    /// The next whole statement, without its end.
    pub fn next(&mut self) -> Option<(String, End)> {
        let bytes = self.text.as_bytes();
        while let Some(&c) = bytes.get(self.at) {
            let following = bytes.get(self.at + 1).copied();
            let mut step = 1;
            match (self.inside, c) {
                (Inside::Quote(q), b'\\') if q != b'`' => {
                    // The next line may bring what is escaped.
                    following?;
                    step = 2;
                }
                (Inside::Quote(q), c) if c == q => self.inside = Inside::Nothing,
                (Inside::Quote(_), _) => {}
                (Inside::Comment, b'*') if following == Some(b'/') => {
                    self.inside = Inside::Nothing;
                    step = 2;
                }
                (Inside::LineComment, b'\n') => self.inside = Inside::Nothing,
                (Inside::Comment | Inside::LineComment, _) => {}
                (Inside::Nothing, b'\'' | b'"' | b'`') => self.inside = Inside::Quote(c),
                (Inside::Nothing, b'#') => self.inside = Inside::LineComment,
                (Inside::Nothing, b'/') if following == Some(b'*') => {
                    self.inside = Inside::Comment;
                    step = 2;
                }
                (Inside::Nothing, b'-')
                    if following == Some(b'-')
                        && bytes.get(self.at + 2).is_none_or(u8::is_ascii_whitespace) =>
                {
                    self.inside = Inside::LineComment;
                }
                (Inside::Nothing, b';') => return Some(self.cut(1, End::Plain)),
                (Inside::Nothing, b'\\') => match following {
                    Some(b'g') => return Some(self.cut(2, End::Plain)),
                    Some(b'G') => return Some(self.cut(2, End::Vertical)),
                    Some(b'c') => return Some(self.cut(2, End::Cancel)),
                    _ => {}
                },
                (Inside::Nothing, _) => {}
            }
            self.at = (self.at + step).min(bytes.len());
        }
        None
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
