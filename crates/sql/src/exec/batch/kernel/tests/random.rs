//! Random rows and expressions over them.

use crate::catalog::{Column, DefaultValue};
use crate::types::{BaseType, Collation, Schema, SqlType};
use crate::value::time::truncate_micros;
use crate::value::{Date, DateTime, Decimal, Time, Value, json};

/// Constants as a statement has them.
pub const CONSTANTS: [&str; 34] = [
    "0",
    "1",
    "-1",
    "2",
    "127",
    "9223372036854775807",
    "18446744073709551615",
    "1.5",
    "1.50",
    "-0.005",
    "1.00",
    "0.0005",
    "123456789012345678901234567890.5",
    "1e0",
    "-2.5e3",
    "1e300",
    "''",
    "'a'",
    "'A '",
    "'abc'",
    "'é'",
    "'1'",
    "'1.5x'",
    "'2024-01-31'",
    "'2024-01-31 10:00:00'",
    "DATE'2024-01-31'",
    "DATE'2023-12-01'",
    "TIMESTAMP'2024-01-31 00:00:00'",
    "TIMESTAMP'2024-01-31 12:30:00'",
    "TIME'10:11:12'",
    "NULL",
    "TRUE",
    "?",
    "x'61'",
];

/// One column of every type.
pub fn schema() -> Schema {
    use BaseType as B;
    use Collation as C;
    let unsigned = |b| SqlType {
        unsigned: true,
        ..SqlType::new(b)
    };
    let text = |collation| SqlType::varchar(20, collation);
    let columns = [
        ("ti", SqlType::new(B::TinyInt)),
        ("su", unsigned(B::SmallInt)),
        ("mi", SqlType::new(B::MediumInt)),
        ("i", SqlType::new(B::Int)),
        ("iu", unsigned(B::Int)),
        ("bi", SqlType::bigint()),
        ("bu", SqlType::ubigint()),
        ("d", SqlType::decimal(10, 2)),
        ("d3", SqlType::decimal(3, 3)),
        ("d0", SqlType::decimal(18, 0)),
        ("d4", SqlType::decimal(15, 4)),
        ("dw", SqlType::decimal(65, 30)),
        ("f", SqlType::double()),
        ("g", SqlType::new(B::Float)),
        (
            "ch",
            SqlType {
                length: 10,
                collation: C::Utf8mb4Bin,
                ..SqlType::new(B::Char)
            },
        ),
        ("s", text(C::Utf8mb4GeneralCi)),
        ("s9", text(C::Utf8mb40900AiCi)),
        ("sc", text(C::Utf8mb4UnicodeCi)),
        ("v", text(C::Binary)),
        ("t", SqlType::new(B::Text)),
        ("dt", SqlType::new(B::Date)),
        ("tm", SqlType::temporal(B::Time, 3)),
        ("dm", SqlType::datetime(6)),
        ("ts", SqlType::temporal(B::Timestamp, 2)),
        ("y", SqlType::new(B::Year)),
        (
            "e",
            SqlType::enumeration(
                vec!["b".into(), "a".into(), "1".into()],
                C::Utf8mb4GeneralCi,
            ),
        ),
        (
            "st",
            SqlType::set(vec!["b".into(), "a".into()], C::Utf8mb4GeneralCi),
        ),
        ("b", SqlType::bits(10)),
        ("j", SqlType::json()),
    ];
    let column = |(name, ty): (&str, SqlType)| Column {
        name: name.into(),
        ty,
        nullable: true,
        default: DefaultValue::None,
        auto_increment: false,
        on_update_now: false,
        explicit_collation: false,
        comment: String::new(),
        generated: None,
        visibility: Default::default(),
    };
    let columns = columns.into_iter().map(column).collect();
    Schema::new(columns, Vec::new(), C::Utf8mb4GeneralCi, String::new(), 0)
}

