//! CAST and CONVERT.

use super::Parser;
use crate::ast::*;
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind as T;

impl Parser<'_> {
    /// CAST, from its parenthesis on.
    pub(super) fn cast(&mut self) -> Result<ExprKind> {
        self.expect_punct(T::LParen)?;
        let value = self.expr()?;
        let mut zone = None;
        if self.eat(K::AT) {
            self.expect_all(&[K::TIME, K::ZONE])?;
            let interval = self.eat(K::INTERVAL);
            zone = Some((self.text_literal()?.into(), interval));
        }
        self.expect(K::AS)?;
        let to = self.cast_type()?;
        let array = self.eat(K::ARRAY);
        self.expect_punct(T::RParen)?;
        Ok(ExprKind::Special(Box::new(Special::Cast {
            value,
            to,
            array,
            zone,
        })))
    }

    /// CONVERT, from its parenthesis on.
    pub(super) fn convert(&mut self) -> Result<ExprKind> {
        self.expect_punct(T::LParen)?;
        let value = self.expr()?;
        let special = if self.eat(K::USING) {
            Special::ConvertUsing(value, self.charset_name()?)
        } else {
            self.expect_punct(T::Comma)?;
            Special::ConvertTo(value, self.cast_type()?)
        };
        self.expect_punct(T::RParen)?;
        Ok(ExprKind::Special(Box::new(special)))
    }

    /// A type that CAST converts to.
    pub fn cast_type(&mut self) -> Result<CastType> {
        let Some(k) = self.keyword() else {
            return Err(self.error_here());
        };
        let spatial = matches!(
            k,
            K::POINT
                | K::LINESTRING
                | K::POLYGON
                | K::MULTIPOINT
                | K::MULTILINESTRING
                | K::MULTIPOLYGON
                | K::GEOMETRYCOLLECTION
        );
        if spatial {
            self.next();
            return Ok(CastType::Spatial(k.text()));
        }
        let known = matches!(
            k,
            K::SIGNED
                | K::UNSIGNED
                | K::BINARY
                | K::CHAR
                | K::CHARACTER
                | K::NCHAR
                | K::NATIONAL
                | K::DATE
                | K::YEAR
                | K::TIME
                | K::DATETIME
                | K::DECIMAL
                | K::DEC
                | K::NUMERIC
                | K::DOUBLE
                | K::FLOAT
                | K::REAL
                | K::JSON
                | K::INT
                | K::INTEGER
                | K::GEOMCOLLECTION
        );
        if !known {
            return Err(self.error_here());
        }
        self.next();
        Ok(match k {
            K::SIGNED | K::UNSIGNED => {
                self.eat_any(&[K::INT, K::INTEGER]);
                if k == K::SIGNED {
                    CastType::Signed
                } else {
                    CastType::Unsigned
                }
            }
            K::INT | K::INTEGER => CastType::Signed,
            K::BINARY => CastType::Binary(self.cast_length()?),
            K::NCHAR => {
                self.deprecate(Deprecated::National);
                CastType::Nchar(self.cast_length()?)
            }
            K::NATIONAL => {
                if self.eat_any(&[K::CHAR, K::CHARACTER]).is_none() {
                    return Err(self.error_here());
                }
                self.deprecate(Deprecated::National);
                CastType::Nchar(self.cast_length()?)
            }
            K::DATE => CastType::Date,
            K::YEAR => CastType::Year,
            K::TIME => CastType::Time(self.cast_length()?),
            K::DATETIME => CastType::Datetime(self.cast_length()?),
            K::DOUBLE => {
                self.eat(K::PRECISION);
                CastType::Double
            }
            K::FLOAT => CastType::Float(self.cast_length()?),
            K::REAL => CastType::Real,
            K::JSON => CastType::Json,
            K::GEOMCOLLECTION => CastType::Spatial("GEOMETRYCOLLECTION"),
            K::CHAR | K::CHARACTER => CastType::Char {
                length: self.cast_length()?,
                charset: self.cast_charset()?,
            },
            _ => CastType::Decimal(self.cast_precision()?),
        })
    }

    fn cast_length(&mut self) -> Result<Option<u64>> {
        if !self.at_punct(T::LParen) {
            return Ok(None);
        }
        self.parens(Self::uint).map(Some)
    }

    fn cast_precision(&mut self) -> Result<Option<(u64, Option<u64>)>> {
        if !self.at_punct(T::LParen) {
            return Ok(None);
        }
        self.parens(|p| {
            let digits = p.uint()?;
            let scale = if p.eat_punct(T::Comma) {
                Some(p.uint()?)
            } else {
                None
            };
            Ok(Some((digits, scale)))
        })
    }

    fn cast_binary(&mut self) -> bool {
        let binary = self.eat(K::BINARY);
        if binary {
            self.deprecate(Deprecated::BinaryAttribute);
        }
        binary
    }

    fn cast_charset(&mut self) -> Result<CastCharset> {
        let early = self.cast_binary();
        let named = self.eat(K::CHARSET) || self.at(K::CHAR) && self.at_nth(1, K::SET) || {
            self.at(K::CHARACTER) && self.at_nth(1, K::SET)
        };
        if named {
            if self.eat_any(&[K::CHAR, K::CHARACTER]).is_some() {
                self.expect(K::SET)?;
            }
            let name = self.charset_name()?;
            return Ok(CastCharset::Named(name, early || self.cast_binary()));
        }
        Ok(match self.eat_any(&[K::ASCII, K::UNICODE, K::BYTE]) {
            Some(K::ASCII) => {
                self.deprecate(Deprecated::Ascii);
                CastCharset::Ascii(early || self.cast_binary())
            }
            Some(K::UNICODE) => {
                self.deprecate(Deprecated::Unicode);
                CastCharset::Unicode(early || self.cast_binary())
            }
            Some(_) => CastCharset::Byte,
            None if early => CastCharset::Binary,
            None => CastCharset::Unsaid,
        })
    }
}
