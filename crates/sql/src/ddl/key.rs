//! Keys: their parts and names, and which of them is the clustered one.

use crate::catalog::{TextParser, key_length};
use crate::env::SessionEnv;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast;
use crate::types::{BaseType, Column, Index, KeyPart, MAX_KEY_LENGTH, Schema};

use super::{fulltext, names, spatial};

/// Most parts of a key.
const MAX_PARTS: usize = 16;
/// Most keys of a table.
const MAX_KEYS: usize = 64;
/// Longest comment of a key, in characters.
const MAX_COMMENT: usize = 1024;
/// Bytes of a point in MySQL's internal form.
const POINT_BYTES: u32 = 25;
/// Name of the primary key.
pub(super) const PRIMARY: &str = "PRIMARY";
/// Name of the hidden row id's index.
const HIDDEN: &str = "GEN_CLUST_INDEX";

/// What sort of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    Primary,
    Unique,
    Plain,
    Fulltext,
    Spatial,
}

impl KeyKind {
    /// Whether no two rows may have the same key.
    pub fn is_unique(self) -> bool {
        matches!(self, KeyKind::Primary | KeyKind::Unique)
    }
}

/// A key as a statement asks for it.
#[derive(Clone, Debug)]
pub(super) struct KeySpec {
    pub kind: KeyKind,
    pub name: Option<String>,
    /// Column, prefix, descending.
    pub parts: Vec<(String, Option<u32>, bool)>,
    /// Parts that are expressions, by position; they have no column yet.
    pub exprs: Vec<(usize, ast::Expr)>,
    pub comment: String,
    pub visible: bool,
    /// USING BTREE.
    pub btree: bool,
    /// A foreign key brings it, for want of one.
    pub implied: bool,
    /// Of a FULLTEXT key: its parser, and what is known of it besides if there is one already.
    pub text: TextKey,
}

/// What a statement says of a FULLTEXT key besides its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum TextKey {
    /// The parser that there is without WITH PARSER, by the server's settings.
    #[default]
    Words,
    /// WITH PARSER ngram, by the server's settings.
    Ngram,
    /// As it was made.
    Made(TextParser, bool),
}

impl KeySpec {
    /// A key of one whole column.
    pub fn of_column(kind: KeyKind, column: &str) -> KeySpec {
        KeySpec {
            kind,
            name: None,
            parts: vec![(column.to_string(), None, false)],
            exprs: Vec::new(),
            comment: String::new(),
            visible: true,
            btree: false,
            implied: false,
            text: TextKey::Words,
        }
    }
}

/// The key that a definition asks for.
pub(super) fn of_definition(def: &ast::KeyDef) -> SqlResult<KeySpec> {
    if def.if_not_exists {
        return Err(SqlError::unsupported("IF NOT EXISTS of a key"));
    }
    let kind = kind(def.kind)?;
    let constraint = def.constraint.as_ref().and_then(|c| c.name.as_ref());
    // A constraint's name names its index, where that has none of its own.
    let name = match kind {
        KeyKind::Primary => None,
        KeyKind::Unique => def.name.as_ref().or(constraint),
        KeyKind::Plain | KeyKind::Fulltext | KeyKind::Spatial => def.name.as_ref(),
    };
    new(kind, name, &def.parts.all(), &def.options.all())
}

/// A key of a name, or of none.
pub(super) fn new(
    kind: KeyKind,
    name: Option<&ast::Ident>,
    over: &[ast::KeyPart],
    options: &[ast::IndexOption],
) -> SqlResult<KeySpec> {
    let name = name.map(|n| n.as_str().to_string());
    let shown = match kind {
        KeyKind::Primary => Some(PRIMARY),
        _ => name.as_deref(),
    };
    let text = match kind {
        KeyKind::Fulltext => fulltext::parser(options, over)?,
        KeyKind::Spatial => spatial::check(options, over)?,
        _ => TextKey::Words,
    };
    let options: Vec<_> = options
        .iter()
        .filter(|o| !fulltext::is_parser(kind, o))
        .collect();
    let (comment, visible, btree) = read_options(&options, shown)?;
    Ok(KeySpec {
        text,
        kind,
        name,
        parts: parts(over)?,
        exprs: exprs(over),
        comment,
        visible,
        btree,
        implied: false,
    })
}