const NUMBERS: [&str; 14] = [
    "ti", "su", "mi", "i", "iu", "bi", "bu", "d", "d3", "d0", "d4", "dw", "f", "g",
];
const TEXTS: [&str; 6] = ["ch", "s", "s9", "sc", "v", "t"];
const DATES: [&str; 3] = ["dt", "dt", "dm"];
const REST: [&str; 6] = ["tm", "ts", "y", "e", "st", "b"];
const NUMBER_CONSTANTS: [&str; 12] = [
    "0", "1", "-1", "2", "3", "1.5", "1.00", "-0.005", "1e0", "2.5e0", "100", "?",
];
const TEXT_CONSTANTS: [&str; 9] = [
    "''", "'a'", "'A '", "'abc'", "'b'", "'é'", "'Ab c'", "NULL", "'1'",
];
const DATE_CONSTANTS: [&str; 5] = [
    "DATE'2024-01-31'",
    "DATE'2023-12-01'",
    "'2024-01-31'",
    "TIMESTAMP'2024-01-31 12:30:00'",
    "TIMESTAMP'2023-12-01 00:00:00'",
];
const PATTERNS: [&str; 20] = [
    "'a%'", "'%a'", "'%b%'", "'%a%b%'", "'a%c'", "'abc'", "''", "'%'", "'a_c'", "'_'", "'%é%'",
    "'%A%'", "'a\\\\%'", "'%%'", "'a%a'", "'% %'", "'aa'", "NULL", "'%e%'", "'ab%bc'",
];

