//! XPath expressions as trees: the part of XPath 1.0 that MySQL's manual lists ("XML Functions").
//!
//! What MySQL takes otherwise than XPath is taken so here: `text()`, `node()` and the like at a step leave the nodes before them as they
//! are, and axes that it doesn't have are the child axis.

use crate::expr::{ArithmeticOp, CompareOp};

/// How deep expressions may stand within each other.
const MAX_DEPTH: usize = 64;
/// Most comparisons, and most unions, one after the other.
const MAX_CHAIN: usize = 16;
/// Most tokens of an expression.
const MAX_TOKENS: usize = 1000;

/// An expression.
#[derive(Debug)]
pub enum Item {
    /// A number as it is written.
    Number(String),
    /// A text.
    Text(Vec<u8>),
    /// `$@name`.
    Variable(String),
    /// Nodes.
    Path(Base, Vec<Step>),
    /// `|`.
    Union(Box<[Item; 2]>),
    /// A call.
    Call(Function, Vec<Item>),
    /// `or`.
    Or(Vec<Item>),
    /// `and`.
    And(Vec<Item>),
    /// `=` and the like.
    Compare(CompareOp, Box<[Item; 2]>),
    /// `+` and the like: the first, and what follows from left to right.
    Arithmetic(Box<Item>, Vec<(ArithmeticOp, Item)>),
    /// `-`.
    Negate(Box<Item>),
}

/// Where a path begins.
#[derive(Debug)]
pub enum Base {
    /// At the document.
    Root,
    /// Where the expression stands.
    Context,
    /// At other nodes.
    Nodes(Box<Item>),
}

/// A step of a path.
#[derive(Debug)]
pub enum Step {
    /// Along an axis to nodes of a name, or to any.
    Along(Axis, Option<Vec<u8>>),
    /// Those for which it holds.
    Where(Item),
    /// The one at this position.
    At(Item),
}

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Axis {
    Child,
    Attribute,
    Itself,
    Parent,
    Ancestor,
    AncestorOrSelf,
    Descendant,
    DescendantOrSelf,
}

/// A function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Function {
    Boolean,
    Ceiling,
    Concat,
    Contains,
    Count,
    False,
    Floor,
    Last,
    Not,
    Number,
    Position,
    Round,
    StringLength,
    Substring,
    Sum,
    True,
}

/// Names, with how many arguments there may be.
const FUNCTIONS: [(&str, Function, usize, usize); 16] = [
    ("boolean", Function::Boolean, 1, 1),
    ("ceiling", Function::Ceiling, 1, 1),
    ("concat", Function::Concat, 2, 255),
    ("contains", Function::Contains, 2, 2),
    ("count", Function::Count, 1, 1),
    ("false", Function::False, 0, 0),
    ("floor", Function::Floor, 1, 1),
    ("last", Function::Last, 0, 0),
    ("not", Function::Not, 1, 1),
    ("number", Function::Number, 0, 1),
    ("position", Function::Position, 0, 0),
    ("round", Function::Round, 1, 1),
    ("string-length", Function::StringLength, 0, 1),
    ("substring", Function::Substring, 2, 3),
    ("sum", Function::Sum, 1, 1),
    ("true", Function::True, 0, 0),
];

const AXES: [(&str, Axis); 13] = [
    ("ancestor", Axis::Ancestor),
    ("ancestor-or-self", Axis::AncestorOrSelf),
    ("attribute", Axis::Attribute),
    ("child", Axis::Child),
    ("descendant", Axis::Descendant),
    ("descendant-or-self", Axis::DescendantOrSelf),
    ("following", Axis::Child),
    ("following-sibling", Axis::Child),
    ("namespace", Axis::Child),
    ("parent", Axis::Parent),
    ("preceding", Axis::Child),
    ("preceding-sibling", Axis::Child),
    ("self", Axis::Itself),
];

const NODE_TYPES: [&[u8]; 4] = [b"comment", b"node", b"processing-instruction", b"text"];

impl Item {
    /// Whether it is nodes.
    pub fn is_nodes(&self) -> bool {
        matches!(self, Item::Path(..) | Item::Union(_))
    }
    /// Whether it is true or false.
    fn is_truth(&self) -> bool {
        use Function as F;
        matches!(
            self,
            Item::Or(_)
                | Item::And(_)
                | Item::Compare(..)
                | Item::Call(F::Boolean | F::Contains | F::False | F::Not | F::True, _)
        )
    }
}

