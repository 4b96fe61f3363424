//! Calls.

use std::fmt::{Display, Formatter, Result};

use super::expr::Operand;
use crate::ast::words::{List, Quoted, flag};
use crate::ast::*;
use crate::keyword::{Class, Keyword as K};
use crate::parse::level;

/// Whether a function's name read without quotes is one whose arguments are a list as any other.
fn is_plain(name: &str) -> bool {
    let b = name.as_bytes();
    let word = b
        .iter()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$'));
    if !word || !b.first().is_some_and(u8::is_ascii_alphabetic) {
        return false;
    }
    // As literals with a prefix begin.
    if b.len() == 1 {
        return false;
    }
    match Keyword::of(name) {
        None => true,
        Some(k) => match k.class() {
            Class::Plain => !matches!(
                k,
                K::GET_FORMAT
                    | K::WEIGHT_STRING
                    | K::JSON_VALUE
                    | K::TIMESTAMPADD
                    | K::TIMESTAMPDIFF
                    | K::AVG
            ),
            Class::Function => matches!(
                k,
                K::NOW
                    | K::SYSDATE
                    | K::CURDATE
                    | K::CURTIME
                    | K::SESSION_USER
                    | K::SYSTEM_USER
                    | K::ADDDATE
                    | K::SUBDATE
            ),
            Class::Reserved => matches!(
                k,
                K::IF
                    | K::LEFT
                    | K::RIGHT
                    | K::REPLACE
                    | K::REPEAT
                    | K::INSERT
                    | K::MOD
                    | K::DATABASE
                    | K::SCHEMA
                    | K::CURRENT_DATE
                    | K::CURRENT_TIME
                    | K::CURRENT_TIMESTAMP
                    | K::CURRENT_USER
                    | K::LOCALTIME
                    | K::LOCALTIMESTAMP
                    | K::UTC_DATE
                    | K::UTC_TIME
                    | K::UTC_TIMESTAMP
            ),
        },
    }
}

use crate::keyword::Keyword;

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(database) = &self.database {
            write!(f, "{database}.{}(", self.name)?;
        } else if self.bare {
            return f.write_str(self.name.as_str());
        } else if is_plain(self.name.as_str()) {
            write!(f, "{}(", self.name.as_str())?;
        } else {
            write!(f, "{}(", self.name)?;
        }
        let mut names = self.arg_names.iter().peekable();
        for (n, arg) in self.args.iter().enumerate() {
            let comma = if n > 0 { ", " } else { "" };
            write!(f, "{comma}{arg}")?;
            if let Some((_, name)) = names.next_if(|(at, _)| *at as usize == n) {
                write!(f, " AS {name}")?;
            }
        }
        f.write_str(")")
    }
}

