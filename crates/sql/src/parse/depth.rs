//! How deeply a statement nests, told from its tokens before anything walks its tree.
//!
//! The unit is a token of a run ([`crate::stack`]). What counts is what every stage has to go through, one within the other: an expression's
//! nodes, and queries in queries, whatever they are for (derived tables, scalar subqueries, EXISTS, parts of a UNION). WITH
//! queries nest without parentheses: each may read the one before it.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

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

/// About the height of the statement's tree.
pub fn height(tokens: &[TokenWithSpan]) -> usize {
    let mut outer: Vec<Level> = Vec::new();
    let mut here = Level::default();
    let mut links = 0;
    let mut last = &Token::EOF;
    for t in tokens {
        match &t.token {
            Token::LParen => {
                outer.push(std::mem::take(&mut here));
                here.named = matches!(last, Token::Word(w) if w.keyword == Keyword::AS);
            }
            Token::RParen => {
                while here.case && !outer.is_empty() {
                    close(&mut outer, &mut here);
                }
                close(&mut outer, &mut here);
            }
            Token::Comma | Token::SemiColon => here.next(),
            Token::Word(w) if w.quote_style.is_none() && *last != Token::Period => {
                match w.keyword {
                    Keyword::AND | Keyword::OR | Keyword::UNION => {
                        here.next();
                        links += 1;
                    }
                    Keyword::FROM | Keyword::WHERE => here.next(),
                    Keyword::SELECT => here.query = QUERY,
                    Keyword::CASE => {
                        here.node();
                        outer.push(std::mem::take(&mut here));
                        here.case = true;
                    }
                    Keyword::WHEN | Keyword::THEN | Keyword::ELSE => here.next(),
                    Keyword::END if here.case => close(&mut outer, &mut here),
                    Keyword::NOT
                    | Keyword::LIKE
                    | Keyword::IS
                    | Keyword::XOR
                    | Keyword::DIV
                    | Keyword::COLLATE
                    | Keyword::JOIN => here.node(),
                    _ => {}
                }
            }
            Token::Plus
            | Token::Minus
            | Token::Mul
            | Token::Div
            | Token::Mod
            | Token::StringConcat
            | Token::Pipe
            | Token::Ampersand
            | Token::Caret
            | Token::ShiftLeft
            | Token::ShiftRight
            | Token::Tilde
            | Token::ExclamationMark
            | Token::Eq
            | Token::Neq
            | Token::Lt
            | Token::Gt
            | Token::LtEq
            | Token::GtEq
            | Token::Spaceship
            | Token::Assignment => here.node(),
            _ => {}
        }
        last = &t.token;
    }
    while !outer.is_empty() {
        close(&mut outer, &mut here);
    }
    // Chains of AND, OR and UNION are planned flat, but dropped link by link.
    here.height() + links / 2
}

/// What was between is an operand of the chain around it.
fn close(outer: &mut Vec<Level>, here: &mut Level) {
    let inner = std::mem::replace(here, outer.pop().unwrap_or_default());
    let height = inner.height() + NESTED;
    if inner.named {
        here.with += height;
    } else {
        let within = here.chain.min(PRECEDENCES * NODE);
        here.chain = here.chain.max(height + within);
    }
}
