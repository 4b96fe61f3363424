//! The catalogue of functions: names, arity, result types, and dispatch to the files that compute them.

mod compress;
mod info;
mod net;
mod numeric;
mod regexp;
mod string;
mod temporal;
mod uuid;
mod wait;

use std::borrow::Cow;

use super::bind::collation_of;
use super::operators::{compare, number};
use super::{EvalContext, Expr};
use crate::error::{SqlError, SqlResult};
use crate::session::env::SessionEnv;
use crate::types::derive::{common, text_length};
use crate::types::{BaseType, Collation, SqlType};
use crate::value::convert::exact_integer;
use crate::value::{Date, DateTime, Decimal, Time, Value, truncated};

pub use numeric::RandState;
pub(super) use string::unhex;

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Func {
    Concat,
    ConcatWs,
    Substring,
    Left,
    Right,
    Length,
    BitLength,
    CharLength,
    Upper,
    Lower,
    Trim,
    LTrim,
    RTrim,
    Replace,
    LPad,
    RPad,
    Instr,
    Locate,
    Repeat,
    Reverse,
    Hex,
    Unhex,
    Md5,
    Sha1,
    Sha2,
    Field,
    Elt,
    FindInSet,
    Space,
    Ascii,
    Ord,
    Char,
    Format,
    Quote,
    Strcmp,
    SubstringIndex,
    Insert,
    Bin,
    Oct,
    ToBase64,
    FromBase64,
    Charset,
    CollationOf,
    Abs,
    Ceil,
    Floor,
    Round,
    Truncate,
    Pow,
    Sqrt,
    Exp,
    Ln,
    Log,
    Log2,
    Log10,
    Sin,
    Cos,
    Tan,
    Cot,
    Asin,
    Acos,
    Atan,
    Pi,
    Degrees,
    Radians,
    Rand,
    Sign,
    Greatest,
    Least,
    Crc32,
    Conv,
    BitCount,
    NullIf,
    Coalesce,
    Now,
    SysDate,
    CurDate,
    CurTime,
    UtcTimestamp,
    UtcDate,
    UtcTime,
    Date,
    Time,
    DayOfWeek,
    Weekday,
    DayOfYear,
    Week,
    WeekOfYear,
    YearWeek,
    MonthName,
    DayName,
    LastDay,
    DateDiff,
    TimeDiff,
    ToDays,
    FromDays,
    ToSeconds,
    UnixTimestamp,
    FromUnixTime,
    DateFormat,
    TimeFormat,
    StrToDate,
    Timestamp,
    MakeDate,
    MakeTime,
    SecToTime,
    TimeToSec,
    AddTime,
    SubTime,
    ConvertTz,
    Database,
    User,
    CurrentUser,
    Version,
    ConnectionId,
    LastInsertId,
    RowCount,
    FoundRows,
    Uuid,
    Sleep,
    Benchmark,
    GetLock,
    ReleaseLock,
    ReleaseAllLocks,
    IsFreeLock,
    IsUsedLock,
    ToLatin1,
    Latin1Bytes,
    FromLatin1,
    UuidShort,
    IsUuid,
    UuidToBin,
    BinToUuid,
    Compress,
    Uncompress,
    UncompressedLength,
    Interval,
    GetFormat,
    Soundex,
    PeriodAdd,
    PeriodDiff,
    InetAton,
    InetNtoa,
    Inet6Aton,
    Inet6Ntoa,
    IsIpv4,
    IsIpv6,
    MakeSet,
    ExportSet,
    RandomBytes,
    RegexpLike,
    RegexpInstr,
    RegexpSubstr,
    RegexpReplace,
}

/// Any number of arguments.
const ANY: usize = usize::MAX;

