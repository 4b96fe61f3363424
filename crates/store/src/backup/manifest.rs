//! What a backup says of itself: lines of a name and a value, the last of them the checksum of those before.

use super::MANIFEST;
use crate::error::{Error, Result};
use crate::io::Storage;
use crate::page::Lsn;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Version of backups' form.
const VERSION: u64 = 1;

/// What a backup says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Names the history of the database that it is of: one that was restored has another from there on.
    pub history: u64,
    /// Where its log begins.
    pub start: Lsn,
    /// The LSN that what is restored from it is of.
    pub end: Lsn,
    /// Pages with a lower LSN need not be in an incremental backup that is based on this.
    pub since: Lsn,
    /// Of an incremental one: where the backup ended that it is based on, and that one's checksum.
    pub base: Option<(Lsn, u32)>,
    /// Capacity of the database's log.
    pub redo_bytes: u64,
    /// Chunks of its file of pages, their bytes, and the checksum of their heads.
    pub chunks: u64,
    /// See `chunks`.
    pub pages_bytes: u64,
    /// See `chunks`.
    pub pages_crc: u32,
    /// Pages in them.
    pub pages: u64,
    /// When it began and ended, milliseconds since 1970.
    pub began: u64,
    /// See `began`.
    pub ended: u64,
    /// The checksum, of one that was read or written.
    pub crc: u32,
}

impl Manifest {
    fn encode(&self) -> String {
        let mut text = format!("millpond-backup {VERSION}\n");
        let mut line = |name: &str, value: u64| {
            let _ = writeln!(text, "{name} {value}");
        };
        line("history", self.history);
        line("start-lsn", self.start);
        line("end-lsn", self.end);
        line("since-lsn", self.since);
        if let Some((end, crc)) = self.base {
            line("base-end-lsn", end);
            line("base-checksum", crc.into());
        }
        line("redo-bytes", self.redo_bytes);
        line("chunks", self.chunks);
        line("pages-bytes", self.pages_bytes);
        line("pages-checksum", self.pages_crc.into());
        line("pages", self.pages);
        line("began", self.began);
        line("ended", self.ended);
        let crc = crc32c::crc32c(text.as_bytes());
        let _ = writeln!(text, "checksum {crc}");
        text
    }

    fn decode(text: &str) -> std::result::Result<Manifest, String> {
        let (body, last) = text.trim_end().rsplit_once('\n').ok_or("it is cut short")?;
        let crc = last.strip_prefix("checksum ").ok_or("it is cut short")?;
        let crc: u32 = crc.parse().map_err(|_| "it is cut short")?;
        if crc32c::crc32c_append(crc32c::crc32c(body.as_bytes()), b"\n") != crc {
            return Err("its checksum is wrong".into());
        }
        let mut lines = BTreeMap::new();
        for line in body.lines() {
            let (name, value) = line.split_once(' ').ok_or("a line has no value")?;
            let value: u64 = value.parse().map_err(|_| format!("{name} is no number"))?;
            lines.insert(name, value);
        }
        let value = |name: &str| lines.get(name).copied().ok_or(format!("{name} is missing"));
        let checksum = |name: &str| value(name).map(|v| v as u32);
        match value("millpond-backup")? {
            VERSION => {}
            other => return Err(format!("form {other}; this program knows {VERSION}")),
        }
        let base = match lines.contains_key("base-end-lsn") {
            true => Some((value("base-end-lsn")?, checksum("base-checksum")?)),
            false => None,
        };
        Ok(Manifest {
            history: value("history")?,
            start: value("start-lsn")?,
            end: value("end-lsn")?,
            since: value("since-lsn")?,
            base,
            redo_bytes: value("redo-bytes")?,
            chunks: value("chunks")?,
            pages_bytes: value("pages-bytes")?,
            pages_crc: checksum("pages-checksum")?,
            pages: value("pages")?,
            began: value("began")?,
            ended: value("ended")?,
            crc,
        })
    }

    /// Reads that of the backup in a directory. One that is not finished has none.
    pub fn read(from: &dyn Storage) -> Result<Manifest> {
        if !from.exists(MANIFEST) {
            let what = format!("there is no {MANIFEST}: the directory holds no finished backup");
            return Err(Error::Invalid(what));
        }
        let io = |e| Error::io(format!("read {MANIFEST}"), &e);
        let file = from.open(MANIFEST, false).map_err(io)?;
        let len = file.len().map_err(io)?.min(1 << 20);
        let mut bytes = vec![0; len as usize];
        file.read_at(&mut bytes, 0).map_err(io)?;
        let text = String::from_utf8_lossy(&bytes);
        Manifest::decode(&text).map_err(|e| Error::Corrupt(format!("{MANIFEST}: {e}")))
    }

    /// Writes it, durably; everything else of the backup is.
    pub(super) fn write(&mut self, to: &dyn Storage) -> Result<()> {
        let io = |e| Error::io(format!("write {MANIFEST}"), &e);
        let text = self.encode();
        *self = Manifest::decode(&text).map_err(Error::Corrupt)?;
        let file = to.open(MANIFEST, true).map_err(io)?;
        file.write_at(text.as_bytes(), 0).map_err(io)?;
        file.sync().map_err(io)?;
        to.sync_folder("").map_err(io)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_what_was_written_or_nothing() {
        let mut all = Manifest {
            start: 1,
            end: u64::MAX,
            base: Some((7, u32::MAX)),
            pages_crc: 9,
            ..Manifest::default()
        };
        let text = all.encode();
        let read = Manifest::decode(&text).unwrap();
        all.crc = read.crc;
        assert_eq!(read, all);
        for cut in 0..text.len() - 1 {
            assert!(Manifest::decode(&text[..cut]).is_err(), "cut at {cut}");
        }
        let other = text.replacen("end-lsn 1", "end-lsn 2", 1);
        assert!(Manifest::decode(&other).unwrap_err().contains("checksum"));
        let later = "millpond-backup 2\n";
        let later = format!("{later}checksum {}\n", crc32c::crc32c(later.as_bytes()));
        assert!(Manifest::decode(&later).unwrap_err().contains("form 2"));
    }
}
