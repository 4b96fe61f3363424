//! Statements as tokens, and others made of them.

use crate::rng::Rng;

/// What a token may be exchanged for: one of its own kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Number,
    Text,
    Sign,
    Space,
}

/// Numbers at which types end.
const NUMBERS: [&str; 22] = [
    "0",
    "-1",
    "1",
    "2",
    "127",
    "128",
    "255",
    "256",
    "32768",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-1e-308",
    "0.00000000000000000000000000000000001",
    "99999999999999999999999999999999999999999999999999999999999999999999999999",
];

/// Texts at which conversions end.
const TEXTS: [&str; 20] = [
    "''",
    "' '",
    "'0'",
    "'-1'",
    "'9999-12-31 23:59:59.999999'",
    "'0000-00-00'",
    "'2024-02-30'",
    "'838:59:59'",
    "'-838:59:59.5'",
    "'a'",
    "'%'",
    "'\\\\'",
    "'[1, {\"a\": null}]'",
    "'$[last]'",
    "'$**.a'",
    "x'ff'",
    "_utf8mb4 0xF09F9880",
    "b'1'",
    "_binary 'a\\0b'",
    "'POINT(1e308 -1e308)'",
];

/// Words that are understood in many places.
const WORDS: [&str; 40] = [
    "NULL",
    "DEFAULT",
    "DISTINCT",
    "NOT",
    "IS",
    "IN",
    "EXISTS",
    "ALL",
    "ANY",
    "ROW",
    "BINARY",
    "COLLATE",
    "INTERVAL",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "WITH",
    "RECURSIVE",
    "ROLLUP",
    "OVER",
    "LATERAL",
    "GROUP BY",
    "ORDER BY",
    "HAVING",
    "LIMIT",
    "WHERE",
    "ON",
    "LEFT JOIN",
    "CROSS JOIN",
    "NATURAL JOIN",
    "CASE WHEN",
    "END",
    "AS",
    "FOR UPDATE",
    "UNSIGNED",
    "JSON",
    "DECIMAL(65,30)",
    "VALUES",
    "SELECT",
    "(SELECT 1)",
];

const SIGNS: [&str; 22] = [
    "(", ")", ",", "*", "+", "-", "/", "%", "=", "<=>", "<>", "<", ">", "->", "->>", ":=", "@",
    "||", "&&", "!", "~", ".",
];

/// Tokens of many statements, by kind.
pub struct Pool {
    words: Vec<String>,
    numbers: Vec<String>,
    texts: Vec<String>,
    signs: Vec<String>,
}

impl Pool {
    pub fn of<'s>(statements: impl Iterator<Item = &'s String>) -> Pool {
        let owned = |t: &[&str]| t.iter().map(|t| t.to_string()).collect();
        let mut pool = Pool {
            words: owned(&WORDS),
            numbers: owned(&NUMBERS),
            texts: owned(&TEXTS),
            signs: owned(&SIGNS),
        };
        let mut seen = std::collections::HashSet::new();
        for sql in statements {
            for (kind, token) in tokens(sql) {
                if let Some(kept) = pool.of_kind(kind)
                    && seen.insert(token.to_string())
                {
                    kept.push(token.to_string());
                }
            }
        }
        pool
    }

    fn of_kind(&mut self, kind: Kind) -> Option<&mut Vec<String>> {
        match kind {
            Kind::Word => Some(&mut self.words),
            Kind::Number => Some(&mut self.numbers),
            Kind::Text => Some(&mut self.texts),
            Kind::Sign => Some(&mut self.signs),
            Kind::Space => None,
        }
    }

    /// Half of them from those at which something ends, which come first.
    fn pick(&self, kind: Kind, rng: &mut Rng) -> &str {
        let (all, special) = match kind {
            Kind::Word => (&self.words, WORDS.len()),
            Kind::Number => (&self.numbers, NUMBERS.len()),
            Kind::Text => (&self.texts, TEXTS.len()),
            Kind::Sign | Kind::Space => (&self.signs, SIGNS.len()),
        };
        let among = if rng.below(2) == 0 {
            special
        } else {
            all.len()
        };
        &all[rng.below(among as u64) as usize]
    }
}

/// A statement's tokens, spaces too: together they are its text.
fn tokens(sql: &str) -> Vec<(Kind, &str)> {
    let mut found = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let while_ = |f: fn(char) -> bool| rest.find(|c| !f(c)).unwrap_or(rest.len());
        let (kind, n) = match first {
            c if c.is_whitespace() => (Kind::Space, while_(char::is_whitespace)),
            '0'..='9' => (
                Kind::Number,
                while_(|c| c.is_ascii_alphanumeric() || c == '.'),
            ),
            '\'' | '"' | '`' => {
                let closed = rest[1..].find(first).map_or(rest.len(), |i| i + 2);
                let kind = if first == '`' { Kind::Word } else { Kind::Text };
                (kind, closed)
            }
            c if c.is_alphanumeric() || c == '_' => (
                Kind::Word,
                while_(|c| c.is_alphanumeric() || c == '_' || c == '$'),
            ),
            c => (Kind::Sign, c.len_utf8()),
        };
        let (token, after) = rest.split_at(n);
        found.push((kind, token));
        rest = after;
    }
    found
}

/// A statement like this one.
pub fn mutated(sql: &str, pool: &Pool, rng: &mut Rng) -> String {
    let mut parts: Vec<(Kind, String)> = tokens(sql)
        .into_iter()
        .map(|(k, t)| (k, t.to_string()))
        .collect();
    for _ in 0..=rng.below(3) {
        let solid: Vec<usize> = (0..parts.len())
            .filter(|&i| parts[i].0 != Kind::Space)
            .collect();
        if solid.is_empty() {
            break;
        }
        let any = |rng: &mut Rng| solid[rng.below(solid.len() as u64) as usize];
        let at = any(rng);
        match rng.below(10) {
            0 => drop(parts.remove(at)),
            1 => {
                let again = (at + 1 + rng.below(8) as usize).min(parts.len());
                let copy: Vec<_> = parts[at..again].to_vec();
                parts.splice(again..again, copy);
            }
            2 => {
                let other = any(rng);
                parts.swap(at, other);
            }
            3 => {
                let kind =
                    [Kind::Word, Kind::Number, Kind::Text, Kind::Sign][rng.below(4) as usize];
                parts.insert(at, (kind, format!(" {} ", pool.pick(kind, rng))));
            }
            4 => {
                let kind = [Kind::Word, Kind::Number, Kind::Text][rng.below(3) as usize];
                parts[at] = (kind, format!(" {} ", pool.pick(kind, rng)));
            }
            _ => {
                let kind = parts[at].0;
                parts[at].1 = pool.pick(kind, rng).to_string();
            }
        }
    }
    parts.into_iter().map(|(_, t)| t).collect()
}