/// Name, function, least and greatest number of arguments. The first name of a function is the one it prints under.
#[rustfmt::skip]
static CATALOGUE: &[(&str, Func, usize, usize)] = &[
    ("CONCAT", Func::Concat, 1, ANY),
    ("CONCAT_WS", Func::ConcatWs, 2, ANY),
    ("SUBSTRING", Func::Substring, 2, 3),
    ("SUBSTR", Func::Substring, 2, 3),
    ("MID", Func::Substring, 2, 3),
    ("LEFT", Func::Left, 2, 2),
    ("RIGHT", Func::Right, 2, 2),
    ("LENGTH", Func::Length, 1, 1),
    ("OCTET_LENGTH", Func::Length, 1, 1),
    ("BIT_LENGTH", Func::BitLength, 1, 1),
    ("CHAR_LENGTH", Func::CharLength, 1, 1),
    ("CHARACTER_LENGTH", Func::CharLength, 1, 1),
    ("UPPER", Func::Upper, 1, 1),
    ("UCASE", Func::Upper, 1, 1),
    ("LOWER", Func::Lower, 1, 1),
    ("LCASE", Func::Lower, 1, 1),
    ("TRIM", Func::Trim, 1, 2),
    ("LTRIM", Func::LTrim, 1, 2),
    ("RTRIM", Func::RTrim, 1, 2),
    ("REPLACE", Func::Replace, 3, 3),
    ("LPAD", Func::LPad, 3, 3),
    ("RPAD", Func::RPad, 3, 3),
    ("INSTR", Func::Instr, 2, 2),
    ("LOCATE", Func::Locate, 2, 3),
    ("POSITION", Func::Locate, 2, 3),
    ("REPEAT", Func::Repeat, 2, 2),
    ("REVERSE", Func::Reverse, 1, 1),
    ("HEX", Func::Hex, 1, 1),
    ("UNHEX", Func::Unhex, 1, 1),
    ("MD5", Func::Md5, 1, 1),
    ("SHA1", Func::Sha1, 1, 1),
    ("SHA", Func::Sha1, 1, 1),
    ("SHA2", Func::Sha2, 2, 2),
    ("FIELD", Func::Field, 2, ANY),
    ("ELT", Func::Elt, 2, ANY),
    ("FIND_IN_SET", Func::FindInSet, 2, 2),
    ("SPACE", Func::Space, 1, 1),
    ("ASCII", Func::Ascii, 1, 1),
    ("ORD", Func::Ord, 1, 1),
    ("CHAR", Func::Char, 1, ANY),
    ("FORMAT", Func::Format, 2, 3),
    ("QUOTE", Func::Quote, 1, 1),
    ("STRCMP", Func::Strcmp, 2, 2),
    ("SUBSTRING_INDEX", Func::SubstringIndex, 3, 3),
    ("INSERT", Func::Insert, 4, 4),
    ("BIN", Func::Bin, 1, 1),
    ("OCT", Func::Oct, 1, 1),
    ("TO_BASE64", Func::ToBase64, 1, 1),
    ("FROM_BASE64", Func::FromBase64, 1, 1),
    ("CHARSET", Func::Charset, 1, 1),
    ("COLLATION", Func::CollationOf, 1, 1),
    ("ABS", Func::Abs, 1, 1),
    ("CEIL", Func::Ceil, 1, 1),
    ("CEILING", Func::Ceil, 1, 1),
    ("FLOOR", Func::Floor, 1, 1),
    ("ROUND", Func::Round, 1, 2),
    ("TRUNCATE", Func::Truncate, 2, 2),
    ("POW", Func::Pow, 2, 2),
    ("POWER", Func::Pow, 2, 2),
    ("SQRT", Func::Sqrt, 1, 1),
    ("EXP", Func::Exp, 1, 1),
    ("LN", Func::Ln, 1, 1),
    ("LOG", Func::Log, 1, 2),
    ("LOG2", Func::Log2, 1, 1),
    ("LOG10", Func::Log10, 1, 1),
    ("SIN", Func::Sin, 1, 1),
    ("COS", Func::Cos, 1, 1),
    ("TAN", Func::Tan, 1, 1),
    ("COT", Func::Cot, 1, 1),
    ("ASIN", Func::Asin, 1, 1),
    ("ACOS", Func::Acos, 1, 1),
    ("ATAN", Func::Atan, 1, 2),
    ("ATAN2", Func::Atan, 1, 2),
    ("PI", Func::Pi, 0, 0),
    ("DEGREES", Func::Degrees, 1, 1),
    ("RADIANS", Func::Radians, 1, 1),
    ("RAND", Func::Rand, 0, 1),
    ("SIGN", Func::Sign, 1, 1),
    ("GREATEST", Func::Greatest, 2, ANY),
    ("LEAST", Func::Least, 2, ANY),
    ("CRC32", Func::Crc32, 1, 1),
    ("CONV", Func::Conv, 3, 3),
    ("BIT_COUNT", Func::BitCount, 1, 1),
    ("NULLIF", Func::NullIf, 2, 2),
    ("COALESCE", Func::Coalesce, 1, ANY),
    ("IFNULL", Func::Coalesce, 2, 2),
    ("NVL", Func::Coalesce, 2, 2),
    ("NOW", Func::Now, 0, 1),
    ("CURRENT_TIMESTAMP", Func::Now, 0, 1),
    ("LOCALTIME", Func::Now, 0, 1),
    ("LOCALTIMESTAMP", Func::Now, 0, 1),
    ("SYSDATE", Func::SysDate, 0, 1),
    ("CURDATE", Func::CurDate, 0, 0),
    ("CURRENT_DATE", Func::CurDate, 0, 0),
    ("CURTIME", Func::CurTime, 0, 1),
    ("CURRENT_TIME", Func::CurTime, 0, 1),
    ("UTC_TIMESTAMP", Func::UtcTimestamp, 0, 1),
    ("UTC_DATE", Func::UtcDate, 0, 0),
    ("UTC_TIME", Func::UtcTime, 0, 1),
    ("DATE", Func::Date, 1, 1),
    ("TIME", Func::Time, 1, 1),
    ("DAYOFWEEK", Func::DayOfWeek, 1, 1),
    ("WEEKDAY", Func::Weekday, 1, 1),
    ("DAYOFYEAR", Func::DayOfYear, 1, 1),
    ("WEEK", Func::Week, 1, 2),
    ("WEEKOFYEAR", Func::WeekOfYear, 1, 1),
    ("YEARWEEK", Func::YearWeek, 1, 2),
    ("MONTHNAME", Func::MonthName, 1, 1),
    ("DAYNAME", Func::DayName, 1, 1),
    ("LAST_DAY", Func::LastDay, 1, 1),
    ("DATEDIFF", Func::DateDiff, 2, 2),
    ("TIMEDIFF", Func::TimeDiff, 2, 2),
    ("TO_DAYS", Func::ToDays, 1, 1),
    ("FROM_DAYS", Func::FromDays, 1, 1),
    ("TO_SECONDS", Func::ToSeconds, 1, 1),
    ("UNIX_TIMESTAMP", Func::UnixTimestamp, 0, 1),
    ("FROM_UNIXTIME", Func::FromUnixTime, 1, 2),
    ("DATE_FORMAT", Func::DateFormat, 2, 2),
    ("TIME_FORMAT", Func::TimeFormat, 2, 2),
    ("STR_TO_DATE", Func::StrToDate, 2, 2),
    ("TIMESTAMP", Func::Timestamp, 1, 2),
    ("MAKEDATE", Func::MakeDate, 2, 2),
    ("MAKETIME", Func::MakeTime, 3, 3),
    ("SEC_TO_TIME", Func::SecToTime, 1, 1),
    ("TIME_TO_SEC", Func::TimeToSec, 1, 1),
    ("ADDTIME", Func::AddTime, 2, 2),
    ("SUBTIME", Func::SubTime, 2, 2),
    ("CONVERT_TZ", Func::ConvertTz, 3, 3),
    ("DATABASE", Func::Database, 0, 0),
    ("SCHEMA", Func::Database, 0, 0),
    ("USER", Func::User, 0, 0),
    ("SESSION_USER", Func::User, 0, 0),
    ("SYSTEM_USER", Func::User, 0, 0),
    ("CURRENT_USER", Func::CurrentUser, 0, 0),
    ("VERSION", Func::Version, 0, 0),
    ("CONNECTION_ID", Func::ConnectionId, 0, 0),
    ("LAST_INSERT_ID", Func::LastInsertId, 0, 1),
    ("ROW_COUNT", Func::RowCount, 0, 0),
    ("FOUND_ROWS", Func::FoundRows, 0, 0),
    ("UUID", Func::Uuid, 0, 0),
    ("SLEEP", Func::Sleep, 1, 1),
    ("BENCHMARK", Func::Benchmark, 2, 2),
    ("GET_LOCK", Func::GetLock, 2, 2),
    ("RELEASE_LOCK", Func::ReleaseLock, 1, 1),
    ("RELEASE_ALL_LOCKS", Func::ReleaseAllLocks, 0, 0),
    ("IS_FREE_LOCK", Func::IsFreeLock, 1, 1),
    ("IS_USED_LOCK", Func::IsUsedLock, 1, 1),
    // What CONVERT(x USING latin1) becomes; no call has these names.
    ("CONVERT USING latin1", Func::ToLatin1, 1, 1),
    ("CONVERT USING latin1, BINARY", Func::Latin1Bytes, 1, 1),
    ("CONVERT BINARY USING latin1", Func::FromLatin1, 1, 1),
    ("UUID_SHORT", Func::UuidShort, 0, 0),
    ("IS_UUID", Func::IsUuid, 1, 1),
    ("UUID_TO_BIN", Func::UuidToBin, 1, 2),
    ("BIN_TO_UUID", Func::BinToUuid, 1, 2),
    ("COMPRESS", Func::Compress, 1, 1),
    ("UNCOMPRESS", Func::Uncompress, 1, 1),
    ("UNCOMPRESSED_LENGTH", Func::UncompressedLength, 1, 1),
    ("INTERVAL", Func::Interval, 2, ANY),
    ("GET_FORMAT", Func::GetFormat, 2, 2),
    ("SOUNDEX", Func::Soundex, 1, 1),
    ("PERIOD_ADD", Func::PeriodAdd, 2, 2),
    ("PERIOD_DIFF", Func::PeriodDiff, 2, 2),
    ("INET_ATON", Func::InetAton, 1, 1),
    ("INET_NTOA", Func::InetNtoa, 1, 1),
    ("INET6_ATON", Func::Inet6Aton, 1, 1),
    ("INET6_NTOA", Func::Inet6Ntoa, 1, 1),
    ("IS_IPV4", Func::IsIpv4, 1, 1),
    ("IS_IPV6", Func::IsIpv6, 1, 1),
    ("MAKE_SET", Func::MakeSet, 2, ANY),
    ("EXPORT_SET", Func::ExportSet, 3, 5),
    ("RANDOM_BYTES", Func::RandomBytes, 1, 1),
    ("REGEXP_LIKE", Func::RegexpLike, 2, 3),
    ("REGEXP_INSTR", Func::RegexpInstr, 2, 6),
    ("REGEXP_SUBSTR", Func::RegexpSubstr, 2, 5),
    ("REGEXP_REPLACE", Func::RegexpReplace, 3, 6),
];

