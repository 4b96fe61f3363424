//! MySQL error codes, SQLSTATEs and messages.

/// Result of an SQL operation.
pub type SqlResult<T> = Result<T, SqlError>;

/// An error as a client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// MySQL's error number.
    pub code: u16,
    /// SQLSTATE.
    pub state: SqlState,
    /// Message text, worded as MySQL words it.
    pub message: String,
    /// What SIGNAL said besides; nothing for other errors.
    pub items: ConditionItems,
}

/// Items of a condition that SIGNAL gave it, by their names in SQL (`TABLE_NAME`); `None` if it gave none.
pub type ConditionItems = Option<Box<Vec<(&'static str, String)>>>;

/// A SQLSTATE: five characters, digits and upper-case letters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// `HY000`: no state in particular.
    pub const GENERAL: SqlState = SqlState(*b"HY000");
    /// Reads one; `None` if it isn't one.
    pub fn parse(text: &str) -> Option<SqlState> {
        let bytes: [u8; 5] = text.as_bytes().try_into().ok()?;
        let fits = |b: &u8| b.is_ascii_digit() || b.is_ascii_uppercase();
        bytes.iter().all(fits).then_some(SqlState(bytes))
    }
    /// Its characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("HY000")
    }
    /// Its bytes.
    pub fn bytes(self) -> [u8; 5] {
        self.0
    }
    /// Its class: the first two characters.
    pub fn class(&self) -> &str {
        &self.as_str()[..2]
    }
}

impl std::fmt::Display for SqlState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::fmt::Debug for SqlState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self.as_str(), f)
    }
}

impl PartialEq<&str> for SqlState {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl SqlError {
    /// An error with the SQLSTATE that MySQL gives this code.
    pub fn new(code: u16, message: impl Into<String>) -> SqlError {
        SqlError {
            code,
            state: state_of(code),
            message: message.into(),
            items: None,
        }
    }
    /// 1235: something MySQL has and Millpond does not support yet.
    pub fn unsupported(what: impl std::fmt::Display) -> SqlError {
        SqlError::new(
            1235,
            format!("This version of Millpond doesn't yet support '{what}'"),
        )
    }
    /// 1064: syntax error.
    pub fn syntax(what: impl std::fmt::Display) -> SqlError {
        SqlError::new(
            1064,
            format!("You have an error in your SQL syntax; {what}"),
        )
    }
}

impl std::fmt::Display for SqlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code, self.state, self.message)
    }
}

impl std::error::Error for SqlError {}

/// SQLSTATE of a MySQL error number.
pub fn state_of(code: u16) -> SqlState {
    SqlState::parse(sqlstate(code)).unwrap_or(SqlState::GENERAL)
}

/// SQLSTATE of a MySQL error number; `HY000` where MySQL has no special one.
fn sqlstate(code: u16) -> &'static str {
    match code {
        1022 | 1048 | 1052 | 1062 | 1169 | 1216 | 1217 | 1451 | 1452 | 1557 | 1586 => "23000",
        1040 => "08004",
        1042 | 1043 | 1047 | 1053 | 1152..=1161 | 1184 => "08S01",
        1044 | 1049 if code == 1044 => "42000",
        1045 | 1698 => "28000",
        1046 => "3D000",
        1049 => "42000",
        1050 => "42S01",
        1051 | 1109 | 1146 => "42S02",
        1054 | 1247 => "42S22",
        1060 => "42S21",
        1061 | 1055..=1059 | 1063..=1075 | 1083 | 1084 | 1090 | 1091 => "42000",
        1101..=1105 if code == 1101 => "42000",
        1102
        | 1103
        | 1104
        | 1106
        | 1107
        | 1110
        | 1112
        | 1113
        | 1115
        | 1118
        | 1120
        | 1121
        | 1131..=1133 => "42000",
        1136 | 1222 => "21000",
        1138 => "22004",
        1139..=1149 => "42000",
        1162..=1167 | 1170 | 1171 | 1173 | 1177 | 1178 => "42000",
        1172 => "42000",
        1179 => "25000",
        1203 | 1226 => "42000",
        1205 => "HY000",
        1207 => "25000",
        1211 => "42000",
        1213 => "40001",
        1230..=1232 => "42000",
        1235 => "42000",
        1239 | 1248 | 1250 | 1252 | 1253 | 1280 | 1281 | 1286 => "42000",
        1241 => "21000",
        1242 => "21000",
        1264 => "22003",
        1265 => "01000",
        1292 => "22007",
        1300 => "HY000",
        1304
        | 1305
        | 1308..=1310
        | 1313
        | 1318..=1320
        | 1322..=1324
        | 1327
        | 1330..=1333
        | 1337
        | 1338
        | 1370
        | 1407
        | 1410
        | 1413
        | 1414
        | 1641 => "42000",
        1303 => "2F003",
        1312 | 1314 | 1335 | 1336 | 1415 => "0A000",
        1321 => "2F005",
        1325 | 1326 => "24000",
        1329 | 1643 => "02000",
        1339 => "20000",
        1642 => "01000",
        1645 => "0K000",
        1758 => "35000",
        3004 => "0Z002",
        1317 => "70100",
        1364 => "HY000",
        1365 => "22012",
        1366 => "HY000",
        1406 => "22001",
        1411 => "HY000",
        1425..=1427 | 1439 => "42000",
        1441 | 6527 => "22008",
        1568 => "25001",
        1845 | 1846 => "0A000",
        1690 => "22003",
        1792 => "25006",
        3119 | 3143 | 3148 | 3149 | 3152..=3154 | 3165 => "42000",
        3140 | 3141 | 3144 | 3146 | 3147 | 3150 | 3151 | 3157 | 3158 => "22032",
        1367 => "22007",
        1397 => "XAE04",
        1398 => "XAE05",
        1399 => "XAE07",
        1400 => "XAE09",
        1401 => "XAE03",
        1402 => "XA100",
        1440 => "XAE08",
        1613 => "XA106",
        1614 => "XA102",
        1416 | 3706 => "22003",
        3037 | 3558..=3564 => "22023",
        3516 => "22S01",
        3520 | 3618 | 3704 | 3705 | 3726 => "22S00",
        3548 => "SR001",
        3882 | 3902 => "SU001",
        3616 | 3731 => "22S02",
        3617 | 3732 => "22S03",
        3155 | 3669 => "22003",
        3156 => "22018",
        3667 | 3670 => "42000",
        3572 => "HY000",
        3665 | 3966 => "22035",
        3666 => "2203F",
        3967 => "22034",
        _ => "HY000",
    }
}

#[cfg(test)]
mod tests {
    use super::{SqlState, sqlstate};

    #[test]
    fn states_are_mysqls() {
        assert_eq!(sqlstate(1114), "HY000");
        assert_eq!((sqlstate(1426), sqlstate(1439)), ("42000", "42000"));
        assert_eq!(sqlstate(1441), "22008");
        for code in [1112, 1113, 1115] {
            assert_eq!(sqlstate(code), "42000");
        }
    }

    #[test]
    fn states_are_five_characters() {
        assert_eq!(SqlState::parse("45000").unwrap().class(), "45");
        for text in ["4500", "450000", "4500a", "45 00", ""] {
            assert_eq!(SqlState::parse(text), None);
        }
        for code in 0..5000 {
            assert!(SqlState::parse(sqlstate(code)).is_some(), "{code}");
        }
    }
}
