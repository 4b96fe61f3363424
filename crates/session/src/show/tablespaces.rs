//! Tablespaces and their files, with MySQL's columns: information_schema.FILES, INNODB_TABLESPACES, INNODB_TABLESPACES_BRIEF and
//! INNODB_DATAFILES.
//!
//! A general tablespace's file is shown under the name that ADD DATAFILE gave it, others under their own.

use millpond_sql::error::SqlResult;
use millpond_sql::store_error::store_error;
use millpond_sql::types::BaseType;
use millpond_sql::value::Value;
use millpond_store::space::{EXTENT_PAGES, FileId};

use super::table::{Columns, Context, Ty, Virtual, n, s};

const IS: &str = "information_schema";
const PAGE: u64 = 16_384;
const EXTENT: u64 = EXTENT_PAGES as u64 * PAGE;
const FS_BLOCK: u64 = 4096;
const INT: Ty = Ty::Of(BaseType::Int, 0);

/// Kinds of tablespaces, and what InnoDB's flags say of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    System,
    Undo,
    Temporary,
    General,
    Single,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::System | Kind::Temporary => "System",
            Kind::Undo => "Undo",
            Kind::General => "General",
            Kind::Single => "Single",
        }
    }
    fn row_format(self) -> &'static str {
        match self {
            Kind::System | Kind::Temporary => "Compact or Redundant",
            Kind::Undo => "Undo",
            Kind::General => "Any",
            Kind::Single => "Dynamic",
        }
    }
    fn flag(self) -> i64 {
        match self {
            Kind::System | Kind::Undo => 0,
            Kind::Temporary => 4096,
            Kind::General => 18_432,
            Kind::Single => 16_417,
        }
    }
    fn file_type(self) -> &'static str {
        match self {
            Kind::Undo => "UNDO LOG",
            Kind::Temporary => "TEMPORARY",
            _ => "TABLESPACE",
        }
    }
}

struct Shown {
    kind: Kind,
    file: FileId,
    name: String,
    path: String,
}

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        IS => vec![files(), tablespaces(), brief(), datafiles()],
        _ => Vec::new(),
    }
}

/// Every tablespace: those that every database has, the general ones by name, tables' own by table.
fn all(cx: &Context<'_>) -> SqlResult<Vec<Shown>> {
    let engine = cx.facts.instance.engine();
    let wrap = |e| store_error(e, "FILES");
    let fixed = [
        (Kind::System, FileId::SHARED, "innodb_system"),
        (Kind::Undo, FileId::UNDO, "innodb_undo_001"),
        (Kind::Temporary, FileId::TEMP, "innodb_temporary"),
    ];
    let mut all: Vec<Shown> = fixed
        .into_iter()
        .map(|(kind, file, name)| Shown {
            kind,
            file,
            name: name.into(),
            path: format!("./{}", file.name()),
        })
        .collect();
    for t in engine.tablespaces().map_err(wrap)? {
        all.push(Shown {
            kind: Kind::General,
            file: t.file,
            name: t.name,
            path: t.datafile,
        });
    }
    engine
        .each_table(&mut |def, partition| {
            if def.file.is_own() && !def.partitioned {
                let name = match partition {
                    Some((table, partition)) => format!("{table}#p#{partition}"),
                    None => def.name.clone(),
                };
                all.push(Shown {
                    kind: Kind::Single,
                    file: def.file,
                    name: format!("{}/{name}", def.database),
                    path: format!("./{}", def.file.name()),
                });
            }
        })
        .map_err(wrap)?;
    Ok(all)
}

/// Bytes of a file, and of those the free ones.
fn room(cx: &Context<'_>, file: FileId) -> SqlResult<(u64, u64)> {
    let engine = cx.facts.instance.engine();
    engine.file_room(file).map_err(|e| store_error(e, "FILES"))
}

