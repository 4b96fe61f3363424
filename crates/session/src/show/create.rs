//! The text of SHOW CREATE TABLE and SHOW CREATE DATABASE, as MySQL 8 prints it.

use std::fmt::Write;

use millpond_store::TableDef;
use millpond_store::space::FileId;

use super::rules::check_lines;
use millpond_sql::env::VirtualTable;
use millpond_sql::partition::partition_text;
use millpond_sql::types::{
    BaseType, Charset, Collation, Column, DefaultValue, Index, Schema, Visibility,
};
use millpond_sql::types::{FulltextIndex, TextParser};
use millpond_syntax::quote::{Quotes, quote_name, quote_text};

/// `CURRENT_TIMESTAMP`, with the column's fractional digits.
pub(crate) fn now_text(column: &Column) -> String {
    match column.ty.decimals {
        0 => "CURRENT_TIMESTAMP".into(),
        fsp => format!("CURRENT_TIMESTAMP({fsp})"),
    }
}

/// ` COLLATE name` where the character set does not say it: MySQL names utf8mb4's collation at all times.
fn said(collation: Collation) -> String {
    let charset = collation.character_set();
    match charset.facts().default == collation && charset != Charset::Utf8mb4 {
        true => String::new(),
        false => format!(" COLLATE {}", collation.name()),
    }
}

/// What a character column says of its character set and collation: both if its definition named one of them, else what the table doesn't
/// say of them, and a collation that isn't the character set's own.
fn charset_text(column: &Column, table: Collation) -> String {
    let collation = column.ty.collation;
    let charset = format!(" CHARACTER SET {}", collation.charset());
    let named = format!(" COLLATE {}", collation.name());
    let own = collation.character_set().facts().default == collation;
    match column.explicit_collation {
        true => charset + &named,
        false if collation != table => charset + &said(collation),
        false if own => String::new(),
        false => named,
    }
}

fn column_text(column: &Column, table: Collation, quotes: Quotes) -> String {
    let mut out = format!("{} {}", quotes.name(&column.name), column.ty.column_type());
    let ty = &column.ty;
    if ty.is_string() && ty.collation != Collation::Binary {
        out.push_str(&charset_text(column, table));
    }
    if let Some(g) = &column.generated {
        let kind = if g.stored { "STORED" } else { "VIRTUAL" };
        let _ = write!(out, " GENERATED ALWAYS AS ({}) {kind}", g.text);
    }
    if !column.nullable {
        out.push_str(" NOT NULL");
    } else if ty.base == BaseType::Timestamp {
        out.push_str(" NULL");
    }
    if let Some(srid) = ty.srid {
        let _ = write!(out, " /*!80003 SRID {srid} */");
    }
    match &column.default {
        DefaultValue::Literal(text) => {
            // That of a BIT is a literal itself.
            let _ = match ty.base {
                BaseType::Bit => write!(out, " DEFAULT {text}"),
                _ => write!(out, " DEFAULT {}", quote_text(text)),
            };
        }
        DefaultValue::Now => {
            let _ = write!(out, " DEFAULT {}", now_text(column));
        }
        DefaultValue::Expr(text) => {
            let _ = write!(out, " DEFAULT ({text})");
        }
        _ if column.generated.is_some() => {}
        DefaultValue::Null | DefaultValue::None
            if column.nullable && !column.auto_increment && (!ty.is_blob() || ty.is_geometry()) =>
        {
            out.push_str(" DEFAULT NULL");
        }
        DefaultValue::Null | DefaultValue::None => {}
    }
    if column.on_update_now {
        let _ = write!(out, " ON UPDATE {}", now_text(column));
    }
    if column.auto_increment {
        out.push_str(" AUTO_INCREMENT");
    }
    if column.visibility == Visibility::Invisible {
        out.push_str(" /*!80023 INVISIBLE */");
    }
    if !column.comment.is_empty() {
        let _ = write!(out, " COMMENT {}", quote_text(&column.comment));
    }
    out
}