/// Why a text is no expression.
pub enum Wrong {
    /// It goes wrong at this byte.
    At(usize),
    /// Two sets of nodes are compared, at this byte.
    TwoSets(usize),
    /// A variable of a stored program, at this byte.
    Variable(usize),
    /// It is too deep or too long.
    TooLarge,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    End,
    Name,
    /// A name before `(` that is a function's.
    Call(usize),
    /// A name with `::`.
    Axis(Axis),
    /// A name before `(` that is a node type's.
    NodeType,
    Digits,
    Text,
    /// `..`.
    Up,
    Sign(u8),
}

/// Parses an expression.
pub fn parse(text: &[u8]) -> Result<Item, Wrong> {
    let mut p = Parser {
        text,
        at: 0,
        token: Token::End,
        from: 0,
        depth: 0,
        tokens: 0,
        within: 0,
    };
    p.next()?;
    let item = p.or()?;
    match p.token {
        Token::End => Ok(item),
        _ => Err(p.wrong()),
    }
}

struct Parser<'t> {
    text: &'t [u8],
    /// Byte after the next token.
    at: usize,
    /// The next token, and where it begins.
    token: Token,
    from: usize,
    depth: usize,
    tokens: usize,
    /// Predicates around.
    within: usize,
}

type Parsed<T = Item> = Result<T, Wrong>;