impl Display for Special {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Special::DateArith {
                subtract,
                date,
                amount,
                unit,
            } => {
                let sign = if *subtract { '-' } else { '+' };
                let date = Operand(date, level::ADD);
                let amount = Operand(amount, level::UNARY);
                write!(f, "{date} {sign} INTERVAL {amount} {unit}")
            }
            Special::Cast {
                value,
                to,
                array,
                zone,
            } => {
                write!(f, "CAST({value}")?;
                if let Some((zone, interval)) = zone {
                    let interval = flag(*interval, "INTERVAL ");
                    write!(f, " AT TIME ZONE {interval}{}", Quoted(zone))?;
                }
                write!(f, " AS {to}{})", flag(*array, " ARRAY"))
            }
            Special::ConvertTo(value, to) => write!(f, "CONVERT({value}, {to})"),
            Special::ConvertUsing(value, charset) => write!(f, "CONVERT({value} USING {charset})"),
            Special::Extract(unit, from) => write!(f, "EXTRACT({unit} FROM {from})"),
            Special::Trim { side, what, from } => {
                f.write_str(match side {
                    TrimSide::Unsaid => "TRIM(",
                    TrimSide::Both => "TRIM(BOTH ",
                    TrimSide::Leading => "TRIM(LEADING ",
                    TrimSide::Trailing => "TRIM(TRAILING ",
                })?;
                match what {
                    Some(what) => write!(f, "{what} FROM {from})"),
                    None if *side == TrimSide::Unsaid => write!(f, "{from})"),
                    None => write!(f, "FROM {from})"),
                }
            }
            Special::Substring(text, start, None) => write!(f, "SUBSTRING({text}, {start})"),
            Special::Substring(text, start, Some(length)) => {
                write!(f, "SUBSTRING({text}, {start}, {length})")
            }
            Special::Position(what, within) => {
                write!(f, "POSITION({} IN {within})", Operand(what, level::BIT_OR))
            }
            Special::Char(list, None) => write!(f, "CHAR({list})"),
            Special::Char(list, Some(charset)) => {
                write!(f, "CHAR({list} USING {charset})")
            }
            Special::WeightString {
                value,
                padded,
                levels,
            } => {
                write!(f, "WEIGHT_STRING({value}")?;
                match padded {
                    Some((WeightAs::Char, n)) => write!(f, " AS CHAR({n})")?,
                    Some((WeightAs::Binary, n)) => write!(f, " AS BINARY({n})")?,
                    None => {}
                }
                if let Some(levels) = levels {
                    write!(f, " LEVEL {levels}")?;
                }
                f.write_str(")")
            }
            Special::GetFormat(of, e) => {
                let of = match of {
                    FormatOf::Date => "DATE",
                    FormatOf::Time => "TIME",
                    FormatOf::Datetime => "DATETIME",
                };
                write!(f, "GET_FORMAT({of}, {e})")
            }
            Special::TimestampAdd(unit, n, e) => write!(f, "TIMESTAMPADD({unit}, {n}, {e})"),
            Special::TimestampDiff(unit, a, b) => write!(f, "TIMESTAMPDIFF({unit}, {a}, {b})"),
            Special::Match {
                columns,
                against,
                mode,
            } => {
                let against = Operand(against, level::BIT_OR);
                let mode = match mode {
                    MatchMode::Unsaid => "",
                    MatchMode::Natural => " IN NATURAL LANGUAGE MODE",
                    MatchMode::Expansion => " WITH QUERY EXPANSION",
                    MatchMode::Boolean => " IN BOOLEAN MODE",
                };
                write!(f, "MATCH ({}) AGAINST ({against}{mode})", List(columns))
            }
            Special::JsonValue {
                value,
                path,
                returning,
                on_empty,
                on_error,
            } => {
                write!(f, "JSON_VALUE({value}, {path}")?;
                if let Some(t) = returning {
                    write!(f, " RETURNING {t}")?;
                }
                write!(f, "{})", JsonOns(on_empty, on_error))
            }
            Special::Values(column) => write!(f, "VALUES({column})"),
            Special::DefaultOf(column) => write!(f, "DEFAULT({column})"),
            Special::Interval(list) => write!(f, "INTERVAL({})", List(list)),
            Special::Grouping(list) => write!(f, "GROUPING({})", List(list)),
        }
    }
}

/// `… ON EMPTY … ON ERROR`.
pub(super) struct JsonOns<'a>(pub &'a Option<JsonOn>, pub &'a Option<JsonOn>);

impl Display for JsonOns<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (on, place) in [(self.0, "EMPTY"), (self.1, "ERROR")] {
            match on {
                None => {}
                Some(JsonOn::Null) => write!(f, " NULL ON {place}")?,
                Some(JsonOn::Error) => write!(f, " ERROR ON {place}")?,
                Some(JsonOn::Default(e)) => write!(f, " DEFAULT {e} ON {place}")?,
            }
        }
        Ok(())
    }
}

impl Display for WeightLevels {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            WeightLevels::Range(a, b) => write!(f, "{a}-{b}"),
            WeightLevels::List(list) => super::expr::separated(
                f,
                list.iter().map(|level| {
                    let (n, desc, reverse) = *level;
                    format!("{n}{}{}", flag(desc, " DESC"), flag(reverse, " REVERSE"))
                }),
            ),
        }
    }
}