/// A kind of key that there is.
pub(super) fn kind(kind: ast::KeyKind) -> SqlResult<KeyKind> {
    Ok(match kind {
        ast::KeyKind::Primary => KeyKind::Primary,
        ast::KeyKind::Unique => KeyKind::Unique,
        ast::KeyKind::Plain => KeyKind::Plain,
        ast::KeyKind::Fulltext => KeyKind::Fulltext,
        ast::KeyKind::Spatial => KeyKind::Spatial,
    })
}

/// Reads the parts of a key.
fn parts(list: &[ast::KeyPart]) -> SqlResult<Vec<(String, Option<u32>, bool)>> {
    list.iter().map(part).collect()
}

/// The parts of a key that are expressions.
fn exprs(list: &[ast::KeyPart]) -> Vec<(usize, ast::Expr)> {
    let expr = |(at, part): (usize, &ast::KeyPart)| match &part.of {
        ast::KeyPartOf::Expr(e) => Some((at, (**e).clone())),
        ast::KeyPartOf::Column(..) => None,
    };
    list.iter().enumerate().filter_map(expr).collect()
}

fn part(part: &ast::KeyPart) -> SqlResult<(String, Option<u32>, bool)> {
    let desc = part.direction == Some(ast::Direction::Descending);
    let ast::KeyPartOf::Column(name, length) = &part.of else {
        // See [`super::functional`].
        return Ok((String::new(), None, desc));
    };
    let name = name.as_str().to_string();
    match length {
        Some(0) => Err(SqlError::new(
            1391,
            format!("Key part '{name}' length cannot be 0"),
        )),
        // What is longer than this is longer than any column, too.
        Some(n) => Ok((name, Some(u32::try_from(*n).unwrap_or(u32::MAX)), desc)),
        None => Ok((name, None, desc)),
    }
}

/// A key's comment, whether it is visible and whether BTREE was said. BTREE is what every key is; HASH is what MySQL turns into BTREE
/// too; no page is compressed.
fn read_options(
    options: &[&ast::IndexOption],
    key: Option<&str>,
) -> SqlResult<(String, bool, bool)> {
    use ast::IndexOption as O;
    let (mut text, mut visible, mut btree) = (String::new(), true, false);
    for option in options {
        match option {
            O::Using(using @ (ast::IndexType::BTree | ast::IndexType::Hash)) => {
                btree = *using == ast::IndexType::BTree;
            }
            O::KeyBlockSize(_) => {}
            O::Visible(yes) => visible = *yes,
            O::Comment(comment) => text.clone_from(comment),
            O::Using(ast::IndexType::RTree)
            | O::Parser(_)
            | O::EngineAttribute(_)
            | O::SecondaryEngineAttribute(_) => return Err(SqlError::unsupported(option)),
        }
    }
    if text.chars().count() > MAX_COMMENT {
        let key = key.unwrap_or_default();
        return Err(SqlError::new(
            1688,
            format!("Comment for index '{key}' is too long (max = {MAX_COMMENT})"),
        ));
    }
    Ok((text, visible, btree))
}

