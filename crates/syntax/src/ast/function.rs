//! Calls of functions, each with the syntax MySQL gives it.

use super::expr::{Expr, IntervalUnit};
use super::list::{ExprList, Items};
use super::name::{Ident, Str};
use super::query::OrderItem;

/// `name(arguments)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The database of a stored function, if said.
    pub database: Option<Ident>,
    /// The name as it was written.
    pub name: Ident,
    /// The arguments; `expr AS name` only for loadable functions.
    pub args: ExprList,
    /// Names given to arguments by AS, by their place; empty if there are none.
    pub arg_names: Vec<(u32, Ident)>,
    /// Whether there were no parentheses, as in CURRENT_TIMESTAMP.
    pub bare: bool,
}

/// Functions with a syntax of their own.
#[derive(Clone, Debug, PartialEq)]
pub enum Special {
    /// `x + INTERVAL n unit`, DATE_ADD, ADDDATE; `subtract`: the others. `INTERVAL n unit + x` too.
    DateArith {
        /// Whether the interval is taken away.
        subtract: bool,
        /// What it is added to.
        date: Expr,
        /// How many.
        amount: Expr,
        /// Of what.
        unit: IntervalUnit,
    },
    /// CAST(x AS type).
    Cast {
        /// What is converted.
        value: Expr,
        /// To what.
        to: CastType,
        /// `… AS type ARRAY`.
        array: bool,
        /// AT TIME ZONE: its text, and whether it was written with INTERVAL.
        zone: Option<(Str, bool)>,
    },
    /// CONVERT(x, type).
    ConvertTo(Expr, CastType),
    /// CONVERT(x USING charset).
    ConvertUsing(Expr, Ident),
    /// EXTRACT(unit FROM x).
    Extract(IntervalUnit, Expr),
    /// TRIM([side] [what FROM] x).
    Trim {
        /// Where.
        side: TrimSide,
        /// What is removed; spaces if not said.
        what: Option<Expr>,
        /// From what.
        from: Expr,
    },
    /// SUBSTRING(x FROM start FOR length) and SUBSTRING(x, start, length).
    Substring(Expr, Expr, Option<Expr>),
    /// POSITION(what IN x).
    Position(Expr, Expr),
    /// CHAR(… USING charset).
    Char(ExprList, Option<Ident>),
    /// WEIGHT_STRING(x [AS CHAR(n) | AS BINARY(n)]).
    WeightString {
        /// Of what.
        value: Expr,
        /// AS BINARY(n) or AS CHAR(n).
        padded: Option<(WeightAs, u64)>,
        /// LEVEL, as it was written.
        levels: Option<WeightLevels>,
    },
    /// GET_FORMAT(type, x).
    GetFormat(FormatOf, Expr),
    /// TIMESTAMPADD(unit, n, x).
    TimestampAdd(IntervalUnit, Expr, Expr),
    /// TIMESTAMPDIFF(unit, a, b).
    TimestampDiff(IntervalUnit, Expr, Expr),
    /// MATCH (columns) AGAINST (x mode).
    Match {
        /// Columns.
        columns: Items<Expr>,
        /// What is looked for.
        against: Expr,
        /// How.
        mode: MatchMode,
    },
    /// JSON_VALUE(x, path RETURNING type … ON EMPTY … ON ERROR).
    JsonValue {
        /// The document.
        value: Expr,
        /// The path.
        path: Expr,
        /// RETURNING.
        returning: Option<CastType>,
        /// ON EMPTY.
        on_empty: Option<JsonOn>,
        /// ON ERROR.
        on_error: Option<JsonOn>,
    },
    /// VALUES(column), in ON DUPLICATE KEY UPDATE.
    Values(Expr),
    /// DEFAULT(column).
    DefaultOf(Expr),
    /// INTERVAL(x, a, b, …).
    Interval(Items<Expr>),
    /// GROUPING(…).
    Grouping(Items<Expr>),
}

/// Which side TRIM works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TrimSide {
    /// Not said: both.
    Unsaid,
    Both,
    Leading,
    Trailing,
}

/// What WEIGHT_STRING pads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum WeightAs {
    Char,
    Binary,
}

/// LEVEL of WEIGHT_STRING, as MySQL 5 knew it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WeightLevels {
    /// `1 ASC REVERSE, 2`: level, DESC, REVERSE.
    List(Items<(u64, bool, bool)>),
    /// `1-3`.
    Range(u64, u64),
}

/// What GET_FORMAT gives the format of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FormatOf {
    Date,
    Time,
    Datetime,
}

/// How MATCH looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchMode {
    /// Not said.
    Unsaid,
    /// IN NATURAL LANGUAGE MODE.
    Natural,
    /// IN NATURAL LANGUAGE MODE WITH QUERY EXPANSION; the same without its first words.
    Expansion,
    /// IN BOOLEAN MODE.
    Boolean,
}