struct Length(Option<u64>);

impl Display for Length {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.0.map_or(Ok(()), |n| write!(f, "({n})"))
    }
}

impl Display for CastType {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            CastType::Signed => f.write_str("SIGNED"),
            CastType::Unsigned => f.write_str("UNSIGNED"),
            CastType::Binary(n) => write!(f, "BINARY{}", Length(*n)),
            CastType::Nchar(n) => write!(f, "NCHAR{}", Length(*n)),
            CastType::Date => f.write_str("DATE"),
            CastType::Year => f.write_str("YEAR"),
            CastType::Time(n) => write!(f, "TIME{}", Length(*n)),
            CastType::Datetime(n) => write!(f, "DATETIME{}", Length(*n)),
            CastType::Decimal(None) => f.write_str("DECIMAL"),
            CastType::Decimal(Some((m, None))) => write!(f, "DECIMAL({m})"),
            CastType::Decimal(Some((m, Some(d)))) => write!(f, "DECIMAL({m}, {d})"),
            CastType::Double => f.write_str("DOUBLE"),
            CastType::Float(n) => write!(f, "FLOAT{}", Length(*n)),
            CastType::Real => f.write_str("REAL"),
            CastType::Json => f.write_str("JSON"),
            CastType::Spatial(name) => f.write_str(name),
            CastType::Char { length, charset } => {
                write!(f, "CHAR{}", Length(*length))?;
                match charset {
                    CastCharset::Unsaid => Ok(()),
                    CastCharset::Named(name, binary) => {
                        write!(f, " CHARACTER SET {name}{}", flag(*binary, " BINARY"))
                    }
                    CastCharset::Ascii(binary) => write!(f, " ASCII{}", flag(*binary, " BINARY")),
                    CastCharset::Unicode(binary) => {
                        write!(f, " UNICODE{}", flag(*binary, " BINARY"))
                    }
                    CastCharset::Byte => f.write_str(" BYTE"),
                    CastCharset::Binary => f.write_str(" BINARY"),
                }
            }
        }
    }
}

impl Display for Aggregate {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let distinct = flag(self.distinct, "DISTINCT ");
        write!(f, "{}({distinct}{}", self.function, &self.args)?;
        if !self.order_by.is_empty() {
            write!(f, " ORDER BY {}", &self.order_by)?;
        }
        if let Some(s) = &self.separator {
            write!(f, " SEPARATOR {}", Quoted(s))?;
        }
        f.write_str(")")?;
        match &self.over {
            Some(over) => write!(f, " OVER {over}"),
            None => Ok(()),
        }
    }
}

impl Display for AggregateFunction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        use AggregateFunction as A;
        f.write_str(match self {
            A::Count => "COUNT",
            A::Sum => "SUM",
            A::Avg => "AVG",
            A::Min => "MIN",
            A::Max => "MAX",
            A::BitAnd => "BIT_AND",
            A::BitOr => "BIT_OR",
            A::BitXor => "BIT_XOR",
            A::Std => "STD",
            A::Stddev => "STDDEV",
            A::StddevPop => "STDDEV_POP",
            A::StddevSamp => "STDDEV_SAMP",
            A::Variance => "VARIANCE",
            A::VarPop => "VAR_POP",
            A::VarSamp => "VAR_SAMP",
            A::GroupConcat => "GROUP_CONCAT",
            A::JsonArrayAgg => "JSON_ARRAYAGG",
            A::JsonObjectAgg => "JSON_OBJECTAGG",
            A::StCollect => "ST_COLLECT",
        })
    }
}

impl Display for WindowFunction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        use WindowFunction as W;
        f.write_str(match self {
            W::RowNumber => "ROW_NUMBER",
            W::Rank => "RANK",
            W::DenseRank => "DENSE_RANK",
            W::CumeDist => "CUME_DIST",
            W::PercentRank => "PERCENT_RANK",
            W::Ntile => "NTILE",
            W::Lead => "LEAD",
            W::Lag => "LAG",
            W::FirstValue => "FIRST_VALUE",
            W::LastValue => "LAST_VALUE",
            W::NthValue => "NTH_VALUE",
        })
    }
}