/// The function of a name and number of arguments: `None` if there is no such name, error 1582 if the number is wrong.
pub(super) fn find(name: &str, count: usize) -> SqlResult<Option<Func>> {
    let mut found = CATALOGUE
        .iter()
        .filter(|(n, ..)| n.eq_ignore_ascii_case(name))
        .peekable();
    if found.peek().is_none() {
        return Ok(None);
    }
    match found.find(|(_, _, least, most)| (*least..=*most).contains(&count)) {
        Some((_, f, ..)) => Ok(Some(*f)),
        None => Err(wrong_arity(name)),
    }
}

/// Whether MySQL has a function of this upper-case name and there is none here.
pub(super) fn is_missing(name: &str) -> bool {
    const FAMILIES: [&str; 4] = ["JSON_", "ST_", "MBR", "GTID_"];
    const NAMES: [&str; 19] = [
        "AES_DECRYPT",
        "AES_ENCRYPT",
        "EXTRACTVALUE",
        "FORMAT_BYTES",
        "FORMAT_PICO_TIME",
        "GROUPING",
        "LOAD_FILE",
        "MASTER_POS_WAIT",
        "PS_CURRENT_THREAD_ID",
        "PS_THREAD_ID",
        "ROLES_GRAPHML",
        "SOURCE_POS_WAIT",
        "STATEMENT_DIGEST",
        "STATEMENT_DIGEST_TEXT",
        "UPDATEXML",
        "VALIDATE_PASSWORD_STRENGTH",
        "WAIT_FOR_EXECUTED_GTID_SET",
        "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS",
        "WEIGHT_STRING",
    ];
    NAMES.contains(&name) || FAMILIES.iter().any(|f| name.starts_with(f))
}