impl Parser<'_> {
    fn wrong(&self) -> Wrong {
        Wrong::At(self.from)
    }

    fn slice(&self) -> &[u8] {
        &self.text[self.from..self.at]
    }

    /// Reads on by a token.
    fn next(&mut self) -> Parsed<()> {
        self.tokens += 1;
        if self.tokens > MAX_TOKENS {
            return Err(Wrong::TooLarge);
        }
        let rest = &self.text[self.at..];
        self.from = self.at + rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let rest = &self.text[self.from..];
        let begins = |b: u8| b.is_ascii_alphabetic() || b == b'_' || b >= 0x80;
        let (token, length) = match rest.first() {
            None => (Token::End, 0),
            Some(b'0'..=b'9') => {
                let length = rest.iter().take_while(|b| b.is_ascii_digit()).count();
                (Token::Digits, length)
            }
            Some(quote @ (b'"' | b'\'')) => match memchr::memchr(*quote, &rest[1..]) {
                Some(n) => (Token::Text, n + 2),
                None => (Token::Sign(*quote), 1),
            },
            Some(b'.') if rest.get(1) == Some(&b'.') => (Token::Up, 2),
            Some(&b) if begins(b) => {
                let of = |b: &u8| begins(*b) || b.is_ascii_digit() || matches!(b, b'-' | b'.');
                let length = rest.iter().take_while(|b| of(b)).count();
                let (name, after) = rest.split_at(length);
                let called = |name: &[u8]| FUNCTIONS.iter().position(|f| f.0.as_bytes() == name);
                let axis = AXES.iter().find(|a| a.0.as_bytes() == name);
                match (after, axis) {
                    ([b'(', ..], _) if NODE_TYPES.contains(&name) => (Token::NodeType, length),
                    ([b'(', ..], _) => (called(name).map_or(Token::Name, Token::Call), length),
                    ([b':', b':', ..], Some(axis)) => (Token::Axis(axis.1), length + 2),
                    _ => (Token::Name, length),
                }
            }
            Some(&b) => (Token::Sign(b), 1),
        };
        self.token = token;
        self.at = self.from + length;
        Ok(())
    }

    fn takes(&mut self, token: Token) -> Parsed<bool> {
        if self.token != token {
            return Ok(false);
        }
        self.next()?;
        Ok(true)
    }

    fn sign(&mut self, sign: u8) -> Parsed<bool> {
        self.takes(Token::Sign(sign))
    }

    fn expect(&mut self, sign: u8) -> Parsed<()> {
        match self.sign(sign)? {
            true => Ok(()),
            false => Err(self.wrong()),
        }
    }

    fn word(&mut self, word: &[u8]) -> Parsed<bool> {
        let is = self.token == Token::Name && self.slice() == word;
        if is {
            self.next()?;
        }
        Ok(is)
    }

    /// Parses what stands within something else.
    fn inside<T>(&mut self, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Wrong::TooLarge);
        }
        self.depth += 1;
        let r = f(self);
        self.depth -= 1;
        r
    }

    fn or(&mut self) -> Parsed {
        self.inside(|p| {
            let mut list = vec![p.and()?];
            while p.word(b"or")? {
                list.push(p.and()?);
            }
            Ok(alone_or(list, Item::Or))
        })
    }

    fn and(&mut self) -> Parsed {
        let mut list = vec![self.equality()?];
        while self.word(b"and")? {
            list.push(self.equality()?);
        }
        Ok(alone_or(list, Item::And))
    }

    fn equality(&mut self) -> Parsed {
        let mut left = self.relation()?;
        let mut count = 0;
        loop {
            let from = self.from;
            let op = match self.token {
                Token::Sign(b'=') => CompareOp::Eq,
                Token::Sign(b'!') if self.text.get(self.at) == Some(&b'=') => {
                    self.next()?;
                    CompareOp::Ne
                }
                _ => return Ok(left),
            };
            self.next()?;
            let right = self.relation()?;
            left = self.compared(op, left, right, from, &mut count)?;
        }
    }

    fn relation(&mut self) -> Parsed {
        let mut left = self.sum()?;
        let mut count = 0;
        loop {
            let from = self.from;
            let Token::Sign(sign @ (b'<' | b'>')) = self.token else {
                return Ok(left);
            };
            self.next()?;
            let op = match (sign, self.sign(b'=')?) {
                (b'<', false) => CompareOp::Lt,
                (b'<', true) => CompareOp::Le,
                (_, false) => CompareOp::Gt,
                (_, true) => CompareOp::Ge,
            };
            let right = self.sum()?;
            left = self.compared(op, left, right, from, &mut count)?;
        }
    }

    fn compared(
        &self,
        op: CompareOp,
        left: Item,
        right: Item,
        from: usize,
        count: &mut usize,
    ) -> Parsed {
        *count += 1;
        if left.is_nodes() && right.is_nodes() {
            return Err(Wrong::TwoSets(from));
        }
        if *count > MAX_CHAIN {
            return Err(Wrong::TooLarge);
        }
        Ok(Item::Compare(op, Box::new([left, right])))
    }

    fn sum(&mut self) -> Parsed {
        let first = self.product()?;
        let mut rest = Vec::new();
        loop {
            let op = match self.token {
                Token::Sign(b'+') => ArithmeticOp::Add,
                Token::Sign(b'-') => ArithmeticOp::Sub,
                _ => return Ok(computed(first, rest)),
            };
            self.next()?;
            rest.push((op, self.product()?));
        }
    }

    fn product(&mut self) -> Parsed {
        let first = self.unary()?;
        let mut rest = Vec::new();
        loop {
            let op = if self.sign(b'*')? {
                ArithmeticOp::Mul
            } else if self.word(b"div")? {
                ArithmeticOp::IntDiv
            } else if self.word(b"mod")? {
                ArithmeticOp::Mod
            } else {
                return Ok(computed(first, rest));
            };
            rest.push((op, self.unary()?));
        }
    }

    fn unary(&mut self) -> Parsed {
        match self.sign(b'-')? {
            true => self.inside(|p| Ok(Item::Negate(Box::new(p.unary()?)))),
            false => self.union(),
        }
    }

    fn union(&mut self) -> Parsed {
        let mut left = self.path()?;
        let mut count = 0;
        while self.sign(b'|')? {
            let right = self.path()?;
            count += 1;
            if count > MAX_CHAIN {
                return Err(Wrong::TooLarge);
            }
            if !left.is_nodes() || !right.is_nodes() {
                return Err(self.wrong());
            }
            left = Item::Union(Box::new([left, right]));
        }
        Ok(left)
    }

    fn path(&mut self) -> Parsed {
        let mut steps = Vec::new();
        match self.token {
            Token::Sign(b'/') => {
                self.next()?;
                if self.token == Token::End {
                    return Ok(Item::Path(Base::Root, steps));
                }
                self.steps(&mut steps, true)?;
                Ok(Item::Path(Base::Root, steps))
            }
            Token::Sign(b'.' | b'@' | b'*')
            | Token::Up
            | Token::Name
            | Token::Axis(_)
            | Token::NodeType => {
                self.steps(&mut steps, false)?;
                Ok(Item::Path(Base::Context, steps))
            }
            _ => {
                let item = self.primary()?;
                if self.token != Token::Sign(b'/') {
                    return Ok(item);
                }
                if !item.is_nodes() {
                    return Err(self.wrong());
                }
                self.next()?;
                self.steps(&mut steps, true)?;
                Ok(Item::Path(Base::Nodes(Box::new(item)), steps))
            }
        }
    }

    /// Steps with `/` and `//` between them; `slashed`: a slash stands before the first.
    fn steps(&mut self, steps: &mut Vec<Step>, slashed: bool) -> Parsed<()> {
        let any = || Step::Along(Axis::DescendantOrSelf, None);
        if slashed && self.sign(b'/')? {
            steps.push(any());
        }
        loop {
            self.step(steps)?;
            if !self.sign(b'/')? {
                return Ok(());
            }
            if self.sign(b'/')? {
                steps.push(any());
            }
        }
    }

    fn step(&mut self, steps: &mut Vec<Step>) -> Parsed<()> {
        if self.sign(b'.')? {
            return Ok(());
        }
        if self.takes(Token::Up)? {
            steps.push(Step::Along(Axis::Parent, None));
            return Ok(());
        }
        let axis = match self.token {
            Token::Axis(axis) => axis,
            Token::Sign(b'@') => Axis::Attribute,
            _ => Axis::Child,
        };
        if matches!(self.token, Token::Axis(_) | Token::Sign(b'@')) {
            self.next()?;
        }
        if self.takes(Token::NodeType)? {
            self.expect(b'(')?;
            self.expect(b')')?;
        } else {
            let name = self.name_test()?;
            steps.push(Step::Along(axis, name));
        }
        while self.sign(b'[')? {
            self.within += 1;
            let item = self.or()?;
            self.within -= 1;
            self.expect(b']')?;
            steps.push(match item.is_nodes() || item.is_truth() {
                true => Step::Where(item),
                false => Step::At(item),
            });
        }
        Ok(())
    }

    /// A name, or `*`.
    fn name_test(&mut self) -> Parsed<Option<Vec<u8>>> {
        if self.sign(b'*')? {
            return Ok(None);
        }
        if self.token != Token::Name {
            return Err(self.wrong());
        }
        let mut name = self.slice().to_vec();
        self.next()?;
        if self.sign(b':')? {
            if self.token != Token::Name {
                return Err(self.wrong());
            }
            name.push(b':');
            name.extend_from_slice(self.slice());
            self.next()?;
        }
        Ok(Some(name))
    }

    fn primary(&mut self) -> Parsed {
        match self.token {
            Token::Sign(b'(') => {
                self.next()?;
                let item = self.or()?;
                self.expect(b')')?;
                Ok(item)
            }
            Token::Text => {
                let text = self.slice();
                let text = text[1..text.len() - 1].to_vec();
                self.next()?;
                Ok(Item::Text(text))
            }
            Token::Digits => self.number(),
            Token::Sign(b'$') => self.variable(),
            Token::Call(at) => {
                self.next()?;
                self.call(at)
            }
            _ => Err(self.wrong()),
        }
    }

    fn number(&mut self) -> Parsed {
        let mut number = String::from_utf8_lossy(self.slice()).into_owned();
        self.next()?;
        if self.sign(b'.')? && self.token == Token::Digits {
            number.push('.');
            number.push_str(&String::from_utf8_lossy(self.slice()));
            self.next()?;
        }
        Ok(Item::Number(number))
    }

    fn variable(&mut self) -> Parsed {
        let from = self.from;
        self.next()?;
        let of_session = self.sign(b'@')?;
        if self.token != Token::Name {
            return Err(self.wrong());
        }
        let name = String::from_utf8_lossy(self.slice()).to_lowercase();
        self.next()?;
        match of_session {
            true => Ok(Item::Variable(name)),
            false => Err(Wrong::Variable(from)),
        }
    }

    fn call(&mut self, at: usize) -> Parsed {
        let (_, function, least, most) = FUNCTIONS[at];
        self.expect(b'(')?;
        let mut args = Vec::new();
        while args.len() < most && (args.len() < least || self.token != Token::Sign(b')')) {
            if !args.is_empty() {
                self.expect(b',')?;
            }
            args.push(self.or()?);
        }
        self.expect(b')')?;
        use Function as F;
        let fine = match function {
            // What they are of is nodes, or the node that a predicate looks at.
            F::Count | F::Sum => args.iter().all(Item::is_nodes),
            F::Last | F::Position => self.within > 0,
            F::Number | F::StringLength => !args.is_empty() || self.within > 0,
            _ => true,
        };
        match fine {
            true => Ok(Item::Call(function, args)),
            false => Err(self.wrong()),
        }
    }
}

fn alone_or(mut list: Vec<Item>, make: impl FnOnce(Vec<Item>) -> Item) -> Item {
    match list.len() {
        1 => list.swap_remove(0),
        _ => make(list),
    }
}

fn computed(first: Item, rest: Vec<(ArithmeticOp, Item)>) -> Item {
    match rest.is_empty() {
        true => first,
        false => Item::Arithmetic(Box::new(first), rest),
    }
}
