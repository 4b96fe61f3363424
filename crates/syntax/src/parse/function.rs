//! Calls: functions whose names are keywords, and those with a syntax of their own.

use super::Parser;
use crate::ast::*;
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind as T;

fn special(s: Special) -> ExprKind {
    ExprKind::Special(Box::new(s))
}

impl Parser<'_> {
    /// A call's arguments, from its parenthesis on.
    pub(super) fn call(&mut self, database: Option<Ident>, name: Ident) -> Result<ExprKind> {
        self.expect_punct(T::LParen)?;
        let mut args = Items::default();
        let mut arg_names = Vec::new();
        if !self.at_punct(T::RParen) {
            let first = self.piece(self.last_end());
            let mut from = first;
            loop {
                let arg = self.expr()?;
                self.add(&mut args, arg, from, Some(first))?;
                if self.at(K::AS) || self.at_ident() {
                    arg_names.push((args.len() as u32 - 1, self.arg_name()?));
                    self.took(size_of::<(u32, Ident)>())?;
                }
                let before = self.last_end();
                if !self.eat_punct(T::Comma) {
                    break;
                }
                from = self.piece(before);
            }
        }
        self.expect_punct(T::RParen)?;
        if database.is_none() && name.as_str().eq_ignore_ascii_case("FOUND_ROWS") {
            self.deprecate(Deprecated::FoundRows);
        }
        Ok(ExprKind::Call(Box::new(Call {
            database,
            name,
            args,
            arg_names,
            bare: false,
        })))
    }

    /// The name given to an argument.
    pub(crate) fn arg_name(&mut self) -> Result<Ident> {
        match self.eat(K::AS) {
            true => self.ident_or_text(),
            false => self.ident(),
        }
    }

    /// A call of a function whose name is a keyword, with a list of arguments as any other.
    fn keyword_call(&mut self) -> Result<ExprKind> {
        if self.kind_nth(1) != T::LParen {
            self.next();
            return Err(self.error_here());
        }
        let name = self.ident_here();
        self.call(None, name)
    }

    /// The same, where the parentheses may be missing.
    fn bare_call(&mut self) -> Result<ExprKind> {
        if self.kind_nth(1) == T::LParen {
            return self.keyword_call();
        }
        let name = self.ident_here();
        Ok(ExprKind::Call(Box::new(Call {
            database: None,
            name,
            args: Items::EMPTY,
            arg_names: Vec::new(),
            bare: true,
        })))
    }

    /// What begins with a keyword that begins no operand but a function or a name.
    pub(super) fn function_or_name(&mut self, k: K) -> Result<ExprKind> {
        if let Some(f) = aggregate_function(k)
            && self.kind_nth(1) == T::LParen
        {
            self.next();
            return self.aggregate(f);
        }
        if let Some(f) = window_function(k) {
            self.next();
            return self.window_call(f);
        }
        match k {
            K::CURRENT_DATE
            | K::CURRENT_TIME
            | K::CURRENT_TIMESTAMP
            | K::CURRENT_USER
            | K::LOCALTIME
            | K::LOCALTIMESTAMP
            | K::UTC_DATE
            | K::UTC_TIME
            | K::UTC_TIMESTAMP => self.bare_call(),
            K::CHAR => self.char_call(),
            K::IF
            | K::LEFT
            | K::RIGHT
            | K::REPLACE
            | K::REPEAT
            | K::INSERT
            | K::MOD
            | K::DATABASE
            | K::SCHEMA
            | K::NOW
            | K::SYSDATE
            | K::CURDATE
            | K::CURTIME
            | K::SESSION_USER
            | K::SYSTEM_USER => self.keyword_call(),
            K::CAST => {
                self.next();
                self.cast()
            }
            K::CONVERT => {
                self.next();
                self.convert()
            }
            K::MATCH => {
                self.next();
                self.match_against()
            }
            K::VALUES | K::DEFAULT => {
                self.next();
                let column = self.parens(|p| p.column())?;
                // Whoever knows what the column is warns of it in ON DUPLICATE KEY UPDATE.
                if k == K::VALUES && !self.updates_duplicate {
                    self.deprecate(Deprecated::ValuesFunction);
                }
                Ok(special(if k == K::VALUES {
                    Special::Values(column)
                } else {
                    Special::DefaultOf(column)
                }))
            }
            K::GROUPING => {
                self.next();
                let list = self.parens(|p| p.comma_list(Self::expr))?;
                Ok(special(Special::Grouping(list)))
            }
            _ if self.kind_nth(1) == T::LParen => self.function(k),
            _ if k.is_reserved() => Err(self.error_here()),
            _ => self.name(),
        }
    }

    /// A function with a syntax of its own, at its name; its parenthesis follows.
    fn function(&mut self, k: K) -> Result<ExprKind> {
        let parse = match k {
            K::EXTRACT => Self::extract,
            K::TRIM => Self::trim,
            K::SUBSTRING | K::SUBSTR | K::MID => Self::substring,
            K::POSITION => Self::position_of,
            K::GET_FORMAT => Self::get_format,
            K::WEIGHT_STRING => Self::weight_string,
            K::JSON_VALUE => Self::json_value,
            K::DATE_ADD | K::DATE_SUB | K::ADDDATE | K::SUBDATE => {
                return self.date_function(k);
            }
            K::TIMESTAMPADD | K::TIMESTAMPDIFF => return self.timestamp_function(k),
            _ if k.is_reserved() => return Err(self.error_here()),
            _ => return self.keyword_call(),
        };
        self.next();
        Ok(special(self.parens(parse)?))
    }

    /// A column's name.
    fn column(&mut self) -> Result<Expr> {
        let start = self.start();
        let kind = self.name()?;
        match kind {
            ExprKind::Column(_) => Ok(Expr::new(kind, self.span_from(start))),
            _ => Err(self.error_at(start)),
        }
    }

    fn char_call(&mut self) -> Result<ExprKind> {
        self.next();
        self.parens(|p| {
            let list = p.items()?;
            let charset = if p.eat(K::USING) {
                Some(p.charset_name()?)
            } else {
                None
            };
            Ok(special(Special::Char(list, charset)))
        })
    }

    fn extract(&mut self) -> Result<Special> {
        let unit = self.interval_unit()?;
        self.expect(K::FROM)?;
        Ok(Special::Extract(unit, self.expr()?))
    }

    fn trim(&mut self) -> Result<Special> {
        let side = match self.eat_any(&[K::BOTH, K::LEADING, K::TRAILING]) {
            Some(K::BOTH) => TrimSide::Both,
            Some(K::LEADING) => TrimSide::Leading,
            Some(_) => TrimSide::Trailing,
            None => TrimSide::Unsaid,
        };
        let mut what = None;
        if side == TrimSide::Unsaid || !self.at(K::FROM) {
            what = Some(self.expr()?);
        }
        let from = if self.eat(K::FROM) {
            self.expr()?
        } else {
            match what.take() {
                Some(e) if side == TrimSide::Unsaid => e,
                _ => return Err(self.error_here()),
            }
        };
        Ok(Special::Trim { side, what, from })
    }

    fn substring(&mut self) -> Result<Special> {
        let text = self.expr()?;
        let (next, last) = if self.eat(K::FROM) {
            (self.expr()?, self.eat(K::FOR))
        } else {
            self.expect_punct(T::Comma)?;
            (self.expr()?, self.eat_punct(T::Comma))
        };
        let length = if last { Some(self.expr()?) } else { None };
        Ok(Special::Substring(text, next, length))
    }

    fn position_of(&mut self) -> Result<Special> {
        let what = self.binary(super::expr::level::BIT_OR)?;
        self.expect(K::IN)?;
        Ok(Special::Position(what, self.expr()?))
    }

    fn get_format(&mut self) -> Result<Special> {
        let of = match self.eat_any(&[K::DATE, K::TIME, K::DATETIME, K::TIMESTAMP]) {
            Some(K::DATE) => FormatOf::Date,
            Some(K::TIME) => FormatOf::Time,
            Some(_) => FormatOf::Datetime,
            None => return Err(self.error_here()),
        };
        self.expect_punct(T::Comma)?;
        Ok(Special::GetFormat(of, self.expr()?))
    }

    fn weight_string(&mut self) -> Result<Special> {
        let value = self.expr()?;
        let mut padded = None;
        if self.eat(K::AS) {
            let to = match self.eat_any(&[K::CHAR, K::BINARY]) {
                Some(K::CHAR) => WeightAs::Char,
                Some(_) => WeightAs::Binary,
                None => return Err(self.error_here()),
            };
            padded = Some((to, self.parens(Self::weight_length)?));
        }
        let mut levels = None;
        if self.eat(K::LEVEL) {
            let start = self.piece(self.last_end());
            let first = self.uint()?;
            levels = Some(if self.eat_punct(T::Minus) {
                WeightLevels::Range(first, self.uint()?)
            } else {
                let first = self.weight_level(first);
                WeightLevels::List(self.items_from(start, Some(first), Self::next_weight_level)?)
            });
        }
        Ok(Special::WeightString {
            value,
            padded,
            levels,
        })
    }

    /// Characters or bytes of a weight string, of which there must be some.
    fn weight_length(&mut self) -> Result<u64> {
        let start = self.start();
        match self.uint()? {
            0 => Err(self.error_at(start)),
            n => Ok(n),
        }
    }

    pub(super) fn next_weight_level(&mut self) -> Result<(u64, bool, bool)> {
        let n = self.uint()?;
        Ok(self.weight_level(n))
    }

    fn weight_level(&mut self, n: u64) -> (u64, bool, bool) {
        let desc = self.eat_any(&[K::ASC, K::DESC]) == Some(K::DESC);
        (n, desc, self.eat(K::REVERSE))
    }

    fn json_value(&mut self) -> Result<Special> {
        let value = self.expr()?;
        self.expect_punct(T::Comma)?;
        let path = self.literal()?;
        let returning = if self.eat(K::RETURNING) {
            Some(self.cast_type()?)
        } else {
            None
        };
        let (on_empty, on_error) = self.json_on()?;
        Ok(Special::JsonValue {
            value,
            path,
            returning,
            on_empty,
            on_error,
        })
    }

    /// Whether what happens ON EMPTY or ON ERROR follows.
    pub(super) fn at_json_on(&self) -> bool {
        self.at_any(&[K::NULL, K::ERROR, K::DEFAULT])
    }

    /// `… ON EMPTY … ON ERROR`.
    pub(super) fn json_on(&mut self) -> Result<(Option<JsonOn>, Option<JsonOn>)> {
        let (mut on_empty, mut on_error) = (None, None);
        while on_error.is_none() && self.at_json_on() {
            let start = self.start();
            let what = match self.next().kind {
                T::Keyword(K::NULL) => JsonOn::Null,
                T::Keyword(K::ERROR) => JsonOn::Error,
                _ => JsonOn::Default(self.literal()?),
            };
            self.expect(K::ON)?;
            let place = match self.eat_any(&[K::EMPTY, K::ERROR]) {
                Some(K::EMPTY) => &mut on_empty,
                Some(K::ERROR) => &mut on_error,
                _ => return Err(self.error_here()),
            };
            if place.replace(what).is_some() {
                return Err(self.error_at(start));
            }
        }
        Ok((on_empty, on_error))
    }

    /// DATE_ADD and the like: an interval or, for two of them, days.
    fn date_function(&mut self, k: K) -> Result<ExprKind> {
        let name = self.ident_here();
        let days = matches!(k, K::ADDDATE | K::SUBDATE);
        self.parens(|p| {
            let date = p.expr()?;
            p.expect_punct(T::Comma)?;
            if !p.at(K::INTERVAL) {
                if !days {
                    return Err(p.error_here());
                }
                return Ok(ExprKind::Call(Box::new(Call {
                    database: None,
                    name,
                    args: vec![date, p.expr()?].into(),
                    arg_names: Vec::new(),
                    bare: false,
                })));
            }
            p.next();
            let amount = p.expr()?;
            Ok(special(Special::DateArith {
                subtract: matches!(k, K::DATE_SUB | K::SUBDATE),
                date,
                amount,
                unit: p.interval_unit()?,
            }))
        })
    }

    fn timestamp_function(&mut self, k: K) -> Result<ExprKind> {
        self.next();
        self.parens(|p| {
            // The units have a prefix here in ODBC.
            let unit = match p.sql_tsi() {
                Some(unit) => unit,
                None => p.interval_unit()?,
            };
            p.expect_punct(T::Comma)?;
            let a = p.expr()?;
            p.expect_punct(T::Comma)?;
            let b = p.expr()?;
            Ok(special(if k == K::TIMESTAMPADD {
                Special::TimestampAdd(unit, a, b)
            } else {
                Special::TimestampDiff(unit, a, b)
            }))
        })
    }

    fn match_against(&mut self) -> Result<ExprKind> {
        let parens = self.eat_punct(T::LParen);
        let columns = self.comma_list(Self::column)?;
        if parens {
            self.expect_punct(T::RParen)?;
        }
        self.expect(K::AGAINST)?;
        self.parens(|p| {
            let against = p.binary(super::expr::level::BIT_OR)?;
            let mode = if p.eat_all(&[K::IN, K::BOOLEAN, K::MODE]) {
                MatchMode::Boolean
            } else {
                let natural = p.eat_all(&[K::IN, K::NATURAL, K::LANGUAGE, K::MODE]);
                if p.eat_all(&[K::WITH, K::QUERY, K::EXPANSION]) {
                    MatchMode::Expansion
                } else if natural {
                    MatchMode::Natural
                } else {
                    MatchMode::Unsaid
                }
            };
            Ok(special(Special::Match {
                columns,
                against,
                mode,
            }))
        })
    }

    /// A unit of INTERVAL.
    pub fn interval_unit(&mut self) -> Result<IntervalUnit> {
        let unit = self.interval_unit_here().ok_or_else(|| self.error_here())?;
        self.next();
        Ok(unit)
    }

    /// The unit of INTERVAL that comes next.
    pub(super) fn interval_unit_here(&self) -> Option<IntervalUnit> {
        use IntervalUnit as U;
        Some(match self.keyword()? {
            K::MICROSECOND => U::Microsecond,
            K::SECOND => U::Second,
            K::MINUTE => U::Minute,
            K::HOUR => U::Hour,
            K::DAY => U::Day,
            K::WEEK => U::Week,
            K::MONTH => U::Month,
            K::QUARTER => U::Quarter,
            K::YEAR => U::Year,
            K::SECOND_MICROSECOND => U::SecondMicrosecond,
            K::MINUTE_MICROSECOND => U::MinuteMicrosecond,
            K::MINUTE_SECOND => U::MinuteSecond,
            K::HOUR_MICROSECOND => U::HourMicrosecond,
            K::HOUR_SECOND => U::HourSecond,
            K::HOUR_MINUTE => U::HourMinute,
            K::DAY_MICROSECOND => U::DayMicrosecond,
            K::DAY_SECOND => U::DaySecond,
            K::DAY_MINUTE => U::DayMinute,
            K::DAY_HOUR => U::DayHour,
            K::YEAR_MONTH => U::YearMonth,
            _ => return None,
        })
    }

    fn sql_tsi(&mut self) -> Option<IntervalUnit> {
        use IntervalUnit as U;
        let unit = match self.keyword()? {
            K::SQL_TSI_SECOND => U::Second,
            K::SQL_TSI_MINUTE => U::Minute,
            K::SQL_TSI_HOUR => U::Hour,
            K::SQL_TSI_DAY => U::Day,
            K::SQL_TSI_WEEK => U::Week,
            K::SQL_TSI_MONTH => U::Month,
            K::SQL_TSI_QUARTER => U::Quarter,
            K::SQL_TSI_YEAR => U::Year,
            _ => return None,
        };
        self.next();
        Some(unit)
    }
}