fn files() -> Virtual {
    const COLUMNS: Columns = &[
        ("FILE_ID", Ty::NullNum),
        ("FILE_NAME", Ty::NullText),
        ("FILE_TYPE", Ty::NullStr(256)),
        ("TABLESPACE_NAME", Ty::Str(268)),
        ("TABLE_CATALOG", Ty::Str(0)),
        ("TABLE_SCHEMA", Ty::NullStr(0)),
        ("TABLE_NAME", Ty::NullStr(0)),
        ("LOGFILE_GROUP_NAME", Ty::NullStr(256)),
        ("LOGFILE_GROUP_NUMBER", Ty::NullNum),
        ("ENGINE", Ty::Str(64)),
        ("FREE_EXTENTS", Ty::NullNum),
        ("TOTAL_EXTENTS", Ty::NullNum),
        ("EXTENT_SIZE", Ty::NullNum),
        ("INITIAL_SIZE", Ty::NullNum),
        ("MAXIMUM_SIZE", Ty::NullNum),
        ("AUTOEXTEND_SIZE", Ty::NullNum),
        ("DATA_FREE", Ty::NullNum),
        ("STATUS", Ty::NullStr(256)),
        ("EXTRA", Ty::NullStr(256)),
    ];
    /// The positions of what a file is looked at for.
    const ROOM: &[usize] = &[10, 11, 16];
    Virtual::new(IS, "FILES", COLUMNS, |cx, emit| {
        let looks = cx.reads(ROOM);
        for t in all(cx)? {
            let (bytes, free) = match looks {
                true => room(cx, t.file)?,
                false => (0, 0),
            };
            let path = match t.kind {
                Kind::General => format!("./{}", t.path),
                _ => t.path,
            };
            emit(&[
                n(number(t.file)),
                s(path),
                s(t.kind.file_type()),
                s(t.name),
                s(""),
                Value::Null,
                Value::Null,
                Value::Null,
                Value::Null,
                s("InnoDB"),
                n(free / EXTENT),
                n(bytes / EXTENT),
                n(EXTENT),
                n(0u64),
                Value::Null,
                n(0u64),
                n(free),
                s("NORMAL"),
                Value::Null,
            ])?;
        }
        Ok(())
    })
}

/// A tablespace's number: those that every database has bear InnoDB's, which programs read as 32 bits.
fn number(file: FileId) -> u64 {
    match file {
        FileId::UNDO => 4_294_967_279,
        FileId::TEMP => 4_294_967_293,
        file => file.number(),
    }
}

fn tablespaces() -> Virtual {
    const COLUMNS: Columns = &[
        ("SPACE", Ty::UInt),
        ("NAME", Ty::Str(655)),
        ("FLAG", INT),
        ("ROW_FORMAT", Ty::NullStr(22)),
        ("PAGE_SIZE", Ty::Num),
        ("ZIP_PAGE_SIZE", Ty::Num),
        ("SPACE_TYPE", Ty::NullStr(10)),
        ("FS_BLOCK_SIZE", Ty::Num),
        ("FILE_SIZE", Ty::Num),
        ("ALLOCATED_SIZE", Ty::Num),
        ("AUTOEXTEND_SIZE", Ty::Num),
        ("SERVER_VERSION", Ty::NullStr(10)),
        ("SPACE_VERSION", INT),
        ("ENCRYPTION", Ty::NullStr(1)),
        ("STATE", Ty::NullStr(10)),
    ];
    /// The positions of what a file is looked at for.
    const ROOM: &[usize] = &[8, 9];
    Virtual::new(IS, "INNODB_TABLESPACES", COLUMNS, |cx, emit| {
        let looks = cx.reads(ROOM);
        let version = crate::vars::VERSION.split('-').next().unwrap_or_default();
        let encrypted = match cx.facts.instance.engine().master_key_id() {
            Some(_) => "Y",
            None => "N",
        };
        // MySQL leaves its system tablespace out.
        for t in all(cx)?.into_iter().filter(|t| t.kind != Kind::System) {
            let bytes = match looks {
                true => room(cx, t.file)?.0,
                false => 0,
            };
            emit(&[
                n(number(t.file)),
                s(t.name),
                Value::Int(t.kind.flag()),
                s(t.kind.row_format()),
                n(PAGE),
                n(0u64),
                s(t.kind.name()),
                n(FS_BLOCK),
                n(bytes),
                n(bytes),
                n(0u64),
                s(version),
                Value::Int(1),
                s(encrypted),
                s(match t.kind {
                    Kind::Undo => "active",
                    _ => "normal",
                }),
            ])?;
        }
        Ok(())
    })
}

fn brief() -> Virtual {
    const COLUMNS: Columns = &[
        ("SPACE", Ty::Num),
        ("NAME", Ty::Str(268)),
        ("PATH", Ty::Str(512)),
        ("FLAG", INT),
        ("SPACE_TYPE", Ty::Str(7)),
    ];
    Virtual::new(IS, "INNODB_TABLESPACES_BRIEF", COLUMNS, |cx, emit| {
        for t in all(cx)? {
            let flag = Value::Int(t.kind.flag());
            let kind = t.kind.name();
            emit(&[n(number(t.file)), s(t.name), s(t.path), flag, s(kind)])?;
        }
        Ok(())
    })
}

fn datafiles() -> Virtual {
    const COLUMNS: Columns = &[("SPACE", Ty::NullNum), ("PATH", Ty::Str(512))];
    Virtual::new(IS, "INNODB_DATAFILES", COLUMNS, |cx, emit| {
        for t in all(cx)? {
            emit(&[n(number(t.file)), s(t.path)])?;
        }
        Ok(())
    })
}