/// Resolves a key's parts against a table's columns and checks each.
fn resolve(spec: &KeySpec, columns: &[Column]) -> SqlResult<Vec<KeyPart>> {
    if spec.parts.len() > MAX_PARTS {
        return Err(SqlError::new(
            1070,
            format!("Too many key parts specified; max {MAX_PARTS} parts allowed"),
        ));
    }
    let mut parts: Vec<KeyPart> = Vec::new();
    for (name, prefix, desc) in &spec.parts {
        let Some(at) = columns
            .iter()
            .position(|c| c.name.eq_ignore_ascii_case(name))
        else {
            return Err(SqlError::new(
                1072,
                format!("Key column '{name}' doesn't exist in table"),
            ));
        };
        if parts.iter().any(|p| p.column == at) {
            return Err(SqlError::new(
                1060,
                format!("Duplicate column name '{name}'"),
            ));
        }
        let ty = &columns[at].ty;
        if ty.is_json() {
            return Err(SqlError::new(
                3152,
                format!(
                    "JSON column '{}' supports indexing only via generated columns on a specified JSON path.",
                    columns[at].name
                ),
            ));
        }
        let prefix = match prefix {
            // As many bytes as one has.
            None if ty.base == BaseType::Point => Some(POINT_BYTES),
            None if ty.is_blob() => {
                return Err(SqlError::new(
                    1170,
                    format!(
                        "BLOB/TEXT column '{name}' used in key specification without a key length"
                    ),
                ));
            }
            None => None,
            Some(n) => {
                let string = ty.is_string() && !ty.is_enumerated();
                if !string || (!ty.is_blob() && *n > ty.length) {
                    return Err(SqlError::new(
                        1089,
                        "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the storage engine doesn't support unique prefix keys",
                    ));
                }
                // A prefix of the whole length is no prefix.
                (ty.is_blob() || *n < ty.length).then_some(*n)
            }
        };
        parts.push(KeyPart {
            column: at,
            prefix,
            desc: *desc,
        });
    }
    Ok(parts)
}

/// The name of a key: its own, or its first column's, made unique.
fn name_for(
    spec: &KeySpec,
    columns: &[Column],
    first: usize,
    taken: &[Index],
) -> SqlResult<String> {
    if spec.kind == KeyKind::Primary {
        return Ok(PRIMARY.into());
    }
    let is_taken = |n: &str| taken.iter().any(|i| i.name.eq_ignore_ascii_case(n));
    if let Some(name) = &spec.name {
        names::index(name)?;
        if is_taken(name) {
            return Err(SqlError::new(1061, format!("Duplicate key name '{name}'")));
        }
        return Ok(name.clone());
    }
    let base = &columns[first].name;
    if !is_taken(base) && !base.eq_ignore_ascii_case(PRIMARY) {
        return Ok(base.clone());
    }
    // The numbers run out after the most keys a table can have.
    let name = (2..MAX_KEYS + 3)
        .map(|i| format!("{base}_{i}"))
        .find(|n| !is_taken(n));
    Ok(name.unwrap_or_else(|| base.clone()))
}

fn check_length(columns: &[Column], parts: &[KeyPart]) -> SqlResult<()> {
    let length: usize = parts
        .iter()
        .map(|p| key_length(&columns[p.column].ty, p.prefix))
        .sum();
    if length > MAX_KEY_LENGTH {
        return Err(SqlError::new(
            1071,
            format!("Specified key was too long; max key length is {MAX_KEY_LENGTH} bytes"),
        ));
    }
    Ok(())
}

/// Error 3522.
pub(super) fn invisible_primary() -> SqlError {
    SqlError::new(3522, "A primary key index cannot be invisible")
}

/// Builds one more index for a table that has `taken` already.
pub(super) fn index(spec: &KeySpec, columns: &[Column], taken: &[Index]) -> SqlResult<Index> {
    if taken.len() >= MAX_KEYS {
        return Err(SqlError::new(
            1069,
            format!("Too many keys specified; max {MAX_KEYS} keys allowed"),
        ));
    }
    let mut index = Index {
        name: String::new(),
        unique: spec.kind.is_unique(),
        fulltext: None,
        spatial: None,
        parts: Vec::new(),
        comment: spec.comment.clone(),
        visible: spec.visible,
        btree: spec.btree,
        implied: spec.implied,
    };
    match spec.kind {
        KeyKind::Fulltext => index.fulltext = Some(Box::new(fulltext::resolve(spec, columns)?)),
        KeyKind::Spatial => index.spatial = Some(spatial::resolve(spec, columns)?),
        _ => index.parts = resolve(spec, columns)?,
    }
    check_length(columns, &index.parts)?;
    let first = index.columns().next().unwrap_or_default();
    index.name = name_for(spec, columns, first, taken)?;
    Ok(index)
}

