//! FULLTEXT search: which words a row has, what a search asks for, how well a row answers.
//!
//! | file | owns |
//! |---|---|
//! | `token` | texts cut into words; stopwords |
//! | `parse` | the two languages of searches, as InnoDB has them |
//! | `query` | a search ready to be held against rows: its terms and their weights, ranks |
//!
//! **Entries.** A FULLTEXT index is a secondary tree with any number of entries a row (`millpond_store::KeyCodec::is_multi`): one for each
//! different word of the row's columns. An entry's own key is the word's sort key under the columns' collation, which no other word's
//! begins with, and four bytes, big-endian: how often the row has the word. So the entries of a row follow from the row and the index's definition
//! alone, an UPDATE that leaves words as often as they were leaves their entries alone, and visibility, rollback, purge and recovery are those of any index.
//! Where a word stands is not in it: a phrase is looked for in the texts of the rows that have all its words, as InnoDB does.
//!
//! **Ranks** follow from a row's texts and, of the table, from two kinds of number: how many rows there are and how many have each term. These are
//! asked of the index once a statement, in its snapshot; so MATCH is a function of columns like any other ([`Query::rank_of`]), whichever way
//! its row was found, and means the row as the statement sees it.
//!
//! Nothing here reads tables.

mod parse;
mod query;
#[cfg(test)]
mod tests;
mod token;

pub use parse::Mode;
pub use query::{Query, RELEVANCE_BYTES, Term, count_of};
pub use token::STOPWORDS;

use std::collections::HashMap;

use millpond_store::Keys;

use crate::catalog::{FulltextIndex, Schema};
use crate::types::Collation;
use crate::value::{Value, Zone};

/// The collation of an index's columns.
pub fn collation_of(schema: &Schema, index: &FulltextIndex) -> Collation {
    let first = index.columns.first().map(|c| &schema.columns[*c].ty);
    first.map_or(schema.collation, |ty| ty.collation)
}

/// Adds the keys of a row's entries in a FULLTEXT index, in order.
pub fn entries(schema: &Schema, index: &FulltextIndex, row: &[u8], out: &mut Keys) {
    let collation = collation_of(schema, index);
    let mut counts: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut key = Vec::new();
    for &column in &index.columns {
        let value = schema.layout().column(schema, row, column, Zone::UTC);
        let Value::Bytes(text) = &value else {
            continue;
        };
        token::each(index, collation, text, &mut |word, indexed| {
            if indexed {
                key.clear();
                collation.sort_key(word, &mut key);
                match counts.get_mut(&key) {
                    Some(count) => *count += 1,
                    None => {
                        counts.insert(key.clone(), 1);
                    }
                }
            }
        });
    }
    for (word, count) in counts {
        out.add(|bytes| {
            bytes.extend_from_slice(&word);
            bytes.extend_from_slice(&count.to_be_bytes());
        });
    }
    out.sort();
}
