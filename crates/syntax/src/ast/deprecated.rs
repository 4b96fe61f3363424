//! What a statement says in words that MySQL is to give up, of which whoever sends it is warned.

/// Something deprecated that a text uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deprecated {
    /// ZEROFILL.
    ZeroFill,
    /// The n of INT(n).
    DisplayWidth,
    /// FLOAT(m,d) and DOUBLE(m,d).
    FloatDigits,
    /// UNSIGNED of what is no integer.
    UnsignedFraction,
    /// YEAR(4).
    YearDigits,
    /// ASCII behind a type.
    Ascii,
    /// UNICODE behind a type.
    Unicode,
    /// BINARY behind a type.
    BinaryAttribute,
    /// NATIONAL CHAR, NCHAR, NVARCHAR and N'…'.
    National,
    /// The character set `utf8`, which is not the one of most bytes.
    Utf8,
    /// A character set that utf8mb4 takes the place of.
    Charset(&'static str),
    /// A collation of such a character set.
    Collation(Box<str>, &'static str),
    /// `&&`.
    DoubleAmpersand,
    /// `||` for OR.
    DoubleBar,
    /// `!`.
    Exclamation,
    /// BINARY before an operand.
    BinaryOperator,
    /// `:=` in an expression.
    UserVariable,
    /// SELECT SQL_CALC_FOUND_ROWS.
    CalcFoundRows,
    /// FOUND_ROWS().
    FoundRows,
    /// VALUES(column), but behind ON DUPLICATE KEY UPDATE.
    ValuesFunction,
}

impl Deprecated {
    /// What naming a character set uses.
    pub(crate) fn charset(name: &str) -> Option<Deprecated> {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        match name.len() {
            4 if is("utf8") => Some(Deprecated::Utf8),
            4 if is("ucs2") => Some(Deprecated::Charset("ucs2")),
            7 if is("utf8mb3") => Some(Deprecated::Charset("utf8mb3")),
            _ => None,
        }
    }
    /// What naming a collation uses.
    pub(crate) fn collation(name: &str) -> Option<Deprecated> {
        let name = name.to_ascii_lowercase();
        let (charset, rest) = name.split_once('_')?;
        match charset {
            "ucs2" => Some(Deprecated::Collation(name.into(), "ucs2")),
            "utf8" | "utf8mb3" => {
                let name = format!("utf8mb3_{rest}");
                Some(Deprecated::Collation(name.into(), "utf8mb3"))
            }
            _ => None,
        }
    }
    /// The number and text of the warning.
    pub fn warning(&self) -> (u16, String) {
        use Deprecated as D;
        let instead = |what: &str, other: &str| {
            let text = format!(
                "'{what}' is deprecated and will be removed in a future release. Please use {other} instead"
            );
            (1287, text)
        };
        let of_type = "CHARACTER SET charset_name";
        match self {
            D::ZeroFill => (
                1681,
                "The ZEROFILL attribute is deprecated and will be removed in a future release. Use the LPAD \
                 function to zero-pad numbers, or store the formatted numbers in a CHAR column."
                    .into(),
            ),
            D::DisplayWidth => gone("Integer display width is deprecated and"),
            D::FloatDigits => gone(
                "Specifying number of digits for floating point data types is deprecated and",
            ),
            D::UnsignedFraction => gone(
                "UNSIGNED for decimal and floating point data types is deprecated and support for it",
            ),
            D::ValuesFunction => gone("'VALUES function' is deprecated and"),
            D::YearDigits => instead("YEAR(4)", "YEAR"),
            D::Ascii => instead("ASCII", of_type),
            D::Unicode => instead("UNICODE", of_type),
            D::BinaryAttribute => instead(
                "BINARY as attribute of a type",
                "a CHARACTER SET clause with _bin collation",
            ),
            D::National => (
                3720,
                "NATIONAL/NCHAR/NVARCHAR implies the character set UTF8MB3, which will be replaced by UTF8MB4 in \
                 a future release. Please consider using CHAR(x) CHARACTER SET UTF8MB4 in order to be unambiguous."
                    .into(),
            ),
            D::Utf8 => (
                3719,
                "'utf8' is currently an alias for the character set UTF8MB3, but will be an alias for UTF8MB4 in a \
                 future release. Please consider using UTF8MB4 in order to be unambiguous."
                    .into(),
            ),
            D::Charset(name) => instead(name, "utf8mb4"),
            D::Collation(name, charset) => of_collation(name, charset),
            D::DoubleAmpersand => instead("&&", "AND"),
            D::DoubleBar => instead("|| as a synonym for OR", "OR"),
            D::Exclamation => instead("!", "NOT"),
            D::BinaryOperator => instead("BINARY expr", "CAST"),
            D::UserVariable => (
                1287,
                "Setting user variables within expressions is deprecated and will be removed in a future release. \
                 Consider alternatives: 'SET variable=expression, ...', or 'SELECT expression(s) INTO variables(s)'."
                    .into(),
            ),
            D::CalcFoundRows => (
                1287,
                "SQL_CALC_FOUND_ROWS is deprecated and will be removed in a future release. Consider using two \
                 separate queries instead."
                    .into(),
            ),
            D::FoundRows => (
                1287,
                "FOUND_ROWS() is deprecated and will be removed in a future release. Consider using COUNT(*) \
                 instead."
                    .into(),
            ),
        }
    }
}

fn gone(what: &str) -> (u16, String) {
    (1681, format!("{what} will be removed in a future release."))
}

fn of_collation(name: &str, charset: &str) -> (u16, String) {
    let (code, charset, other) = match charset {
        "utf8mb3" => (3778, "UTF8MB3", "UTF8MB4"),
        other => (4079, other, "utf8mb4"),
    };
    let text = format!(
        "'{name}' is a collation of the deprecated character set {charset}. Please consider using {other} with \
         an appropriate collation instead."
    );
    (code, text)
}
