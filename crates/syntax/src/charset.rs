//! The names of MySQL's character sets, which make a word with an underscore before it an introducer.

/// Names of character sets, sorted.
const CHARSETS: [&str; 42] = [
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850",
    "cp852", "cp866", "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8",
    "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7",
    "macce", "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32",
    "utf8", "utf8mb3", "utf8mb4",
];

/// Whether this, with an underscore before it, introduces a literal of a character set.
pub(crate) fn is_introducer(name: &[u8]) -> bool {
    CHARSETS
        .iter()
        .any(|c| c.as_bytes().eq_ignore_ascii_case(name))
}