impl Display for WindowCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}({})", self.function, &self.args)?;
        f.write_str(match self.from_last {
            None => "",
            Some(true) => " FROM LAST",
            Some(false) => " FROM FIRST",
        })?;
        f.write_str(match self.ignore_nulls {
            None => "",
            Some(true) => " IGNORE NULLS",
            Some(false) => " RESPECT NULLS",
        })?;
        write!(f, " OVER {}", self.over)
    }
}

impl Display for Over {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Over::Named(name) => name.fmt(f),
            Over::Spec(spec) => spec.fmt(f),
        }
    }
}

impl Display for WindowSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut space = "";
        f.write_str("(")?;
        if let Some(base) = &self.base {
            write!(f, "{base}")?;
            space = " ";
        }
        if !self.partition_by.is_empty() {
            write!(f, "{space}PARTITION BY {}", &self.partition_by)?;
            space = " ";
        }
        if !self.order_by.is_empty() {
            write!(f, "{space}ORDER BY {}", &self.order_by)?;
            space = " ";
        }
        if let Some(frame) = &self.frame {
            write!(f, "{space}{frame}")?;
        }
        f.write_str(")")
    }
}

impl Display for Frame {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self.unit {
            FrameUnit::Rows => "ROWS ",
            FrameUnit::Range => "RANGE ",
            FrameUnit::Groups => "GROUPS ",
        })?;
        match &self.end {
            Some(end) => write!(f, "BETWEEN {} AND {end}", self.start)?,
            None => self.start.fmt(f)?,
        }
        f.write_str(match self.exclude {
            None => "",
            Some(FrameExclude::CurrentRow) => " EXCLUDE CURRENT ROW",
            Some(FrameExclude::Group) => " EXCLUDE GROUP",
            Some(FrameExclude::Ties) => " EXCLUDE TIES",
            Some(FrameExclude::NoOthers) => " EXCLUDE NO OTHERS",
        })
    }
}

impl Display for FrameBound {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (amount, unit, side) = match self {
            FrameBound::UnboundedPreceding => return f.write_str("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => return f.write_str("UNBOUNDED FOLLOWING"),
            FrameBound::CurrentRow => return f.write_str("CURRENT ROW"),
            FrameBound::Preceding(amount, unit) => (amount, unit, "PRECEDING"),
            FrameBound::Following(amount, unit) => (amount, unit, "FOLLOWING"),
        };
        match unit {
            Some(unit) => write!(
                f,
                "INTERVAL {} {unit} {side}",
                Operand(amount, level::UNARY)
            ),
            None => write!(f, "{} {side}", Operand(amount, level::UNARY)),
        }
    }
}

impl Display for IntervalUnit {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        use IntervalUnit as U;
        f.write_str(match self {
            U::Microsecond => "MICROSECOND",
            U::Second => "SECOND",
            U::Minute => "MINUTE",
            U::Hour => "HOUR",
            U::Day => "DAY",
            U::Week => "WEEK",
            U::Month => "MONTH",
            U::Quarter => "QUARTER",
            U::Year => "YEAR",
            U::SecondMicrosecond => "SECOND_MICROSECOND",
            U::MinuteMicrosecond => "MINUTE_MICROSECOND",
            U::MinuteSecond => "MINUTE_SECOND",
            U::HourMicrosecond => "HOUR_MICROSECOND",
            U::HourSecond => "HOUR_SECOND",
            U::HourMinute => "HOUR_MINUTE",
            U::DayMicrosecond => "DAY_MICROSECOND",
            U::DaySecond => "DAY_SECOND",
            U::DayMinute => "DAY_MINUTE",
            U::DayHour => "DAY_HOUR",
            U::YearMonth => "YEAR_MONTH",
        })
    }
}
