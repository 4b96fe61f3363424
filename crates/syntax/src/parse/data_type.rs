//! Data types.

use super::Parser;
use crate::ast::{
    Charset, DataType, Deprecated, FloatSize, ForeignType, Ident, IntSize, LobSize, Numeric,
    SpatialType, TemporalType, TypeAndCollation,
};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// A data type.
    pub fn data_type(&mut self) -> Result<DataType> {
        let Some(word) = self.keyword() else {
            return self.foreign_type();
        };
        use DataType as T;
        Ok(match word {
            K::TINYINT | K::INT1 => self.integer(IntSize::Tiny)?,
            K::SMALLINT | K::INT2 => self.integer(IntSize::Small)?,
            K::MEDIUMINT | K::INT3 | K::MIDDLEINT => self.integer(IntSize::Medium)?,
            K::INT | K::INTEGER | K::INT4 => self.integer(IntSize::Int)?,
            K::BIGINT | K::INT8 => self.integer(IntSize::Big)?,
            K::BOOL | K::BOOLEAN => {
                self.next();
                T::Int(IntSize::Tiny, Some(1), Numeric::default())
            }
            K::SERIAL => {
                self.next();
                T::Serial
            }
            K::DECIMAL | K::DEC | K::NUMERIC | K::FIXED => {
                self.next();
                let (precision, scale) = self.precision()?;
                let numeric = self.numeric();
                if numeric.unsigned {
                    self.deprecate(Deprecated::UnsignedFraction);
                }
                T::Decimal(precision, scale, numeric)
            }
            K::FLOAT | K::FLOAT4 => self.floating(FloatSize::Float)?,
            K::DOUBLE | K::FLOAT8 => self.floating(FloatSize::Double)?,
            K::REAL => self.floating(FloatSize::Real)?,
            K::BIT => {
                self.next();
                T::Bit(self.length()?)
            }
            K::DATE => self.temporal(TemporalType::Date)?,
            K::TIME => self.temporal(TemporalType::Time)?,
            K::DATETIME => self.temporal(TemporalType::DateTime)?,
            K::TIMESTAMP => self.temporal(TemporalType::Timestamp)?,
            K::YEAR => {
                let year = self.temporal(TemporalType::Year)?;
                self.numeric();
                year
            }
            K::CHAR
            | K::CHARACTER
            | K::NCHAR
            | K::NATIONAL
            | K::VARCHAR
            | K::VARCHARACTER
            | K::NVARCHAR => self.character()?,
            K::BINARY => {
                self.next();
                T::Binary(self.length()?)
            }
            K::VARBINARY => {
                self.next();
                T::VarBinary(self.length()?)
            }
            K::JSON => {
                self.next();
                T::Json
            }
            K::ENUM | K::SET => self.members(word)?,
            K::LONG => self.long()?,
            K::GEOMCOLLECTION => {
                self.next();
                T::Spatial(SpatialType::GeometryCollection)
            }
            _ => return self.large_object(word),
        })
    }

    /// A data type and COLLATE, as parameters and variables have it.
    pub(crate) fn type_and_collation(&mut self) -> Result<TypeAndCollation> {
        let data_type = self.data_type()?;
        let collation = if self.eat(K::COLLATE) {
            Some(self.collation_name()?)
        } else {
            None
        };
        Ok(TypeAndCollation {
            data_type,
            collation,
        })
    }

    fn foreign_type(&mut self) -> Result<DataType> {
        self.expect_choice::<ForeignType>().map(DataType::Foreign)
    }

    fn large_object(&mut self, word: K) -> Result<DataType> {
        let size = match word {
            K::TINYBLOB | K::TINYTEXT => LobSize::Tiny,
            K::BLOB | K::TEXT => LobSize::Normal,
            K::MEDIUMBLOB | K::MEDIUMTEXT => LobSize::Medium,
            K::LONGBLOB | K::LONGTEXT => LobSize::Long,
            _ => {
                let kind = self.choice::<SpatialType>();
                return kind.map(DataType::Spatial).ok_or_else(|| self.error_here());
            }
        };
        self.next();
        let length = if size == LobSize::Normal {
            self.length()?
        } else {
            None
        };
        if matches!(word, K::TINYBLOB | K::BLOB | K::MEDIUMBLOB | K::LONGBLOB) {
            return Ok(DataType::Blob(size, length));
        }
        Ok(DataType::Text(size, length, self.charset()?))
    }

    fn integer(&mut self, size: IntSize) -> Result<DataType> {
        self.next();
        let width = self.length()?;
        let numeric = self.numeric();
        if width.is_some() {
            self.deprecate(Deprecated::DisplayWidth);
        }
        Ok(DataType::Int(size, width, numeric))
    }

    fn floating(&mut self, size: FloatSize) -> Result<DataType> {
        self.next();
        if size == FloatSize::Double {
            self.eat(K::PRECISION);
        }
        let (digits, decimals) = self.precision()?;
        let numeric = self.numeric();
        if decimals.is_some() {
            self.deprecate(Deprecated::FloatDigits);
        }
        if numeric.unsigned {
            self.deprecate(Deprecated::UnsignedFraction);
        }
        Ok(DataType::Float(size, digits, decimals, numeric))
    }

    fn temporal(&mut self, kind: TemporalType) -> Result<DataType> {
        self.next();
        let digits = if kind == TemporalType::Date {
            None
        } else {
            self.length()?
        };
        if kind == TemporalType::Year && digits.is_some() {
            self.deprecate(Deprecated::YearDigits);
        }
        Ok(DataType::Temporal(kind, digits))
    }

    /// `(n)`, or nothing.
    fn length(&mut self) -> Result<Option<u64>> {
        if !self.at_punct(TokenKind::LParen) {
            return Ok(None);
        }
        self.parens(Self::uint).map(Some)
    }

    /// `(n)`, `(n, m)`, or nothing.
    fn precision(&mut self) -> Result<(Option<u64>, Option<u64>)> {
        if !self.at_punct(TokenKind::LParen) {
            return Ok((None, None));
        }
        self.parens(|p| {
            let first = p.uint()?;
            let second = if p.eat_punct(TokenKind::Comma) {
                Some(p.uint()?)
            } else {
                None
            };
            Ok((Some(first), second))
        })
    }

    fn numeric(&mut self) -> Numeric {
        let mut numeric = Numeric::default();
        loop {
            if self.eat(K::UNSIGNED) {
                numeric.unsigned = true;
            } else if self.eat(K::ZEROFILL) {
                numeric.zerofill = true;
                self.deprecate(Deprecated::ZeroFill);
            } else if !self.eat(K::SIGNED) {
                return numeric;
            }
        }
    }

    /// CHAR and VARCHAR under all their names.
    fn character(&mut self) -> Result<DataType> {
        let national = self.at_any(&[K::NATIONAL, K::NCHAR, K::NVARCHAR]);
        self.eat(K::NATIONAL);
        let word = self.keyword();
        let mut varying = matches!(word, Some(K::VARCHAR | K::VARCHARACTER | K::NVARCHAR));
        if !varying && !matches!(word, Some(K::CHAR | K::CHARACTER | K::NCHAR)) {
            return Err(self.error_here());
        }
        self.next();
        if word == Some(K::NCHAR) && self.eat(K::VARCHAR) || self.eat(K::VARYING) {
            varying = true;
        }
        let length = self.length()?;
        if national {
            self.deprecate(Deprecated::National);
        }
        let charset = Charset {
            national,
            ..self.charset()?
        };
        Ok(if varying {
            DataType::VarChar(length, charset)
        } else {
            DataType::Char(length, charset)
        })
    }

    /// LONG, LONG VARCHAR, LONG VARBINARY: MEDIUMTEXT and MEDIUMBLOB.
    fn long(&mut self) -> Result<DataType> {
        self.next();
        if self.eat(K::VARBINARY) {
            return Ok(DataType::Blob(LobSize::Medium, None));
        }
        if !self.eat(K::VARCHAR)
            && !self.eat(K::VARCHARACTER)
            && self.eat_any(&[K::CHAR, K::CHARACTER]).is_some()
        {
            self.expect(K::VARYING)?;
        }
        Ok(DataType::Text(LobSize::Medium, None, self.charset()?))
    }

    fn members(&mut self, word: K) -> Result<DataType> {
        self.next();
        let members = self.parens(|p| p.comma_list(Self::member))?;
        let charset = self.charset()?;
        Ok(if word == K::ENUM {
            DataType::Enum(members, charset)
        } else {
            DataType::Set(members, charset)
        })
    }

    /// A member of ENUM or SET: a text, or one in hexadecimal.
    pub(super) fn member(&mut self) -> Result<String> {
        if !self.at_punct(TokenKind::Hex) {
            return self.text_literal();
        }
        let digits = self.slice(*self.peek());
        let digits = digits[2..].trim_end_matches('\'');
        let bytes: Option<Vec<u8>> = (0..digits.len().div_ceil(2))
            .map(|n| u8::from_str_radix(digits.get(2 * n..2 * n + 2)?, 16).ok())
            .collect();
        let text = bytes
            .and_then(|b| String::from_utf8(b).ok())
            .ok_or_else(|| self.error_here())?;
        self.next();
        Ok(text)
    }

    /// CHARACTER SET, ASCII, UNICODE, BYTE and BINARY, in any order.
    fn charset(&mut self) -> Result<Charset> {
        let mut charset = Charset::default();
        loop {
            if self.eat_character_set() {
                charset.name = Some(self.charset_name()?);
            } else if self.eat(K::ASCII) {
                self.deprecate(Deprecated::Ascii);
                charset.name = Some(Ident::new("latin1"));
            } else if self.eat(K::UNICODE) {
                self.deprecate(Deprecated::Unicode);
                charset.name = Some(Ident::new("ucs2"));
            } else if self.eat(K::BYTE) {
                charset.name = Some(Ident::new("binary"));
            } else if self.eat(K::BINARY) {
                self.deprecate(Deprecated::BinaryAttribute);
                charset.binary = true;
            } else {
                return Ok(charset);
            }
        }
    }
}