fn aggregate_function(k: K) -> Option<AggregateFunction> {
    use AggregateFunction as A;
    Some(match k {
        K::COUNT => A::Count,
        K::SUM => A::Sum,
        K::AVG => A::Avg,
        K::MIN => A::Min,
        K::MAX => A::Max,
        K::BIT_AND => A::BitAnd,
        K::BIT_OR => A::BitOr,
        K::BIT_XOR => A::BitXor,
        K::STD => A::Std,
        K::STDDEV => A::Stddev,
        K::STDDEV_POP => A::StddevPop,
        K::STDDEV_SAMP => A::StddevSamp,
        K::VARIANCE => A::Variance,
        K::VAR_POP => A::VarPop,
        K::VAR_SAMP => A::VarSamp,
        K::GROUP_CONCAT => A::GroupConcat,
        K::JSON_ARRAYAGG => A::JsonArrayAgg,
        K::JSON_OBJECTAGG => A::JsonObjectAgg,
        K::ST_COLLECT => A::StCollect,
        _ => return None,
    })
}

fn window_function(k: K) -> Option<WindowFunction> {
    use WindowFunction as W;
    Some(match k {
        K::ROW_NUMBER => W::RowNumber,
        K::RANK => W::Rank,
        K::DENSE_RANK => W::DenseRank,
        K::CUME_DIST => W::CumeDist,
        K::PERCENT_RANK => W::PercentRank,
        K::NTILE => W::Ntile,
        K::LEAD => W::Lead,
        K::LAG => W::Lag,
        K::FIRST_VALUE => W::FirstValue,
        K::LAST_VALUE => W::LastValue,
        K::NTH_VALUE => W::NthValue,
        _ => return None,
    })
}