/// Warns of each new index that is another one over: of the same parts in the same order, unique like it. As in MySQL a primary key is none.
pub(super) fn warn_of_twins(
    indexes: &[Index],
    is_new: impl Fn(&Index) -> bool,
    (database, table): (&str, &str),
    env: &SessionEnv,
) {
    let named: Vec<&Index> = indexes.iter().filter(|i| i.name != PRIMARY).collect();
    for (n, index) in named.iter().enumerate().filter(|(_, i)| is_new(i)) {
        let twin = |other: &&Index| other.stores_as(index);
        if named[..n].iter().any(twin) {
            let m = format!(
                "Duplicate index '{}' defined on the table '{database}.{table}'. This is deprecated and will be disallowed in a future release.",
                index.name
            );
            env.warn(1831, m);
        }
    }
}

/// Builds a new table's indexes, the clustered one first: the primary key; else the first unique key none of
/// whose parts can be NULL or is a prefix; else the hidden row id. Makes primary key columns NOT NULL.
pub(super) fn indexes(
    specs: &[KeySpec],
    columns: &mut [Column],
    explicit_null: &[bool],
) -> SqlResult<Vec<Index>> {
    if specs.iter().filter(|s| s.kind == KeyKind::Primary).count() > 1 {
        return Err(SqlError::new(1068, "Multiple primary key defined"));
    }
    // Keys that bring their own name keep it, whatever order they come in.
    let mut indexes: Vec<Index> = Vec::new();
    let mut order: Vec<usize> = Vec::new();
    let (given, derived): (Vec<usize>, Vec<usize>) = (0..specs.len())
        .partition(|i| specs[*i].name.is_some() || specs[*i].kind == KeyKind::Primary);
    for i in given.into_iter().chain(derived) {
        let built = index(&specs[i], columns, &indexes)?;
        if specs[i].kind == KeyKind::Primary {
            for p in &built.parts {
                if explicit_null[p.column] {
                    return Err(SqlError::new(
                        1171,
                        "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead",
                    ));
                }
                columns[p.column].nullable = false;
            }
        }
        indexes.push(built);
        order.push(i);
    }
    let mut sorted: Vec<(usize, Index)> = order.into_iter().zip(indexes).collect();
    sorted.sort_by_key(|(i, _)| *i);
    let mut indexes: Vec<Index> = sorted.into_iter().map(|(_, index)| index).collect();
    let clusters = |i: &Index| {
        i.unique
            && i.parts
                .iter()
                .all(|p| p.prefix.is_none() && !columns[p.column].nullable)
    };
    let clustered = indexes
        .iter()
        .position(|i| i.name == PRIMARY)
        .or_else(|| indexes.iter().position(clusters));
    let first = match clustered {
        Some(at) => indexes.remove(at),
        None => hidden(),
    };
    if !first.visible {
        return Err(invisible_primary());
    }
    indexes.insert(0, first);
    Ok(indexes)
}

/// Error 1075 unless at most one column counts up, and it leads a key.
pub(super) fn check_auto_increment(columns: &[Column], indexes: &[Index]) -> SqlResult<()> {
    let autos: Vec<usize> = (0..columns.len())
        .filter(|i| columns[*i].auto_increment)
        .collect();
    let leads = |c: usize| {
        indexes
            .iter()
            .any(|i| i.parts.first().is_some_and(|p| p.column == c))
    };
    match autos.as_slice() {
        [] => Ok(()),
        [one] if leads(*one) => Ok(()),
        _ => Err(SqlError::new(
            1075,
            "Incorrect table definition; there can be only one auto column and it must be defined as a key",
        )),
    }
}

