//! Names of accounts, and which of them a client is.
//!
//! A host is a name or an address, a pattern of such (`%`, `_`), or an address with a netmask. Of the accounts that fit a client the one
//! with the most specific host counts, and of those alike one with a user's name before one for all users: MySQL's rule ("Access
//! Control, Stage 1").

use std::cmp::Reverse;
use std::fmt;
use std::net::Ipv4Addr;

/// An account's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    /// User; empty for all users.
    pub user: String,
    /// Host, in lower case.
    pub host: String,
}

impl Name {
    /// A name; hosts compare without regard to case.
    pub fn new(user: &str, host: &str) -> Name {
        Name {
            user: user.to_string(),
            host: host.to_ascii_lowercase(),
        }
    }
    /// From `user@host`.
    pub fn of(text: &str) -> Name {
        let (user, host) = text.rsplit_once('@').unwrap_or((text, ""));
        Name::new(user, host)
    }
    /// `user@host`.
    pub fn plain(&self) -> String {
        format!("{}@{}", self.user, self.host)
    }
    /// `` `user`@`host` ``.
    pub fn quoted(&self) -> String {
        let part = |s: &str| s.replace('`', "``");
        format!("`{}`@`{}`", part(&self.user), part(&self.host))
    }
}

impl fmt::Display for Name {
    /// `'user'@'host'`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'@'{}'", self.user, self.host)
    }
}

/// Whether a text is what a pattern with `%` and `_` says; `\` takes the next character as it is.
pub fn is_like(pattern: &[u8], text: &[u8]) -> bool {
    // Where the last `%` was, and how much of the text it takes.
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match pattern.get(p) {
            Some(b'%') => {
                star = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some(b'_') => Some(1),
            Some(b'\\') if pattern.get(p + 1) == Some(&text[t]) => Some(2),
            Some(c) if *c == text[t] => Some(1),
            _ => None,
        };
        match (step, star) {
            (Some(n), _) => (p, t) = (p + n, t + 1),
            (None, Some((after, from))) => {
                (p, t) = (after, from + 1);
                star = Some((after, from + 1));
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == b'%')
}

/// Where the first character of a pattern is that stands for others.
fn first_wild(pattern: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < pattern.len() {
        match pattern[at] {
            b'\\' => at += 1,
            b'%' | b'_' => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// What patterns are tried by, the most specific first.
pub fn specificity(pattern: &str) -> (bool, Reverse<usize>) {
    let wild = first_wild(pattern.as_bytes());
    (wild.is_some(), Reverse(wild.unwrap_or(usize::MAX)))
}

/// What accounts are tried by.
pub fn order(name: &Name) -> ((bool, Reverse<usize>), bool, String, String) {
    let host = match name.host.is_empty() {
        true => (true, Reverse(0)),
        false => specificity(&name.host),
    };
    (
        host,
        name.user.is_empty(),
        name.host.clone(),
        name.user.clone(),
    )
}

/// Whether a host is that of a client, which is known by these names and addresses.
pub fn is_host(host: &str, client: &[String]) -> bool {
    if host.is_empty() {
        return true;
    }
    if let Some((net, mask)) = host.split_once('/')
        && let (Ok(net), Ok(mask)) = (net.parse::<Ipv4Addr>(), mask.parse::<Ipv4Addr>())
    {
        let within = |c: &String| {
            let address = c.parse::<Ipv4Addr>().map(u32::from);
            address.is_ok_and(|a| a & u32::from(mask) == u32::from(net))
        };
        return client.iter().any(within);
    }
    let fits = |c: &String| is_like(host.as_bytes(), c.to_ascii_lowercase().as_bytes());
    client.iter().any(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, fits) in [
            ("%", "", true),
            ("a%", "abc", true),
            ("a_c", "abc", true),
            ("a_c", "ac", false),
            ("a\\_c", "a_c", true),
            ("a\\_c", "abc", false),
            ("%b%d", "abcbd", true),
            ("%b%d", "abcb", false),
            ("192.168.%", "192.168.3.4", true),
        ] {
            assert_eq!(
                is_like(pattern.as_bytes(), text.as_bytes()),
                fits,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn the_most_specific_account_comes_first() {
        let mut names: Vec<Name> = [
            ("", "localhost"),
            ("a", "%"),
            ("a", "192.168.%"),
            ("a", "localhost"),
            ("", "%"),
        ]
        .iter()
        .map(|(u, h)| Name::new(u, h))
        .collect();
        names.sort_by_key(order);
        let plain: Vec<String> = names.iter().map(Name::plain).collect();
        assert_eq!(
            plain,
            ["a@localhost", "@localhost", "a@192.168.%", "a@%", "@%"]
        );
    }

    #[test]
    fn hosts() {
        let client = ["localhost".to_string(), "127.0.0.1".to_string()];
        for (host, is) in [
            ("localhost", true),
            ("%", true),
            ("127.0.0.0/255.0.0.0", true),
            ("10.0.0.0/255.0.0.0", false),
            ("example.org", false),
        ] {
            assert_eq!(is_host(host, &client), is, "{host}");
        }
    }
}
