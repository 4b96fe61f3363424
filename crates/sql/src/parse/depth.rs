//! How deeply a statement nests, told from its tokens before anything walks its tree.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Heights of the trees between an opening token and its closing one.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Of the operand chain under way: every operator makes it the left side of another node.
    chain: usize,
    /// Of the chains before it.
    done: usize,
}

impl Level {
    /// An item of a list, or an operand of AND or OR (which are balanced), ends.
    fn next(&mut self) {
        self.done = self.done.max(self.chain);
        self.chain = 0;
    }
}

/// About the height of the highest expression.
pub fn height(tokens: &[TokenWithSpan]) -> usize {
    let mut outer: Vec<Level> = Vec::new();
    let mut here = Level::default();
    for t in tokens {
        match &t.token {
            Token::LParen => outer.push(std::mem::take(&mut here)),
            Token::RParen => close(&mut outer, &mut here),
            Token::Comma | Token::SemiColon => here.next(),
            Token::Word(w) if w.quote_style.is_none() => match w.keyword {
                Keyword::AND | Keyword::OR | Keyword::FROM | Keyword::WHERE | Keyword::UNION => {
                    here.next();
                }
                Keyword::CASE => outer.push(std::mem::take(&mut here)),
                Keyword::WHEN | Keyword::THEN | Keyword::ELSE => here.next(),
                Keyword::END => close(&mut outer, &mut here),
                Keyword::NOT
                | Keyword::LIKE
                | Keyword::IS
                | Keyword::XOR
                | Keyword::DIV
                | Keyword::COLLATE
                | Keyword::JOIN => here.chain += 1,
                _ => {}
            },
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
            | Token::Assignment => here.chain += 1,
            _ => {}
        }
    }
    while !outer.is_empty() {
        close(&mut outer, &mut here);
    }
    here.next();
    here.done
}

/// What was between is an operand of the chain around it.
fn close(outer: &mut Vec<Level>, here: &mut Level) {
    here.next();
    let inner = here.done;
    *here = outer.pop().unwrap_or_default();
    here.chain = here.chain.max(inner + 1);
}
