//! How much stack a statement takes, told from its tokens before anything walks its tree.
//!
//! The unit is a token of a run ([`crate::stack`]): what is between two commas, since each may make a node upon the one before, or what
//! the statement's nesting amounts to, if that is more. What counts is what every stage has to go through, one within the
//! other: an expression's nodes, and queries in queries, whatever they are for (derived tables, scalar subqueries, EXISTS, parts
//! of a UNION). WITH queries nest without parentheses: each may read the one before it.

use millpond_syntax::Keyword as K;
use millpond_syntax::lexer::{LexMode, Lexer, TokenKind as T};

/// A node of an expression.
const NODE: usize = 2;
/// What stands in parentheses, or between CASE and END: the parser goes through several functions for one.
const NESTED: usize = 8;
/// A query: parsing and planning one take as much stack as this many nodes.
const QUERY: usize = 32;
/// Operators of different precedence that an operand may be within, besides those that chain.
const PRECEDENCES: usize = 10;

/// Heights of the trees between an opening token and its closing one.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Of the operand chain under way: every operator makes it the left side of another node.
    chain: usize,
    /// Of the chains before it.
    done: usize,
    /// Of all WITH queries, one upon the other.
    with: usize,
    /// Of the query that this level is, besides what it consists of.
    query: usize,
    /// Whether it is a WITH query.
    named: bool,
    /// Whether CASE opened it.
    case: bool,
}

impl Level {
    /// An item of a list, or an operand of AND or OR (which are balanced), ends.
    fn next(&mut self) {
        self.done = self.done.max(self.chain);
        self.chain = 0;
    }
    fn node(&mut self) {
        self.chain += NODE;
    }
    fn height(mut self) -> usize {
        self.next();
        self.done + self.with + self.query
    }
}

/// The tokens met so far.
#[derive(Default)]
struct Walk {
    outer: Vec<Level>,
    here: Level,
    /// ANDs, ORs and UNIONs.
    links: usize,
    run: usize,
    longest: usize,
}

/// What a statement's stack need goes by; 0 if there is no token.
pub fn of(text: &str, mode: LexMode) -> usize {
    let mut walk = Walk::default();
    let mut lexer = Lexer::new(text, mode);
    let mut last = T::End;
    loop {
        let token = lexer.next_token().kind;
        if token == T::End {
            break;
        }
        walk.step(token, last);
        last = token;
    }
    while !walk.outer.is_empty() {
        walk.close();
    }
    // Chains of AND, OR and UNION are planned flat, but dropped link by link.
    let height = walk.here.height() + walk.links / 2;
    height.max(walk.longest)
}

impl Walk {
    fn step(&mut self, token: T, last: T) {
        self.run += 1;
        self.longest = self.longest.max(self.run);
        match token {
            T::LParen => {
                self.outer.push(std::mem::take(&mut self.here));
                self.here.named = last == T::Keyword(K::AS);
            }
            T::RParen => {
                while self.here.case && !self.outer.is_empty() {
                    self.close();
                }
                self.close();
            }
            T::Comma | T::Semicolon => {
                self.run = 0;
                self.here.next();
            }
            T::Keyword(word) if last != T::Dot => self.word(word),
            T::Plus
            | T::Minus
            | T::Star
            | T::Slash
            | T::Percent
            | T::PipePipe
            | T::AmpAmp
            | T::Pipe
            | T::Amp
            | T::Caret
            | T::Shl
            | T::Shr
            | T::Tilde
            | T::Bang
            | T::Eq
            | T::Ne
            | T::Lt
            | T::Gt
            | T::Le
            | T::Ge
            | T::NullSafeEq
            | T::Arrow
            | T::ArrowText
            | T::Assign => self.here.node(),
            _ => {}
        }
    }

    fn word(&mut self, word: K) {
        match word {
            K::AND | K::OR | K::UNION => {
                self.here.next();
                self.links += 1;
            }
            K::FROM | K::WHERE | K::WHEN | K::THEN | K::ELSE => self.here.next(),
            K::SELECT => self.here.query = QUERY,
            K::CASE => {
                self.here.node();
                self.outer.push(std::mem::take(&mut self.here));
                self.here.case = true;
            }
            K::END if self.here.case => self.close(),
            K::NOT | K::LIKE | K::IS | K::XOR | K::DIV | K::MOD | K::COLLATE | K::JOIN => {
                self.here.node();
            }
            _ => {}
        }
    }

    /// What was between is an operand of the chain around it.
    fn close(&mut self) {
        let outer = self.outer.pop().unwrap_or_default();
        let inner = std::mem::replace(&mut self.here, outer);
        let height = inner.height() + NESTED;
        if inner.named {
            self.here.with += height;
        } else {
            let within = self.here.chain.min(PRECEDENCES * NODE);
            self.here.chain = self.here.chain.max(height + within);
        }
    }
}
