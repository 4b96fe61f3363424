//! How rows stand in a file: FIELDS and LINES.

use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::FileFormat;

/// FIELDS and LINES, with what is not said filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// FIELDS TERMINATED BY.
    pub fields_terminated: Vec<u8>,
    /// ENCLOSED BY.
    pub enclosed: Option<u8>,
    /// OPTIONALLY: of what is written, texts only.
    pub optionally: bool,
    /// ESCAPED BY.
    pub escaped: Option<u8>,
    /// LINES STARTING BY.
    pub lines_starting: Vec<u8>,
    /// LINES TERMINATED BY.
    pub lines_terminated: Vec<u8>,
}

impl Format {
    /// What a statement asks for; error 1083 if what encloses or escapes is longer than a character.
    pub fn of(asked: &FileFormat, env: &SessionEnv) -> SqlResult<Format> {
        let text = |given: &Option<Box<[u8]>>, default: &[u8]| match given {
            Some(text) => text.to_vec(),
            None => default.to_vec(),
        };
        let no_escapes = env.sql_mode.get().no_backslash_escapes;
        let escape: &[u8] = if no_escapes { b"" } else { b"\\" };
        Ok(Format {
            fields_terminated: text(&asked.fields_terminated, b"\t"),
            enclosed: one(&text(&asked.fields_enclosed, b""))?,
            optionally: asked.enclosed_optionally,
            escaped: one(&text(&asked.fields_escaped, escape))?,
            lines_starting: text(&asked.lines_starting, b""),
            lines_terminated: text(&asked.lines_terminated, b"\n"),
        })
    }

    /// Whether neither terminators nor quotes part fields.
    pub fn is_unparted(&self) -> bool {
        self.fields_terminated.is_empty() && self.enclosed.is_none()
    }

    /// Warning 1638 for texts beyond ASCII.
    pub fn warn(&self, env: &SessionEnv) {
        let texts = [
            &self.fields_terminated[..],
            self.enclosed.as_slice(),
            self.escaped.as_slice(),
            &self.lines_starting,
            &self.lines_terminated,
        ];
        if !texts.iter().all(|t| t.is_ascii()) {
            env.warn(
                1638,
                "Non-ASCII separator arguments are not fully supported",
            );
        }
    }
}

fn one(text: &[u8]) -> SqlResult<Option<u8>> {
    match text {
        [] => Ok(None),
        [c] => Ok(Some(*c)),
        _ => Err(SqlError::new(
            1083,
            "Field separator argument is not what is expected; check the manual",
        )),
    }
}