/// Error 1582.
pub(super) fn wrong_arity(name: &str) -> SqlError {
    SqlError::new(
        1582,
        format!("Incorrect parameter count in the call to native function '{name}'"),
    )
}

impl Func {
    /// The name it prints under.
    pub fn name(self) -> &'static str {
        CATALOGUE
            .iter()
            .find(|(_, f, ..)| *f == self)
            .map_or("", |(n, ..)| n)
    }
    /// Whether two calls in one statement may differ.
    pub fn is_volatile(self) -> bool {
        use Func::*;
        matches!(
            self,
            Rand | Uuid
                | UuidShort
                | SysDate
                | LastInsertId
                | Sleep
                | Benchmark
                | GetLock
                | ReleaseLock
                | ReleaseAllLocks
                | IsFreeLock
                | IsUsedLock
                | RandomBytes
        )
    }
    /// Whether its result is about the bytes of its arguments rather than about the text they mean.
    pub(super) fn reads_bytes(self) -> bool {
        use Func::*;
        matches!(
            self,
            Length
                | BitLength
                | Hex
                | Md5
                | Sha1
                | Sha2
                | Crc32
                | ToBase64
                | Ascii
                | Ord
                | Compress
        )
    }
    /// Whether its arguments are all numbers, whatever they are given as.
    pub(super) fn takes_numbers(self) -> bool {
        use Func::*;
        matches!(
            self,
            Abs | Ceil
                | Floor
                | Round
                | Truncate
                | Pow
                | Sqrt
                | Exp
                | Ln
                | Log
                | Log2
                | Log10
                | Sin
                | Cos
                | Tan
                | Cot
                | Asin
                | Acos
                | Atan
                | Degrees
                | Radians
                | Rand
                | Sign
                | BitCount
        )
    }
    /// Whether the result follows from the arguments alone, whoever asks and when.
    pub(super) fn is_pure(self) -> bool {
        use Func::*;
        !self.is_volatile()
            && !matches!(
                self,
                Now | CurDate
                    | CurTime
                    | UtcTimestamp
                    | UtcDate
                    | UtcTime
                    | UnixTimestamp
                    | FromUnixTime
                    | Timestamp
                    | Database
                    | User
                    | CurrentUser
                    | Version
                    | ConnectionId
                    | RowCount
                    | FoundRows
                    | ConvertTz
                    // `lc_time_names` decides.
                    | MonthName
                    | DayName
                    | DateFormat
                    | TimeFormat
            )
    }
}