/// What happens ON EMPTY or ON ERROR.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonOn {
    /// NULL ON …
    Null,
    /// ERROR ON …
    Error,
    /// DEFAULT literal ON …
    Default(Expr),
}

/// A type that CAST converts to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CastType {
    /// SIGNED [INTEGER].
    Signed,
    /// UNSIGNED [INTEGER].
    Unsigned,
    /// BINARY[(n)].
    Binary(Option<u64>),
    /// CHAR[(n)] with its character set.
    Char {
        /// Characters.
        length: Option<u64>,
        /// CHARACTER SET.
        charset: CastCharset,
    },
    /// NCHAR[(n)].
    Nchar(Option<u64>),
    /// DATE.
    Date,
    /// YEAR.
    Year,
    /// TIME[(n)].
    Time(Option<u64>),
    /// DATETIME[(n)].
    Datetime(Option<u64>),
    /// DECIMAL[(m[,d])].
    Decimal(Option<(u64, Option<u64>)>),
    /// DOUBLE [PRECISION].
    Double,
    /// FLOAT[(n)].
    Float(Option<u64>),
    /// REAL.
    Real,
    /// JSON.
    Json,
    /// POINT, GEOMETRYCOLLECTION and the like, in upper case.
    Spatial(&'static str),
}

/// The character set of CAST's CHAR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CastCharset {
    /// Not said.
    Unsaid,
    /// CHARACTER SET name; whether the BINARY attribute is there.
    Named(Ident, bool),
    /// ASCII, with BINARY.
    Ascii(bool),
    /// UNICODE, with BINARY.
    Unicode(bool),
    /// BYTE.
    Byte,
    /// BINARY alone.
    Binary,
}

/// COUNT, SUM and the like.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// Which.
    pub function: AggregateFunction,
    /// DISTINCT.
    pub distinct: bool,
    /// Its arguments; `*` is one.
    pub args: ExprList,
    /// ORDER BY of GROUP_CONCAT.
    pub order_by: Items<OrderItem>,
    /// SEPARATOR of GROUP_CONCAT.
    pub separator: Option<Box<str>>,
    /// OVER.
    pub over: Option<Over>,
}

/// Which aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AggregateFunction {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    Std,
    Stddev,
    StddevPop,
    StddevSamp,
    Variance,
    VarPop,
    VarSamp,
    GroupConcat,
    JsonArrayAgg,
    JsonObjectAgg,
    StCollect,
}

/// ROW_NUMBER() OVER … and the like.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    /// Which.
    pub function: WindowFunction,
    /// Its arguments.
    pub args: ExprList,
    /// FROM LAST; `Some(false)` is FROM FIRST.
    pub from_last: Option<bool>,
    /// IGNORE NULLS; `Some(false)` is RESPECT NULLS.
    pub ignore_nulls: Option<bool>,
    /// OVER.
    pub over: Over,
}

/// Which window function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    CumeDist,
    PercentRank,
    Ntile,
    Lead,
    Lag,
    FirstValue,
    LastValue,
    NthValue,
}

/// OVER.
#[derive(Clone, Debug, PartialEq)]
pub enum Over {
    /// OVER name.
    Named(Ident),
    /// OVER (…).
    Spec(Box<WindowSpec>),
}

/// What stands in the parentheses of OVER and WINDOW.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowSpec {
    /// The window it builds on.
    pub base: Option<Ident>,
    /// PARTITION BY.
    pub partition_by: Items<OrderItem>,
    /// ORDER BY.
    pub order_by: Items<OrderItem>,
    /// The frame.
    pub frame: Option<Frame>,
}

/// ROWS or RANGE BETWEEN.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// In what.
    pub unit: FrameUnit,
    /// From.
    pub start: FrameBound,
    /// To; `None` where BETWEEN isn't written.
    pub end: Option<FrameBound>,
    /// EXCLUDE.
    pub exclude: Option<FrameExclude>,
}

/// What a frame counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FrameUnit {
    Rows,
    Range,
    Groups,
}

/// What a frame leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FrameExclude {
    CurrentRow,
    Group,
    Ties,
    NoOthers,
}

/// An end of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING.
    UnboundedPreceding,
    /// UNBOUNDED FOLLOWING.
    UnboundedFollowing,
    /// CURRENT ROW.
    CurrentRow,
    /// n PRECEDING, INTERVAL n unit PRECEDING.
    Preceding(Expr, Option<IntervalUnit>),
    /// n FOLLOWING, INTERVAL n unit FOLLOWING.
    Following(Expr, Option<IntervalUnit>),
}
