//! Constructs that are no part of MySQL 8's language: a pattern a line, then a tab and the reason.

/// Patterns and reasons.
pub struct Exclusions(Vec<(Vec<String>, bool, String)>);

impl Exclusions {
    /// Reads a file of patterns. A pattern is of words and signs; `*` stands for anything, `^` for the beginning.
    pub fn read(text: &str) -> Result<Exclusions, String> {
        let lines = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines
            .map(|line| {
                let (pattern, reason) = line
                    .split_once('\t')
                    .ok_or_else(|| format!("no reason: {line}"))?;
                let (anchored, pattern) = pattern
                    .strip_prefix('^')
                    .map_or((false, pattern), |p| (true, p));
                let pieces = pattern.split('*').map(|p| normal(p.trim())).collect();
                Ok((pieces, anchored, reason.trim().to_string()))
            })
            .collect::<Result<_, String>>()
            .map(Exclusions)
    }

    /// Why a statement is no part of MySQL's language, if a pattern matches it.
    pub fn reason(&self, statement: &str) -> Option<&str> {
        let text = format!(" {} ", normal(statement));
        let row = self
            .0
            .iter()
            .find(|(pieces, anchored, _)| matches(&text, pieces, *anchored));
        row.map(|(_, _, reason)| reason.as_str())
    }
}

fn matches(text: &str, pieces: &[String], anchored: bool) -> bool {
    let mut rest = text;
    for (n, piece) in pieces.iter().enumerate() {
        if piece.is_empty() {
            continue;
        }
        let wanted = format!(" {piece} ");
        let Some(at) = rest.find(&wanted) else {
            return false;
        };
        if n == 0 && anchored && at != 0 {
            return false;
        }
        rest = &rest[at + wanted.len() - 1..];
    }
    true
}

/// Upper case, words and signs with one space between.
fn normal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '@' | '$');
    let mut last = ' ';
    for c in text.chars() {
        if c.is_whitespace() {
            last = ' ';
            continue;
        }
        let joined = word(c) && word(last);
        if !out.is_empty() && !joined {
            out.push(' ');
        }
        out.extend(c.to_uppercase());
        last = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Exclusions;

    #[test]
    fn patterns_match_words() {
        let list =
            Exclusions::read("^CREATE SEQUENCE\tsequences\nINSERT * RETURNING\treturning\n# note")
                .unwrap();
        assert_eq!(list.reason("create  sequence s1"), Some("sequences"));
        assert_eq!(list.reason("select create sequence"), None);
        assert_eq!(
            list.reason("insert into t values(1) returning a"),
            Some("returning")
        );
        assert_eq!(list.reason("insert into t values(returninga)"), None);
        assert!(Exclusions::read("no reason").is_err());
    }
}