/// Type of a call, and whether it can be NULL though no argument is.
pub(super) fn result_type(f: Func, args: &[Expr], collation: Collation) -> (SqlType, bool) {
    use Func::*;
    let int = |length: u32| SqlType {
        length,
        ..SqlType::bigint()
    };
    let text = |length: u32| {
        SqlType::varchar(
            length,
            args.iter()
                .map(|a| &a.ty)
                .find(|t| t.is_string())
                .map_or(collation, |_| joint(args, collation)),
        )
    };
    let plain = |length: u32| SqlType::varchar(length, collation);
    let len = |i: usize| args.get(i).map_or(0, |a| text_length(&a.ty));
    let sum = || {
        args.iter()
            .fold(0u32, |n, a| n.saturating_add(text_length(&a.ty)))
    };
    let fsp = |i: usize| {
        args.get(i)
            .and_then(Expr::as_constant)
            .map_or(0, |v| v.to_i64().clamp(0, 6) as u8)
    };
    match f {
        Concat => (text(sum()), may_be_long(sum())),
        ConcatWs => {
            let length = sum().saturating_add(len(0).saturating_mul(args.len() as u32));
            (text(length), may_be_long(length))
        }
        Substring | Left | Right | Upper | Lower | Trim | LTrim | RTrim | Reverse
        | SubstringIndex => (SqlType::varchar(len(0), own(args, 0, collation)), false),
        Replace | RegexpReplace => {
            let length = len(0).saturating_mul(len(2).max(1));
            (text(length), may_be_long(length))
        }
        LPad | RPad | Repeat => (text(sized(args.get(1), len(0))), true),
        Insert => {
            let length = len(0).saturating_add(len(3));
            (text(length), may_be_long(length))
        }
        Space => (plain(sized(args.first(), 0)), true),
        Hex => {
            let length = len(0).saturating_mul(8);
            (plain(length), may_be_long(length))
        }
        Unhex | FromBase64 => (SqlType::varchar(len(0), Collation::Binary), true),
        ToBase64 => {
            let length = len(0).saturating_mul(6);
            (plain(length), may_be_long(length))
        }
        Md5 => (plain(32), false),
        Sha1 => (plain(40), false),
        Sha2 => (plain(128), true),
        Elt => (
            SqlType::varchar(
                args[1..]
                    .iter()
                    .map(|a| text_length(&a.ty))
                    .max()
                    .unwrap_or(0),
                joint(&args[1..], collation),
            ),
            true,
        ),
        Char => (
            SqlType::varchar(args.len() as u32 * 4, Collation::Binary),
            false,
        ),
        Format => (plain(len(0).saturating_mul(2) + 32), false),
        Quote => {
            let length = len(0).saturating_mul(2).saturating_add(2);
            (text(length), may_be_long(length))
        }
        Bin | Oct | Conv => (plain(64), true),
        Charset | CollationOf => (plain(64), false),
        Length | BitLength | CharLength | Instr | Locate | Field | FindInSet | Ascii | Ord
        | Strcmp | BitCount => (int(10), false),
        Abs => (
            match args[0].ty.base {
                BaseType::Decimal | BaseType::Double => args[0].ty.clone(),
                _ if args[0].ty.is_integer() => SqlType {
                    unsigned: args[0].ty.unsigned,
                    ..SqlType::bigint()
                },
                BaseType::Null => SqlType::bigint(),
                _ => SqlType::double(),
            },
            false,
        ),
        Ceil | Floor => (
            match args[0].ty.base {
                BaseType::Decimal if args[0].ty.integer_digits() < 18 => SqlType::bigint(),
                BaseType::Decimal => SqlType::decimal(args[0].ty.integer_digits() + 1, 0),
                _ if args[0].ty.is_integer() => SqlType {
                    unsigned: args[0].ty.unsigned,
                    ..SqlType::bigint()
                },
                BaseType::Null => SqlType::bigint(),
                _ => SqlType::double(),
            },
            false,
        ),
        Round | Truncate => (numeric::round_type(args), false),
        Pow | Exp | Sin | Cos | Tan | Atan | Degrees | Radians | Rand => (SqlType::double(), false),
        Pi => (
            SqlType {
                length: 8,
                decimals: 6,
                ..SqlType::double()
            },
            false,
        ),
        Sqrt | Ln | Log | Log2 | Log10 | Cot | Asin | Acos => (SqlType::double(), true),
        Sign => (int(2), false),
        Greatest | Least | Coalesce => {
            let mut ty = args.iter().fold(SqlType::null(), |t, a| common(&t, &a.ty));
            if ty.is_string() {
                ty.collation = joint(args, ty.collation);
            }
            (ty, false)
        }
        Crc32 => (
            SqlType {
                length: 10,
                ..SqlType::ubigint()
            },
            false,
        ),
        NullIf => (args[0].ty.clone(), true),
        Now | SysDate | UtcTimestamp => (SqlType::datetime(fsp(0)), false),
        CurDate | UtcDate => (SqlType::new(BaseType::Date), false),
        CurTime | UtcTime => (SqlType::temporal(BaseType::Time, fsp(0)), false),
        Date | LastDay | FromDays | MakeDate => (SqlType::new(BaseType::Date), true),
        Time | TimeDiff => (
            SqlType::temporal(
                BaseType::Time,
                args.iter().map(temporal_fsp).max().unwrap_or(0),
            ),
            true,
        ),
        MakeTime | SecToTime => (
            SqlType::temporal(BaseType::Time, args.last().map_or(0, temporal_fsp)),
            true,
        ),
        Timestamp => (
            SqlType::datetime(args.iter().map(temporal_fsp).max().unwrap_or(0)),
            true,
        ),
        AddTime | SubTime => {
            let fsp = args.iter().map(temporal_fsp).max().unwrap_or(0);
            let base = match args[0].ty.base {
                BaseType::Time => BaseType::Time,
                BaseType::Date | BaseType::DateTime | BaseType::Timestamp => BaseType::DateTime,
                _ => return (plain(29), true),
            };
            (SqlType::temporal(base, fsp), true)
        }
        ConvertTz => (SqlType::datetime(temporal_fsp(&args[0])), true),
        DayOfWeek | Weekday | DayOfYear | Week | WeekOfYear | YearWeek | DateDiff | ToDays
        | TimeToSec => (int(10), true),
        ToSeconds => (int(20), true),
        MonthName | DayName => (plain(16), true),
        UnixTimestamp => match args.first().map_or(0, temporal_fsp) {
            0 => (SqlType::bigint(), false),
            n => (SqlType::decimal(11 + n as u32, n), false),
        },
        FromUnixTime if args.len() == 2 => (plain(64), true),
        FromUnixTime => (
            SqlType::datetime(match args[0].ty.base {
                BaseType::Decimal => args[0].ty.decimals.min(6),
                _ if args[0].ty.is_integer() => 0,
                _ => 6,
            }),
            true,
        ),
        DateFormat | TimeFormat => (plain(len(1).saturating_mul(10).max(64)), true),
        StrToDate => (temporal::str_to_date_type(args), true),
        Database => (plain(64), true),
        User | CurrentUser => (plain(288), false),
        Version => (plain(60), false),
        ConnectionId | LastInsertId | FoundRows => (SqlType::ubigint(), false),
        RowCount => (SqlType::bigint(), false),
        Uuid => (plain(36), false),
        Sleep => (SqlType::bigint(), false),
        Benchmark | GetLock | ReleaseLock | IsFreeLock => (SqlType::bigint(), true),
        IsUsedLock => (SqlType::ubigint(), true),
        ReleaseAllLocks => (SqlType::ubigint(), false),
        ToLatin1 | FromLatin1 => (SqlType::varchar(len(0), Collation::Utf8mb4GeneralCi), false),
        Latin1Bytes => (SqlType::varchar(len(0), Collation::Binary), false),
        UuidShort => (SqlType::ubigint(), false),
        IsUuid => (int(1), false),
        UuidToBin => (SqlType::varchar(16, Collation::Binary), false),
        BinToUuid => (plain(36), false),
        Compress => (
            SqlType::varchar(
                len(0).saturating_mul(5).saturating_add(120),
                Collation::Binary,
            ),
            false,
        ),
        Uncompress => (SqlType::new(BaseType::LongBlob), true),
        UncompressedLength => (int(10), true),
        Interval => (int(2), false),
        GetFormat => (plain(17), true),
        Soundex => (plain(len(0).max(4)), false),
        PeriodAdd | PeriodDiff => (int(6), false),
        InetAton => (SqlType::ubigint(), true),
        InetNtoa => (plain(15), true),
        Inet6Aton => (SqlType::varchar(16, Collation::Binary), true),
        Inet6Ntoa => (plain(39), true),
        IsIpv4 | IsIpv6 | RegexpLike => (int(1), false),
        MakeSet => (text(sum().saturating_add(args.len() as u32)), true),
        ExportSet => {
            let each = len(1).max(len(2)).saturating_add(len(3).max(1));
            let length = each.saturating_mul(64);
            (text(length), may_be_long(length))
        }
        RandomBytes => (SqlType::varchar(1024, Collation::Binary), false),
        RegexpInstr => (int(10), false),
        RegexpSubstr => (SqlType::varchar(len(0), own(args, 0, collation)), true),
    }
}

