//! What the definition of a FULLTEXT index says.
//!
//! Everything that decides which entries a row has is kept with the index as it was when that was made, whatever the server's variables say
//! later: rollback, purge and CHECK TABLE make the entries again from rows.

use super::bytes::{Reader, Writer, corrupt};
use crate::error::SqlResult;

/// What cuts texts into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextParser {
    /// Words: letters, digits and `_`.
    Words {
        /// Characters that a word has at least (`innodb_ft_min_token_size`).
        least: u32,
        /// Characters that a word has at most (`innodb_ft_max_token_size`).
        most: u32,
    },
    /// Any so many characters that follow each other (WITH PARSER ngram, `ngram_token_size`).
    Ngram(u32),
}

/// A FULLTEXT index, besides its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FulltextIndex {
    /// Its columns by position, as they were listed. They have one collation.
    pub columns: Vec<usize>,
    /// Its parser.
    pub parser: TextParser,
    /// Whether stopwords are left out (`innodb_ft_enable_stopword`).
    pub stopwords: bool,
}

impl FulltextIndex {
    /// Writes it but for its columns.
    pub(crate) fn write(&self, w: &mut Writer) {
        w.number(u64::from(self.stopwords));
        match self.parser {
            TextParser::Words { least, most } => {
                w.number(0);
                w.number(least.into());
                w.number(most.into());
            }
            TextParser::Ngram(size) => {
                w.number(1);
                w.number(size.into());
            }
        }
    }
    /// What [`FulltextIndex::write`] wrote, with these columns.
    pub(crate) fn read(r: &mut Reader<'_>, columns: Vec<usize>) -> SqlResult<FulltextIndex> {
        let stopwords = r.number()? != 0;
        let parser = match r.number()? {
            0 => TextParser::Words {
                least: r.small()?,
                most: r.small()?,
            },
            1 => TextParser::Ngram(r.small()?),
            _ => return Err(corrupt()),
        };
        Ok(FulltextIndex {
            columns,
            parser,
            stopwords,
        })
    }
    /// Whether it is over these columns, in whatever order.
    pub fn is_over(&self, columns: &[usize]) -> bool {
        let all = self.columns.iter().all(|c| columns.contains(c));
        all && columns.iter().all(|c| self.columns.contains(c))
    }
}
