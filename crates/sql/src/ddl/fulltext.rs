//! FULLTEXT keys: what a statement says of one, and what becomes of it.

use super::key::{KeyKind, KeySpec, TextKey};
use crate::catalog::{FulltextIndex, TextParser};
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast;
use crate::types::Column;

/// The parser that there is besides that of words.
const NGRAM: &str = "ngram";

/// Whether an option is about the parser of a FULLTEXT key.
pub(super) fn is_parser(kind: KeyKind, option: &ast::IndexOption) -> bool {
    kind == KeyKind::Fulltext && matches!(option, ast::IndexOption::Parser(_))
}

/// The parser that the options of a FULLTEXT key name; errors for parts that it can't have.
pub(super) fn parser(options: &[ast::IndexOption], parts: &[ast::KeyPart]) -> SqlResult<TextKey> {
    for part in parts {
        if matches!(part.of, ast::KeyPartOf::Expr(_)) {
            let m = "Fulltext functional index is not supported.";
            return Err(SqlError::new(3759, m));
        }
        if part.direction.is_some() {
            let m = "Incorrect usage of spatial/fulltext/hash index and explicit index order";
            return Err(SqlError::new(1221, m));
        }
    }
    let mut key = TextKey::Words;
    for option in options {
        match option {
            ast::IndexOption::Parser(name) if name.as_str().eq_ignore_ascii_case(NGRAM) => {
                key = TextKey::Ngram;
            }
            ast::IndexOption::Parser(name) => {
                let m = format!("Function '{}' is not defined", name.as_str());
                return Err(SqlError::new(1128, m));
            }
            ast::IndexOption::Using(_) => return Err(SqlError::syntax("near 'USING'")),
            _ => {}
        }
    }
    Ok(key)
}

/// Gives new FULLTEXT keys the server's settings.
pub(super) fn settle(keys: &mut [KeySpec], env: &SessionEnv) -> SqlResult<()> {
    let number = |name: &str| -> SqlResult<u32> {
        let n = (env.sys_var)("", name)?.to_i64();
        Ok(u32::try_from(n).unwrap_or(u32::MAX))
    };
    for key in keys.iter_mut().filter(|k| k.kind == KeyKind::Fulltext) {
        let parser = match key.text {
            TextKey::Made(..) => continue,
            TextKey::Words => TextParser::Words {
                least: number("innodb_ft_min_token_size")?,
                most: number("innodb_ft_max_token_size")?,
            },
            TextKey::Ngram => TextParser::Ngram(number("ngram_token_size")?),
        };
        key.text = TextKey::Made(parser, number("innodb_ft_enable_stopword")? != 0);
    }
    Ok(())
}

/// A FULLTEXT key as a part of a definition, its columns checked.
pub(super) fn resolve(spec: &KeySpec, columns: &[Column]) -> SqlResult<FulltextIndex> {
    let TextKey::Made(parser, stopwords) = spec.text else {
        return Err(SqlError::new(1105, "a FULLTEXT key without settings"));
    };
    let mut of: Vec<usize> = Vec::new();
    for (name, ..) in &spec.parts {
        let named = |c: &Column| c.name.eq_ignore_ascii_case(name);
        let Some(at) = columns.iter().position(named) else {
            let m = format!("Key column '{name}' doesn't exist in table");
            return Err(SqlError::new(1072, m));
        };
        if of.contains(&at) {
            let m = format!("Duplicate column name '{name}'");
            return Err(SqlError::new(1060, m));
        }
        let (column, first) = (&columns[at], &columns[*of.first().unwrap_or(&at)]);
        let ty = &column.ty;
        let text = ty.is_character() && !ty.is_enumerated();
        if !text || ty.is_json() || ty.collation != first.ty.collation {
            let m = format!("Column '{}' cannot be part of FULLTEXT index", column.name);
            return Err(SqlError::new(1283, m));
        }
        if column.generated.as_ref().is_some_and(|g| !g.stored) {
            let m = "'Fulltext index on virtual generated column' is not supported for generated columns.";
            return Err(SqlError::new(3106, m));
        }
        of.push(at);
    }
    Ok(FulltextIndex {
        columns: of,
        parser,
        stopwords,
    })
}

/// Error 1214 for a FULLTEXT key of a table with partitions.
pub(super) fn refuse_partitioned(schema: &crate::types::Schema) -> SqlResult<()> {
    let partitioned = schema.partitioning.is_some();
    match partitioned && schema.indexes.iter().any(|i| i.fulltext.is_some()) {
        true => Err(SqlError::new(
            1214,
            "The used table type doesn't support FULLTEXT indexes",
        )),
        false => Ok(()),
    }
}

/// Error 1796 for a FULLTEXT key of a temporary table.
pub(super) fn refuse_temporary(schema: &crate::types::Schema) -> SqlResult<()> {
    match schema.indexes.iter().any(|i| i.fulltext.is_some()) {
        true => Err(SqlError::new(
            1796,
            "Cannot create FULLTEXT index on temporary InnoDB table",
        )),
        false => Ok(()),
    }
}