/// Whether a text of so many characters may be too long to be made, and so NULL.
fn may_be_long(chars: u32) -> bool {
    chars as usize > MAX_RESULT / 4
}

/// Fractional digits of an argument as a time; of a text, those it has if it is constant, else as many as there can be.
fn temporal_fsp(e: &Expr) -> u8 {
    let t = &e.ty;
    if let Some(Value::Bytes(b)) = e.as_constant() {
        let point = b.iter().rposition(|c| *c == b'.');
        return point.map_or(0, |i| (b.len() - i - 1).min(6) as u8);
    }
    match t.base {
        BaseType::Double | BaseType::Float => 6,
        _ if t.is_string() => 6,
        _ => t.decimals.min(6),
    }
}

/// Length of a text whose number of characters argument `count` gives, if that is constant.
fn sized(count: Option<&Expr>, least: u32) -> u32 {
    match count.and_then(Expr::as_constant) {
        Some(v) => (v.to_i64().clamp(0, 1 << 30) as u32).saturating_mul(least.max(1)),
        None => 1 << 20,
    }
}

/// The collation that string arguments have in common.
pub(super) fn joint(args: &[Expr], otherwise: Collation) -> Collation {
    let mut own = args.iter().filter(|a| a.ty.is_string());
    match own.next() {
        None => otherwise,
        // What most are, row for row.
        Some(first) if own.all(|a| a.ty.collation == first.ty.collation) => first.ty.collation,
        Some(_) => collation_of(&args.iter().collect::<Vec<_>>()).unwrap_or(otherwise),
    }
}

