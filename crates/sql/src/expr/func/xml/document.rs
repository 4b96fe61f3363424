//! A document as a list of nodes in the order in which they begin.
//!
//! It is read as MySQL reads one: tags must nest, and that is all. Several elements may stand beside each other, texts among them,
//! entities mean themselves, `<?x?>` and `<!x>` are elements, and a comment is nothing.

/// Most nodes of a document.
const MAX_NODES: usize = 1 << 20;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// An element; the first node is one, which holds all others.
    Element,
    /// An attribute; its value is a text within it.
    Attribute,
    /// A text.
    Text,
}

/// A node.
#[derive(Debug)]
pub struct Node<'x> {
    /// What it is.
    pub kind: Kind,
    /// Position of the node around it. The first one is its own.
    pub parent: usize,
    /// Position after the last node within it.
    pub end: usize,
    /// Its name; of a text, what it says.
    pub name: &'x [u8],
    /// Where it is in the document: bytes, from and to.
    pub span: (usize, usize),
}

/// Reads a document. An error is what is wrong with it.
pub fn read(text: &[u8]) -> Result<Vec<Node<'_>>, String> {
    let mut r = Reader {
        text,
        at: 0,
        nodes: Vec::new(),
        open: Vec::new(),
    };
    r.enter(Kind::Element, b"", 0)?;
    while r.at < text.len() {
        if text[r.at] == b'<' {
            r.markup()?;
        } else {
            let from = r.at;
            let rest = &text[from..];
            r.at += memchr::memchr(b'<', rest).unwrap_or(rest.len());
            r.text_node(from, r.at)?;
        }
    }
    if r.open.len() > 1 {
        return Err(r.wrong("unexpected END-OF-INPUT"));
    }
    r.close();
    Ok(r.nodes)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    End,
    Name,
    Text,
    /// A comment.
    Comment,
    /// `<![CDATA[…]]>`.
    Data,
    /// One of `<>/=?!`.
    Sign(u8),
    Unknown,
}

impl Token {
    fn shown(self) -> String {
        match self {
            Token::End => "END-OF-INPUT".into(),
            Token::Name => "IDENT".into(),
            Token::Text => "STRING".into(),
            Token::Comment => "COMMENT".into(),
            Token::Data => "CDATA".into(),
            Token::Sign(sign) => format!("'{}'", char::from(sign)),
            Token::Unknown => "unknown token".into(),
        }
    }
}

struct Reader<'x> {
    text: &'x [u8],
    at: usize,
    nodes: Vec<Node<'x>>,
    /// Positions of the nodes that have begun and not ended.
    open: Vec<usize>,
}

fn begins_name(b: u8) -> bool {
    b.is_ascii_alphabetic() || matches!(b, b'_' | b':') || b >= 0x80
}

fn is_of_name(b: u8) -> bool {
    begins_name(b) || b.is_ascii_digit() || matches!(b, b'-' | b'.')
}

impl<'x> Reader<'x> {
    /// An error at the place read so far.
    fn wrong(&self, what: &str) -> String {
        let before = &self.text[..self.at];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        let begun = before.iter().rposition(|b| *b == b'\n').unwrap_or(0);
        let place = self.at - begun + 1;
        format!("parse error at line {line} pos {place}: {what}")
    }

    fn unexpected(&self, token: Token, wanted: &str) -> String {
        self.wrong(&format!("{} unexpected ({wanted} wanted)", token.shown()))
    }

    fn enter(&mut self, kind: Kind, name: &'x [u8], from: usize) -> Result<(), String> {
        if self.nodes.len() >= MAX_NODES {
            return Err(self.wrong("too many nodes"));
        }
        self.nodes.push(Node {
            kind,
            parent: self.open.last().copied().unwrap_or(0),
            end: 0,
            name,
            span: (from, from),
        });
        self.open.push(self.nodes.len() - 1);
        Ok(())
    }

    /// The innermost open node ends here.
    fn close(&mut self) {
        if let Some(at) = self.open.pop() {
            let end = self.nodes.len();
            let node = &mut self.nodes[at];
            node.end = end;
            node.span.1 = self.at;
        }
    }

    fn text_node(&mut self, from: usize, to: usize) -> Result<(), String> {
        if from == to {
            return Ok(());
        }
        self.enter(Kind::Text, &self.text[from..to], from)?;
        self.close();
        Ok(())
    }

