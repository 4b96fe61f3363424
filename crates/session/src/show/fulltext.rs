//! information_schema about FULLTEXT indexes.

use millpond_sql::fulltext::STOPWORDS;

use super::table::{Columns, Ty, Virtual, s};

const IS: &str = "information_schema";

/// Tables of information_schema.
pub(super) fn tables(database: &str) -> Vec<Virtual> {
    if database != IS {
        return Vec::new();
    }
    const COLUMNS: Columns = &[("value", Ty::Str(18))];
    let stopwords = Virtual::new(IS, "INNODB_FT_DEFAULT_STOPWORD", COLUMNS, |_, emit| {
        STOPWORDS.iter().try_for_each(|word| emit(&[s(*word)]))
    });
    vec![stopwords]
}
