//! Literals.

use super::Parser;
use crate::ast::{CollatedLiteral, Deprecated, Expr, ExprKind, Literal};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::{Token, TokenKind as T};
use crate::text::unquote;

impl Parser<'_> {
    /// A literal: a number, with its sign, a text, NULL, TRUE, FALSE, a date.
    pub fn literal(&mut self) -> Result<Expr> {
        let start = self.start();
        let kind = match self.kind() {
            T::Minus | T::Plus if matches!(self.kind_nth(1), T::Int | T::Decimal | T::Float) => {
                return self.nested(|p| p.prefix(super::expr::level::UNARY));
            }
            T::Keyword(K::NULL) => {
                self.next();
                ExprKind::Null
            }
            T::Keyword(k @ (K::TRUE | K::FALSE)) => {
                self.next();
                ExprKind::Bool(k == K::TRUE)
            }
            _ => self.literal_kind()?,
        };
        Ok(Expr::new(kind, self.span_from(start)))
    }

    /// A literal other than NULL, TRUE and FALSE.
    pub(super) fn literal_kind(&mut self) -> Result<ExprKind> {
        let literal = match self.kind() {
            T::Int => {
                let token = self.next();
                let digits = self.slice(token);
                match digits.parse() {
                    Ok(n) => return Ok(ExprKind::Int(n)),
                    Err(_) => Literal::BigInt(digits.into()),
                }
            }
            T::Decimal => {
                let token = self.next();
                Literal::Decimal(self.slice(token).into())
            }
            T::Float => {
                let token = self.next();
                Literal::Float(self.slice(token).into())
            }
            T::Text => self.text_pieces(),
            T::NationalText => {
                self.deprecate(Deprecated::National);
                let token = self.next();
                let text = &self.slice(token)[1..];
                let mut text = unquote(text, !self.mode().no_backslash_escapes).into_owned();
                while self.at_punct(T::Text) {
                    let token = self.next();
                    text += &self.unescape(token);
                }
                Literal::National(text.into())
            }
            T::Hex => {
                let token = self.next();
                Literal::Hex(hex(self.slice(token)))
            }
            T::Bits => {
                let token = self.next();
                Literal::Bits(bits(self.slice(token)).into())
            }
            T::Introducer => return self.introduced(),
            T::Keyword(k @ (K::DATE | K::TIME | K::TIMESTAMP)) if self.kind_nth(1) == T::Text => {
                self.next();
                let token = self.next();
                let text = self.unescape(token).into();
                match k {
                    K::DATE => Literal::Date(text),
                    K::TIME => Literal::Time(text),
                    _ => Literal::Timestamp(text),
                }
            }
            _ => return Err(self.error_here()),
        };
        Ok(ExprKind::Literal(Box::new(literal)))
    }

    /// A text, in one piece or several.
    fn text_pieces(&mut self) -> Literal {
        let token = self.next();
        let first = self.unescape(token);
        if !self.at_punct(T::Text) {
            return Literal::Text(first.into(), None);
        }
        let length = first.len() as u32;
        let mut text = first.into_owned();
        while self.at_punct(T::Text) {
            let token = self.next();
            text += &self.unescape(token);
        }
        Literal::Text(text.into(), Some(length))
    }

    /// `_charset'…'`.
    fn introduced(&mut self) -> Result<ExprKind> {
        let token = self.next();
        let charset = self.slice(token)[1..].to_ascii_lowercase().into();
        if let Some(what) = Deprecated::charset(&self.slice(token)[1..]) {
            self.deprecate(what);
        }
        let literal = match self.kind() {
            T::Text => match self.text_pieces() {
                Literal::Text(text, _) => Literal::Text(text, None),
                other => other,
            },
            T::Hex => {
                let token = self.next();
                Literal::Hex(hex(self.slice(token)))
            }
            T::Bits => {
                let token = self.next();
                Literal::Bits(bits(self.slice(token)).into())
            }
            _ => return Err(self.error_at(token.start)),
        };
        Ok(ExprKind::Introduced(Box::new(CollatedLiteral {
            charset,
            literal,
        })))
    }

    /// The bytes of a text, hexadecimal or binary literal.
    pub(super) fn bytes_literal(&mut self) -> Result<Box<[u8]>> {
        let bytes = |token: Token, text: &str| match token.kind {
            T::Hex => hex(text),
            _ => packed_bits(bits(text)),
        };
        match self.kind() {
            T::Text => Ok(self.text_literal()?.into_bytes().into()),
            T::Hex | T::Bits => {
                let token = self.next();
                Ok(bytes(token, self.slice(token)))
            }
            _ => Err(self.error_here()),
        }
    }
}

/// The digits of `0b101` or `b'101'`.
fn bits(token: &str) -> &str {
    token
        .strip_prefix("0b")
        .unwrap_or_else(|| &token[2..token.len() - 1])
}

/// The bytes of `0x1F` or `x'1F'`; an odd digit is the first byte's lower half.
fn hex(token: &str) -> Box<[u8]> {
    let digits = token
        .strip_prefix("0x")
        .unwrap_or_else(|| &token[2..token.len() - 1]);
    let value = |c: &u8| (*c as char).to_digit(16).unwrap_or(0) as u8;
    let (odd, pairs) = digits.as_bytes().split_at(digits.len() % 2);
    let pairs = pairs
        .chunks_exact(2)
        .map(|p| value(&p[0]) << 4 | value(&p[1]));
    odd.iter().map(value).chain(pairs).collect()
}

/// The bytes of binary digits, the last digit being the lowest bit.
fn packed_bits(digits: &str) -> Box<[u8]> {
    let value = |chunk: &[u8]| chunk.iter().fold(0, |v, c| v << 1 | (c & 1));
    let digits = digits.as_bytes();
    let (odd, whole) = digits.split_at(digits.len() % 8);
    let first = (!odd.is_empty()).then(|| value(odd));
    first
        .into_iter()
        .chain(whole.chunks_exact(8).map(value))
        .collect()
}