fn index_text(index: &Index, schema: &Schema, quotes: Quotes) -> String {
    let parts: Vec<String> = index
        .parts
        .iter()
        .map(|p| {
            let column = &schema.columns[p.column];
            let mut part = match &column.generated {
                Some(g) if column.visibility == Visibility::Hidden => format!("({})", g.text),
                _ => quotes.name(&column.name),
            };
            if let Some(n) = p.prefix {
                let _ = write!(part, "({n})");
            }
            if p.desc {
                part.push_str(" DESC");
            }
            part
        })
        .collect();
    let columns = |f: &FulltextIndex| {
        let names = f.columns.iter();
        let names = names.map(|c| quotes.name(&schema.columns[*c].name));
        names.collect::<Vec<_>>().join(",")
    };
    let parts = parts.join(",");
    let mut out = if index.name == "PRIMARY" {
        format!("PRIMARY KEY ({parts})")
    } else if let Some(f) = &index.fulltext {
        format!("FULLTEXT KEY {} ({})", quotes.name(&index.name), columns(f))
    } else if let Some(at) = index.spatial {
        let column = quotes.name(&schema.columns[at].name);
        format!("SPATIAL KEY {} ({column})", quotes.name(&index.name))
    } else {
        format!(
            "{}KEY {} ({parts})",
            if index.unique { "UNIQUE " } else { "" },
            quotes.name(&index.name)
        )
    };
    if index.btree {
        out.push_str(" USING BTREE");
    }
    if !index.comment.is_empty() {
        let _ = write!(out, " COMMENT {}", quote_text(&index.comment));
    }
    if index
        .fulltext
        .as_ref()
        .is_some_and(|f| matches!(f.parser, TextParser::Ngram(_)))
    {
        out.push_str(" /*!50100 WITH PARSER `ngram` */ ");
    }
    if !index.visible {
        out.push_str(" /*!80000 INVISIBLE */");
    }
    out
}

/// The statement that makes this table. `tablespace`: the name of the one it is in, unless tables get there that don't say where they
/// are to be.
pub(crate) fn table_text(
    def: &TableDef,
    schema: &Schema,
    auto_increment: Option<u64>,
    tablespace: Option<&str>,
    quotes: Quotes,
) -> String {
    let mut lines: Vec<String> = schema
        .columns
        .iter()
        .filter(|c| c.visibility != Visibility::Hidden)
        .map(|c| column_text(c, schema.collation, quotes))
        .collect();
    for i in schema.index_order() {
        lines.push(index_text(&schema.indexes[i], schema, quotes));
    }
    let keys = schema.listed_foreign_keys();
    lines.extend(keys.iter().map(|k| k.text(&def.database, quotes)));
    lines.extend(check_lines(schema, &def.name, quotes));
    let mut out = format!(
        "CREATE {}TABLE {} (\n  {}\n)",
        if def.file == FileId::TEMP {
            "TEMPORARY "
        } else {
            ""
        },
        quotes.name(&def.name),
        lines.join(",\n  ")
    );
    if let Some(name) = tablespace {
        let _ = write!(out, " /*!50100 TABLESPACE {} */", quotes.name(name));
    }
    out.push_str(" ENGINE=InnoDB");
    if let Some(next) = auto_increment
        && next > 1
    {
        let _ = write!(out, " AUTO_INCREMENT={next}");
    }
    let _ = write!(out, " DEFAULT CHARSET={}", schema.collation.charset());
    // Writing to a String cannot fail.
    let _ = write!(
        out,
        "{}",
        said(schema.collation).replace("COLLATE ", "COLLATE=")
    );
    let _ = write!(out, "{}", schema.options);
    if !schema.comment.is_empty() {
        let _ = write!(out, " COMMENT={}", quote_text(&schema.comment));
    }
    if let Some(p) = &schema.partitioning {
        let (version, text) = partition_text(p);
        let _ = write!(out, "\n/*!{version} {text} */");
    }
    out
}

/// The statement that would make a table like a system table.
pub(crate) fn virtual_text(table: &dyn VirtualTable) -> String {
    let lines: Vec<String> = table
        .columns()
        .iter()
        .map(|c| {
            let null = match c.nullable {
                false => " NOT NULL",
                true if c.ty.is_blob() => "",
                true => " DEFAULT NULL",
            };
            format!("{} {}{null}", quote_name(c.name), c.ty.column_type())
        })
        .collect();
    let collation = Collation::DEFAULT;
    let (kind, engine) = match table.database() {
        "information_schema" => ("TEMPORARY TABLE", "MEMORY"),
        "performance_schema" => ("TABLE", "PERFORMANCE_SCHEMA"),
        _ => ("TABLE", "InnoDB"),
    };
    format!(
        "CREATE {kind} {} (\n  {}\n) ENGINE={engine} DEFAULT CHARSET={} COLLATE={}",
        quote_name(table.name()),
        lines.join(",\n  "),
        collation.charset(),
        collation.name()
    )
}

/// The statement that makes this database.
pub(crate) fn database_text(
    name: &str,
    if_not_exists: bool,
    collation: Collation,
    encrypted: bool,
    quotes: Quotes,
) -> String {
    let mut out = format!(
        "CREATE DATABASE {}{} /*!40100 DEFAULT CHARACTER SET {}",
        if if_not_exists {
            "/*!32312 IF NOT EXISTS*/ "
        } else {
            ""
        },
        quotes.name(name),
        collation.charset()
    );
    out.push_str(&said(collation));
    let encryption = if encrypted { 'Y' } else { 'N' };
    let _ = write!(out, " */ /*!80016 DEFAULT ENCRYPTION='{encryption}' */");
    out
}