fn own(args: &[Expr], i: usize, otherwise: Collation) -> Collation {
    if args[i].ty.is_string() {
        args[i].ty.collation
    } else {
        otherwise
    }
}

/// Why a function gives no value.
enum Exit {
    /// The result is NULL.
    Null,
    Error(SqlError),
}

impl From<SqlError> for Exit {
    fn from(e: SqlError) -> Exit {
        Exit::Error(e)
    }
}

type Computed<'a> = Result<Value<'a>, Exit>;

/// A call being computed: arguments evaluated on demand, NULL ending it.
struct Call<'c, 'a> {
    expr: &'a Expr,
    args: &'a [Expr],
    cx: &'c EvalContext<'a>,
}

impl<'a> Call<'_, 'a> {
    fn len(&self) -> usize {
        self.args.len()
    }
    /// An argument that is not NULL.
    fn value(&self, i: usize) -> Result<Value<'a>, Exit> {
        match self.args[i].eval(self.cx)? {
            Value::Null => Err(Exit::Null),
            v => Ok(v),
        }
    }
    /// The same as a number.
    fn number(&self, i: usize) -> Result<Value<'a>, Exit> {
        Ok(number(self.value(i)?, self.cx)?)
    }
    fn text(&self, i: usize) -> Result<Cow<'a, [u8]>, Exit> {
        self.args[i].text(self.cx)?.ok_or(Exit::Null)
    }
    fn int(&self, i: usize) -> Result<i64, Exit> {
        let v = self.value(i)?;
        if let Value::Bytes(b) = &v
            && exact_integer(b).is_none()
        {
            truncated(self.cx.session, "INTEGER", &v)?;
        }
        Ok(v.to_i64())
    }
    fn double(&self, i: usize) -> Result<f64, Exit> {
        Ok(self.number(i)?.to_f64())
    }
    fn decimal(&self, i: usize) -> Result<Decimal, Exit> {
        Ok(self.value(i)?.to_decimal())
    }
    /// A date and time; NULL with warning 1292 if the argument is none.
    fn datetime(&self, i: usize) -> Result<DateTime, Exit> {
        let v = self.value(i)?;
        let d = match &v {
            Value::Time(t) => {
                DateTime::from_days_micros(self.cx.session.local_now().date.days(), t.micros)
            }
            v => v.to_datetime(),
        };
        let Some(d) = d else {
            let m = format!(
                "Incorrect datetime value: '{}'",
                crate::value::printable(&v.to_text())
            );
            self.cx.session.complain(1292, m)?;
            return Err(Exit::Null);
        };
        Ok(d)
    }
    /// A date that the calendar has.
    fn date(&self, i: usize) -> Result<Date, Exit> {
        let d = self.datetime(i)?.date;
        if d.exists() { Ok(d) } else { Err(Exit::Null) }
    }
    fn time(&self, i: usize) -> Result<Time, Exit> {
        let v = self.value(i)?;
        let Some(t) = v.to_time() else {
            truncated(self.cx.session, "time", &v)?;
            return Err(Exit::Null);
        };
        Ok(t)
    }
    /// NULL with warning 1301 if a result of that many bytes is too long to be made.
    #[inline]
    fn room_for(&self, bytes: usize) -> Result<(), Exit> {
        if bytes <= MAX_RESULT {
            return Ok(());
        }
        self.room_beyond(bytes)
    }
    #[cold]
    fn room_beyond(&self, bytes: usize) -> Result<(), Exit> {
        let most = max_result(self.cx.session);
        if bytes <= most {
            return Ok(());
        }
        let name = match &self.expr.kind {
            crate::expr::ExprKind::Function(f, _) => f.name().to_ascii_lowercase(),
            _ => String::new(),
        };
        let m =
            format!("Result of {name}() was larger than max_allowed_packet ({most}) - truncated");
        self.cx.session.complain(1301, m)?;
        Err(Exit::Null)
    }
    /// The collation that string arguments are compared under.
    fn collation(&self) -> Collation {
        joint(self.args, Collation::Utf8mb4GeneralCi)
    }
}