    /// The next token, and its bytes: of a quoted text those between the quotes.
    fn token(&mut self) -> (Token, usize, usize) {
        let blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\r' | b'\n');
        let rest = &self.text[self.at..];
        self.at += rest.iter().take_while(|b| blank(b)).count();
        let from = self.at;
        let rest = &self.text[from..];
        let Some(&first) = rest.first() else {
            return (Token::End, from, from);
        };
        let until = |mark: &[u8]| {
            let found = memchr::memmem::find(rest, mark);
            found.map_or(rest.len(), |n| n + mark.len())
        };
        let (token, length) = match first {
            _ if rest.starts_with(b"<!--") => (Token::Comment, until(b"-->")),
            _ if rest.starts_with(b"<![CDATA[") => (Token::Data, until(b"]]>")),
            b'<' | b'>' | b'/' | b'=' | b'?' | b'!' => (Token::Sign(first), 1),
            b'"' | b'\'' => {
                let inner = &rest[1..];
                let length = memchr::memchr(first, inner).unwrap_or(inner.len());
                self.at = (from + length + 2).min(self.text.len());
                return (Token::Text, from + 1, from + 1 + length);
            }
            b if begins_name(b) => {
                let length = rest.iter().take_while(|b| is_of_name(**b)).count();
                (Token::Name, length)
            }
            _ => (Token::Unknown, 0),
        };
        self.at += length;
        (token, from, self.at)
    }

    /// What begins with `<`.
    fn markup(&mut self) -> Result<(), String> {
        let begun = self.at;
        let (token, from, to) = self.token();
        match token {
            Token::Comment => return Ok(()),
            Token::Data => {
                let (from, to) = (from + b"<![CDATA[".len(), to.saturating_sub(b"]]>".len()));
                return self.text_node(from, to.max(from).min(self.text.len()));
            }
            _ => {}
        }
        let (mut token, mut from, mut to) = self.token();
        if token == Token::Sign(b'/') {
            return self.end_tag();
        }
        let special = match token {
            Token::Sign(sign @ (b'!' | b'?')) => {
                (token, from, to) = self.token();
                Some(sign)
            }
            _ => None,
        };
        if token != Token::Name {
            return Err(self.unexpected(token, "ident or '/'"));
        }
        self.enter(Kind::Element, &self.text[from..to], begun)?;
        let mut token = self.attributes(special == Some(b'!'))?;
        let mut ends = special == Some(b'!');
        if token == Token::Sign(b'/') {
            ends = true;
            token = self.token().0;
        }
        if special == Some(b'?') {
            if token != Token::Sign(b'?') {
                return Err(self.unexpected(token, "'?'"));
            }
            ends = true;
            token = self.token().0;
        }
        if token != Token::Sign(b'>') {
            return Err(self.unexpected(token, "'>'"));
        }
        if ends {
            self.close();
        }
        Ok(())
    }

    /// Attributes with values and without; the token after them. `quoted`: texts may stand among them, as in `<!DOCTYPE>`.
    fn attributes(&mut self, quoted: bool) -> Result<Token, String> {
        let (mut token, mut from, mut to) = self.token();
        loop {
            match token {
                Token::Name => {}
                Token::Text if quoted => {
                    (token, from, to) = self.token();
                    continue;
                }
                other => return Ok(other),
            }
            let after = self.at;
            let next = self.token();
            self.enter(Kind::Attribute, &self.text[from..to], from)?;
            if next.0 != Token::Sign(b'=') {
                let here = std::mem::replace(&mut self.at, after);
                self.close();
                self.at = here;
                (token, from, to) = next;
                continue;
            }
            let value = self.token();
            if !matches!(value.0, Token::Name | Token::Text) {
                return Err(self.unexpected(value.0, "ident or string"));
            }
            self.text_node(value.1, value.2)?;
            self.close();
            (token, from, to) = self.token();
        }
    }

    fn end_tag(&mut self) -> Result<(), String> {
        let (token, from, to) = self.token();
        if token != Token::Name {
            return Err(self.unexpected(token, "ident"));
        }
        let shown = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let name = &self.text[from..to];
        let open = match self.open.as_slice() {
            [_, .., last] => Some(self.nodes[*last].name),
            _ => None,
        };
        if open != Some(name) {
            let wanted = open.map_or("END-OF-INPUT".into(), |o| format!("'</{}>'", shown(o)));
            return Err(self.wrong(&format!(
                "'</{}>' unexpected ({wanted} wanted)",
                shown(name)
            )));
        }
        let (token, ..) = self.token();
        if token != Token::Sign(b'>') {
            return Err(self.unexpected(token, "'>'"));
        }
        self.close();
        Ok(())
    }
}
