//! `innodb_data_file_path`: where the shared data file is and how long it may get.
//!
//! `data:SIZE[:autoextend[:max:SIZE]]`, or `PATH:SIZEraw` with a block device. As in InnoDB `newraw` makes a database there, and whatever the device
//! holds is lost; unlike there, the database is ready then. `raw` opens it again, as does no option at all: the file `data` is a link to the
//! device.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use millpond_sql::error::{SqlError, SqlResult};
use millpond_store::io::{Bound, Bounded, RealStorage, Storage};
use millpond_store::space::FileId;

const VARIABLE: &str = "innodb_data_file_path";
/// What InnoDB calls the file.
const INNODB_NAME: &str = "ibdata1";
/// Bytes that a data file has at least if they are counted.
const LEAST: u64 = 5 << 20;

/// Where the shared data file is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DataFile {
    /// In the data directory, as long as it needs to be.
    Grows,
    /// In the data directory.
    Bounded(Bound),
    /// On a block device.
    Device { path: PathBuf, new: bool },
}

/// What the options that are given at start say.
pub(super) fn asked(variables: &[(String, String)]) -> SqlResult<DataFile> {
    let named = |name: &str| name.to_ascii_lowercase().replace('-', "_") == VARIABLE;
    match variables.iter().rev().find(|(name, _)| named(name)) {
        Some((_, text)) => parse(text),
        None => Ok(DataFile::Grows),
    }
}

fn parse(text: &str) -> SqlResult<DataFile> {
    let wrong = || {
        SqlError::new(
            1231,
            format!("Variable '{VARIABLE}' can't be set to the value of '{text}'"),
        )
    };
    if text.contains(';') {
        return Err(SqlError::unsupported("more than one shared data file"));
    }
    let size = |text: &str| {
        text.parse()
            .ok()
            .or_else(|| super::sized(text))
            .ok_or_else(wrong)
    };
    let mut parts = text.split(':');
    let (Some(path), Some(length)) = (parts.next(), parts.next()) else {
        return Err(wrong());
    };
    let rest: Vec<&str> = parts.collect();
    for (ending, new) in [("newraw", true), ("raw", false)] {
        if let Some(bytes) = length.strip_suffix(ending) {
            // The device's own length counts.
            size(bytes)?;
            let path = PathBuf::from(path);
            return match rest.is_empty() {
                true => Ok(DataFile::Device { path, new }),
                false => Err(wrong()),
            };
        }
    }
    if ![FileId::SHARED.name().as_str(), INNODB_NAME].contains(&path) {
        return Err(SqlError::unsupported(format_args!("{VARIABLE}={text}")));
    }
    let bytes = size(length)?;
    let bound = match rest.as_slice() {
        ["autoextend"] => return Ok(DataFile::Grows),
        ["autoextend", "max", most] => Bound::Most(size(most)?),
        [] => Bound::Fixed(bytes),
        _ => return Err(wrong()),
    };
    match bound {
        Bound::Most(n) | Bound::Fixed(n) if n < LEAST => Err(wrong()),
        bound => Ok(DataFile::Bounded(bound)),
    }
}

impl DataFile {
    /// The storage with the file where it is to be.
    pub fn place(self, storage: RealStorage) -> io::Result<Arc<dyn Storage>> {
        let name = FileId::SHARED.name();
        Ok(match self {
            DataFile::Grows => Arc::new(storage),
            DataFile::Bounded(bound) => Arc::new(Bounded::new(Arc::new(storage), &name, bound)),
            DataFile::Device { path, new } => Arc::new(storage.on_device(&name, &path, new)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read() {
        let device = |new| DataFile::Device {
            path: "/dev/sdb1".into(),
            new,
        };
        for (text, is) in [
            ("data:16M:autoextend", DataFile::Grows),
            ("ibdata1:12M:autoextend", DataFile::Grows),
            ("data:1G", DataFile::Bounded(Bound::Fixed(1 << 30))),
            (
                "data:12M:autoextend:max:500M",
                DataFile::Bounded(Bound::Most(500 << 20)),
            ),
            ("/dev/sdb1:10Gnewraw", device(true)),
            ("/dev/sdb1:0raw", device(false)),
        ] {
            assert_eq!(parse(text).unwrap(), is, "{text}");
        }
        for text in [
            "data",
            "data:x",
            "data:1K",
            "data:1G:grow",
            "/dev/sdb1:raw",
            "/dev/sdb1:1Graw:autoextend",
        ] {
            assert_eq!(parse(text).unwrap_err().code, 1231, "{text}");
        }
        for text in ["data:1G;more:1G:autoextend", "other:1G"] {
            assert_eq!(parse(text).unwrap_err().code, 1235, "{text}");
        }
        let given = [("innodb-data-file-path".to_string(), "data:1G".to_string())];
        assert_ne!(asked(&given).unwrap(), DataFile::Grows);
        assert_eq!(asked(&[]).unwrap(), DataFile::Grows);
    }
}