/// A sequence that follows from a seed (Marsaglia's xorshift).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(2) | 1)
    }
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % n
    }
    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// A value of a column of this type, or NULL.
    pub fn value(&mut self, ty: &SqlType) -> Value<'static> {
        use BaseType as B;
        if self.below(9) == 0 {
            return Value::Null;
        }
        let small = self.below(7) as i64 - 3;
        let extreme = self.below(6);
        let signed = |bits: u32| match extreme {
            0 => i64::MIN >> (64 - bits),
            1 => i64::MAX >> (64 - bits),
            _ => small,
        };
        let unsigned = |bits: u32| match extreme {
            0 => u64::MAX >> (64 - bits),
            _ => small.unsigned_abs(),
        };
        match ty.base {
            B::TinyInt => Value::Int(signed(8)),
            B::SmallInt => Value::UInt(unsigned(16)),
            B::MediumInt => Value::Int(signed(24)),
            B::Int if ty.unsigned => Value::UInt(unsigned(32)),
            B::Int => Value::Int(signed(32)),
            B::BigInt if ty.unsigned => Value::UInt(unsigned(64)),
            B::Bit => Value::UInt(unsigned(ty.length)),
            B::BigInt => Value::Int(signed(64)),
            B::Decimal => {
                let most = Decimal::max(ty.length, ty.decimals);
                let half = i128::from(small) * 5;
                Value::Decimal(match extreme {
                    0 => most,
                    1 => most.negated(),
                    // Halves, and ones of the last digit.
                    2 => Decimal::from_i128(half, 0)
                        .min(most)
                        .max(most.negated())
                        .round(ty.decimals),
                    _ => Decimal::from_i128(half, 1)
                        .min(most)
                        .max(most.negated())
                        .round(ty.decimals),
                })
            }
            B::Float | B::Double => Value::Double(match extreme {
                0 => 1e30,
                1 => -1e30,
                2 => 0.1f32.into(),
                _ => small as f64 / 2.0,
            }),
            B::Date => Value::Date(self.date()),
            B::DateTime | B::Timestamp => {
                let micro = truncate_micros(500_000, ty.decimals) as u32;
                let date = match self.date() {
                    d if d.exists() && d.year > 1970 && d.year < 2030 => d,
                    _ if ty.base == B::Timestamp => Date::new(2024, 1, 31).unwrap_or_default(),
                    d => d,
                };
                Value::DateTime(DateTime {
                    date,
                    hour: if extreme > 2 { 12 } else { 0 },
                    minute: if extreme > 3 { 30 } else { 0 },
                    second: 0,
                    micro: if extreme > 4 { micro } else { 0 },
                    later: false,
                })
            }
            B::Time => Value::Time(Time {
                micros: small * 3_600_123_000,
            }),
            B::Year => Value::UInt(self.of(&[0, 1901, 2001, 2024, 2155])),
            B::Enum => Value::str(self.of(&["b", "a", "1"])),
            B::Set => Value::str(self.of(&["", "b", "a", "b,a"])),
            B::Json => {
                let text = self.of(&[
                    "1",
                    "1.0",
                    "\"a\"",
                    "[1, \"b\"]",
                    "{\"a\": 2}",
                    "null",
                    "true",
                ]);
                json::parse(text.as_bytes()).map_or(Value::Null, Value::Json)
            }
            _ => self.text(ty),
        }
    }

    fn date(&mut self) -> Date {
        let (year, month, day) = self.of(&[
            (2024, 1, 31),
            (2024, 1, 31),
            (2023, 12, 1),
            (2024, 2, 29),
            (1, 1, 1),
            (9999, 12, 31),
            (0, 0, 0),
            (2024, 0, 0),
        ]);
        Date { year, month, day }
    }

    fn text(&mut self, ty: &SqlType) -> Value<'static> {
        let mut s = String::new();
        for _ in 0..self.below(5) {
            s.push_str(self.of(&[
                "a", "A", "b", "c", " ", "é", "😀", "\t", "%", "_", "\\", "ab", "abc", "1", ".5",
                "e", "E", "\u{301}",
            ]));
        }
        if ty.base == BaseType::Char {
            s.truncate(s.trim_end_matches(' ').len());
        }
        Value::string(s)
    }

    pub fn operator(&mut self) -> &'static str {
        self.of(&["=", "<>", "<", "<=", ">", ">=", "<=>"])
    }

    fn column(&mut self, of: &[&str]) -> String {
        format!("{}.{}", self.of(&["a", "a", "b", "b", "c"]), self.of(of))
    }

    /// An expression of any type.
    pub fn any(&mut self, depth: usize) -> String {
        match self.below(8) {
            0..=3 => self.number(depth),
            4 => self.text_expression(depth),
            5 => self.date_expression(depth),
            6 => format!("({})", self.condition(depth)),
            _ => self.column(&REST),
        }
    }

    fn number(&mut self, depth: usize) -> String {
        if depth == 0 || self.below(5) == 0 {
            return match self.below(4) {
                0 => self.of(&NUMBER_CONSTANTS).into(),
                _ => self.column(&NUMBERS),
            };
        }
        let d = depth - 1;
        match self.below(15) {
            0..=4 => {
                let op = self.of(&["+", "-", "*", "+", "-", "*", "/", "DIV", "%"]);
                format!("({} {op} {})", self.number(d), self.number(d))
            }
            5 => format!("(-{})", self.number(d)),
            6 => format!(
                "CASE WHEN {} THEN {} WHEN {} THEN {} ELSE {} END",
                self.condition(d),
                self.number(d),
                self.condition(d),
                self.number(d),
                self.number(d)
            ),
            7 => format!(
                "CASE WHEN {} THEN {} END",
                self.condition(d),
                self.number(d)
            ),
            8 => format!("IF({}, {}, 0)", self.condition(d), self.number(d)),
            9 => {
                let unit = self.of(&[
                    "YEAR",
                    "QUARTER",
                    "MONTH",
                    "DAY",
                    "YEAR_MONTH",
                    "HOUR",
                    "WEEK",
                ]);
                format!("EXTRACT({unit} FROM {})", self.date_expression(d))
            }
            10 => format!("YEAR({})", self.date_expression(d)),
            11 | 12 => {
                let ty = self.of(&[
                    "SIGNED",
                    "UNSIGNED",
                    "DECIMAL(10,2)",
                    "DOUBLE",
                    "DECIMAL(20,6)",
                ]);
                format!("CAST({} AS {ty})", self.number(d))
            }
            13 => format!("LENGTH({})", self.text_expression(d)),
            _ => format!("({})", self.condition(d)),
        }
    }

    fn text_expression(&mut self, depth: usize) -> String {
        if depth == 0 || self.below(3) == 0 {
            return match self.below(5) {
                0 => self.of(&TEXT_CONSTANTS).into(),
                _ => self.column(&TEXTS),
            };
        }
        let d = depth - 1;
        match self.below(8) {
            0..=2 => {
                let from = self.of(&["1", "2", "-2", "0", "5", "?"]);
                let len = self.of(&["", ", 1", ", 2", ", -1", ", 100"]);
                format!("SUBSTRING({}, {from}{len})", self.text_expression(d))
            }
            3 => format!("CONCAT({}, 'x')", self.text_expression(d)),
            4 => format!(
                "CASE WHEN {} THEN {} ELSE {} END",
                self.condition(d),
                self.text_expression(d),
                self.text_expression(d)
            ),
            5 => self.column(&["e", "st"]),
            6 => format!("CAST({} AS CHAR)", self.number(d)),
            _ => format!("CAST({} AS CHAR(2))", self.text_expression(d)),
        }
    }

    fn date_expression(&mut self, depth: usize) -> String {
        match self.below(8) {
            0 => self.of(&DATE_CONSTANTS).into(),
            1 if depth > 0 => format!(
                "DATE_ADD({}, INTERVAL 1 DAY)",
                self.date_expression(depth - 1)
            ),
            2 if depth > 0 => format!("CAST({} AS DATE)", self.date_expression(depth - 1)),
            3 if depth > 0 => format!(
                "IF({}, {}, {})",
                self.condition(depth - 1),
                self.date_expression(depth - 1),
                self.date_expression(depth - 1)
            ),
            _ => self.column(&DATES),
        }
    }

    fn alike(&mut self, depth: usize) -> Vec<String> {
        let which = self.below(8);
        (0..4)
            .map(|_| match which {
                0..=2 => self.number(depth),
                3 | 4 => self.text_expression(depth),
                5 | 6 => self.date_expression(depth),
                _ => self.any(depth),
            })
            .collect()
    }

    /// A predicate as a rule.
    pub fn condition(&mut self, depth: usize) -> String {
        let d = depth.saturating_sub(1);
        let kinds = if depth == 0 { 6 } else { 13 };
        let not = self.of(&["", "", "NOT "]);
        match self.below(kinds) {
            0 | 1 => {
                let all = self.alike(d);
                format!("{} {} {}", all[0], self.operator(), all[1])
            }
            2 => {
                let all = self.alike(d);
                let list: &[&str] = match self.below(6) {
                    0 => &NUMBER_CONSTANTS,
                    1 => &TEXT_CONSTANTS,
                    2 => &DATE_CONSTANTS,
                    _ => return format!("{} {not}BETWEEN {} AND {}", all[0], all[1], all[2]),
                };
                format!(
                    "{} {not}BETWEEN {} AND {}",
                    all[0],
                    self.of(list),
                    self.of(list)
                )
            }
            3 => {
                let (v, list) = match self.below(3) {
                    0 => (self.number(d), &NUMBER_CONSTANTS[..11]),
                    1 => (self.text_expression(d), &TEXT_CONSTANTS[..]),
                    _ => (self.date_expression(d), &DATE_CONSTANTS[..]),
                };
                let count = self.of(&[1, 3, 12]);
                let items: Vec<&str> = (0..count).map(|_| self.of(list)).collect();
                format!("{v} {not}IN ({})", items.join(", "))
            }
            4 => format!(
                "{} {not}LIKE {}",
                self.text_expression(d),
                self.of(&PATTERNS)
            ),
            5 => format!("{} IS {not}NULL", self.any(d)),
            6 | 7 => format!(
                "({} AND {} AND {})",
                self.condition(d),
                self.condition(d),
                self.condition(d)
            ),
            8 => format!("({} OR {})", self.condition(d), self.condition(d)),
            9 => format!("({} XOR {})", self.condition(d), self.condition(d)),
            10 => format!("(NOT {})", self.condition(d)),
            11 => {
                let asked = self.of(&["TRUE", "FALSE", "UNKNOWN"]);
                format!("({}) IS {not}{asked}", self.condition(d))
            }
            _ => self.any(d),
        }
    }
}