/// Whether a schema's clustered index is the hidden row id's.
pub(super) fn is_hidden(schema: &Schema) -> bool {
    is_hidden_in(&schema.indexes)
}

/// The same of a schema's indexes.
pub(super) fn is_hidden_in(indexes: &[Index]) -> bool {
    indexes.first().is_some_and(|i| i.parts.is_empty())
}

/// The index of the hidden row id.
pub(super) fn hidden() -> Index {
    Index {
        name: HIDDEN.into(),
        unique: true,
        parts: Vec::new(),
        comment: String::new(),
        visible: true,
        btree: false,
        implied: false,
        fulltext: None,
        spatial: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Collation, DefaultValue, SqlType};

    fn column(name: &str, ty: SqlType, nullable: bool) -> Column {
        Column {
            name: name.into(),
            ty,
            nullable,
            default: DefaultValue::None,
            auto_increment: false,
            on_update_now: false,
            explicit_collation: false,
            comment: String::new(),
            generated: None,
            visibility: Default::default(),
        }
    }

    fn spec(kind: KeyKind, name: Option<&str>, columns: &[&str]) -> KeySpec {
        KeySpec {
            kind,
            name: name.map(str::to_string),
            parts: columns
                .iter()
                .map(|c| ((*c).to_string(), None, false))
                .collect(),
            exprs: Vec::new(),
            comment: String::new(),
            visible: true,
            btree: false,
            implied: false,
            text: TextKey::Words,
        }
    }

    fn columns() -> Vec<Column> {
        vec![
            column("a", SqlType::bigint(), false),
            column("b", SqlType::bigint(), true),
            column(
                "c",
                SqlType::varchar(1000, Collation::Utf8mb4GeneralCi),
                true,
            ),
        ]
    }

    fn build(specs: &[KeySpec]) -> SqlResult<Vec<String>> {
        let mut columns = columns();
        let indexes = indexes(specs, &mut columns, &[false, true, false])?;
        Ok(indexes.into_iter().map(|i| i.name).collect())
    }

    #[test]
    fn the_clustered_index_comes_first() {
        use KeyKind::*;
        assert_eq!(build(&[]).unwrap(), ["GEN_CLUST_INDEX"]);
        assert_eq!(
            build(&[spec(Plain, None, &["b"]), spec(Unique, Some("u"), &["b"])]).unwrap(),
            ["GEN_CLUST_INDEX", "b", "u"]
        );
        assert_eq!(
            build(&[spec(Plain, None, &["a"]), spec(Unique, None, &["a"])]).unwrap(),
            ["a_2", "a"]
        );
        assert_eq!(
            build(&[spec(Unique, None, &["a"]), spec(Primary, None, &["c"])])
                .unwrap_err()
                .code,
            1071
        );
        assert_eq!(
            build(&[spec(Unique, None, &["a"]), spec(Primary, None, &["a"])]).unwrap(),
            ["PRIMARY", "a"]
        );
    }

    #[test]
    fn wrong_keys_are_refused() {
        use KeyKind::*;
        let code = |specs: &[KeySpec]| build(specs).unwrap_err().code;
        assert_eq!(code(&[spec(Plain, None, &["x"])]), 1072);
        assert_eq!(code(&[spec(Plain, None, &["a", "A"])]), 1060);
        assert_eq!(code(&[spec(Primary, None, &["b"])]), 1171);
        assert_eq!(
            code(&[spec(Primary, None, &["a"]), spec(Primary, None, &["a"])]),
            1068
        );
        assert_eq!(
            code(&[
                spec(Plain, Some("k"), &["a"]),
                spec(Plain, Some("K"), &["b"])
            ]),
            1061
        );
        let mut prefix = spec(Plain, None, &["a"]);
        prefix.parts[0].1 = Some(3);
        assert_eq!(code(&[prefix]), 1089);
    }
}
