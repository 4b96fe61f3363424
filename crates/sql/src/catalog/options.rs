//! Options of tables that change nothing here, and are shown as they were given: dumps and tools that compare definitions find them.

use std::fmt;

use super::bytes::{Reader, Writer, corrupt};
use crate::error::SqlResult;

/// An option that is kept, in the order in which SHOW CREATE TABLE has them. The numbers are those on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum KeptOption {
    MinRows = 1,
    MaxRows = 2,
    AvgRowLength = 3,
    PackKeys = 4,
    StatsPersistent = 5,
    StatsAutoRecalc = 6,
    StatsSamplePages = 7,
    Checksum = 8,
    DelayKeyWrite = 9,
    /// Its value is a position in [`ROW_FORMATS`].
    RowFormat = 10,
    KeyBlockSize = 11,
}

use KeptOption as K;

const OPTIONS: [(KeptOption, &str); 11] = [
    (K::MinRows, "MIN_ROWS"),
    (K::MaxRows, "MAX_ROWS"),
    (K::AvgRowLength, "AVG_ROW_LENGTH"),
    (K::PackKeys, "PACK_KEYS"),
    (K::StatsPersistent, "STATS_PERSISTENT"),
    (K::StatsAutoRecalc, "STATS_AUTO_RECALC"),
    (K::StatsSamplePages, "STATS_SAMPLE_PAGES"),
    (K::Checksum, "CHECKSUM"),
    (K::DelayKeyWrite, "DELAY_KEY_WRITE"),
    (K::RowFormat, "ROW_FORMAT"),
    (K::KeyBlockSize, "KEY_BLOCK_SIZE"),
];

/// Row formats that may be asked for, by their numbers on disk.
pub const ROW_FORMATS: [&str; 4] = ["DYNAMIC", "COMPACT", "REDUNDANT", "COMPRESSED"];

impl KeptOption {
    /// Whether 0 is a value of it, rather than the default.
    fn has_zero(self) -> bool {
        matches!(
            self,
            K::PackKeys | K::StatsPersistent | K::StatsAutoRecalc | K::RowFormat
        )
    }
}

/// The options that a table has been given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptOptions(Vec<(KeptOption, u64)>);

impl KeptOptions {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets one; `None` for the default.
    pub fn set(&mut self, option: KeptOption, value: Option<u64>) {
        self.0.retain(|(o, _)| *o != option);
        if let Some(value) = value.filter(|v| *v != 0 || option.has_zero()) {
            let at = self.0.partition_point(|(o, _)| *o < option);
            self.0.insert(at, (option, value));
        }
    }

    /// Appends them.
    pub fn write(&self, w: &mut Writer) {
        w.number(self.0.len() as u64);
        for (option, value) in &self.0 {
            w.number(*option as u64);
            w.number(*value);
        }
    }

    /// Reads them back.
    pub fn read(r: &mut Reader<'_>) -> SqlResult<KeptOptions> {
        let mut options = KeptOptions::default();
        for _ in 0..r.count()? {
            let (number, value) = (r.number()?, r.number()?);
            let known = OPTIONS.iter().find(|(o, _)| *o as u64 == number);
            let (option, _) = known.ok_or_else(corrupt)?;
            if *option == K::RowFormat && value >= ROW_FORMATS.len() as u64 {
                return Err(corrupt());
            }
            options.set(*option, Some(value));
        }
        Ok(options)
    }
}

/// ` NAME=value` for each.
impl fmt::Display for KeptOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (option, value) in &self.0 {
            let (_, name) = OPTIONS[*option as usize - 1];
            match option {
                K::RowFormat => write!(f, " {name}={}", ROW_FORMATS[*value as usize])?,
                _ => write!(f, " {name}={value}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_return_in_order() {
        let mut options = KeptOptions::default();
        options.set(K::KeyBlockSize, Some(8));
        options.set(K::PackKeys, Some(0));
        options.set(K::MaxRows, Some(1000));
        options.set(K::MaxRows, Some(2000));
        options.set(K::MinRows, Some(0));
        options.set(K::RowFormat, Some(1));
        assert_eq!(
            options.to_string(),
            " MAX_ROWS=2000 PACK_KEYS=0 ROW_FORMAT=COMPACT KEY_BLOCK_SIZE=8"
        );
        let mut w = Writer(Vec::new());
        options.write(&mut w);
        assert_eq!(KeptOptions::read(&mut Reader(&w.0)).unwrap(), options);
        for wrong in [&[1, 12, 0][..], &[1, 10, 4], &[1]] {
            assert_eq!(
                KeptOptions::read(&mut Reader(wrong)).unwrap_err().code,
                1033
            );
        }
        options.set(K::MaxRows, None);
        options.set(K::PackKeys, None);
        assert_eq!(options.to_string(), " ROW_FORMAT=COMPACT KEY_BLOCK_SIZE=8");
    }

    #[test]
    fn the_table_is_in_the_order_of_its_numbers() {
        for (at, (option, _)) in OPTIONS.iter().enumerate() {
            assert_eq!(*option as usize, at + 1);
        }
    }
}