/// What a result may have whatever `max_allowed_packet` says: MySQL's default for that, in bytes.
const MAX_RESULT: usize = 64 << 20;

/// Longest text that a function makes: `max_allowed_packet` where it is set higher than by default.
#[cold]
pub(super) fn max_result(session: &SessionEnv) -> usize {
    let set = (session.sys_var)("", "max_allowed_packet");
    let set = set.map_or(0, |v| usize::try_from(v.to_u64()).unwrap_or(usize::MAX));
    set.max(MAX_RESULT)
}

/// Calls a function.
pub(super) fn call<'a>(
    expr: &'a Expr,
    f: Func,
    args: &'a [Expr],
    cx: &EvalContext<'a>,
) -> SqlResult<Value<'a>> {
    let c = Call { expr, args, cx };
    // Most functions that can make more than they are given ask before they make it; this is for the rest.
    let fitting = |v: Value<'a>| match &v {
        Value::Bytes(Cow::Owned(b)) => c.room_for(b.len()).map(|()| v),
        _ => Ok(v),
    };
    match dispatch(f, &c).and_then(fitting) {
        Ok(v) => Ok(v),
        Err(Exit::Null) => Ok(Value::Null),
        Err(Exit::Error(e)) => Err(e),
    }
}

fn dispatch<'a>(f: Func, c: &Call<'_, 'a>) -> Computed<'a> {
    use Func::*;
    match f {
        Abs | Ceil | Floor | Round | Truncate | Pow | Sqrt | Exp | Ln | Log | Log2 | Log10
        | Sin | Cos | Tan | Cot | Asin | Acos | Atan | Pi | Degrees | Radians | Rand | Sign
        | Greatest | Least | Crc32 | Conv | BitCount | Bin | Oct => numeric::call(f, c),
        Now | SysDate | CurDate | CurTime | UtcTimestamp | UtcDate | UtcTime | Date | Time
        | DayOfWeek | Weekday | DayOfYear | Week | WeekOfYear | YearWeek | MonthName | DayName
        | LastDay | DateDiff | TimeDiff | ToDays | FromDays | ToSeconds | UnixTimestamp
        | FromUnixTime | DateFormat | TimeFormat | StrToDate | Timestamp | MakeDate | MakeTime
        | SecToTime | TimeToSec | AddTime | SubTime | ConvertTz => temporal::call(f, c),
        Database | User | CurrentUser | Version | ConnectionId | LastInsertId | RowCount
        | FoundRows | Charset | CollationOf => info::call(f, c),
        Uuid | UuidShort | IsUuid | UuidToBin | BinToUuid => uuid::call(f, c),
        Compress | Uncompress | UncompressedLength => compress::call(f, c),
        GetFormat => temporal::get_format(c),
        Interval => numeric::interval(c),
        Soundex | PeriodAdd | PeriodDiff | InetAton | InetNtoa | Inet6Aton | Inet6Ntoa | IsIpv4
        | IsIpv6 | MakeSet | ExportSet | RandomBytes => net::call(f, c),
        RegexpLike | RegexpInstr | RegexpSubstr | RegexpReplace => regexp::call(f, c),
        Sleep | Benchmark | GetLock | ReleaseLock | ReleaseAllLocks | IsFreeLock | IsUsedLock => {
            wait::call(f, c)
        }
        NullIf => {
            let a = c.args[0].eval(c.cx)?;
            let b = c.args[1].eval(c.cx)?;
            match compare(&a, &b, c.collation(), c.cx)? {
                Some(o) if o.is_eq() => Ok(Value::Null),
                _ => Ok(a),
            }
        }
        Coalesce => {
            for a in c.args {
                let v = c.expr.conformed(a, c.cx)?;
                if !v.is_null() {
                    return Ok(v);
                }
            }
            Ok(Value::Null)
        }
        _ => string::call(f, c),
    }
}
