//! Variables, status, sessions, engines, character sets: the server as tables.

use std::borrow::Cow;
use std::fmt::Write;

use super::table::{Columns, Context, Ty, Virtual, n, opt, s};
use super::waits::metadata_waits;
use crate::registry::{Process, USER_LOCK, USER_SLEEP};
use crate::vars::{self, VarScope};
use millpond_sql::env::Level;
use millpond_sql::env::privileges::PROCESS;
use millpond_sql::parse::ast::Scope;
use millpond_sql::types::{BaseType, Charset, Collation};
use millpond_sql::value::Value;
use millpond_store::txn::DdlStage;

/// The collations there are, in the order of their names.
fn by_name() -> Vec<Collation> {
    let mut all = Collation::ALL.to_vec();
    all.sort_unstable_by_key(|c| c.name());
    all
}

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        "information_schema" => vec![
            engines(),
            processlist(database_name::IS, false),
            character_sets(),
            collations(),
            collation_applicability(),
            super::pool::buffer_pool_stats(),
            plugins(),
            keywords(),
        ],
        "performance_schema" => vec![
            variables("global_variables", Scope::Global),
            variables("session_variables", Scope::Session),
            status("global_status", Scope::Global),
            status("session_status", Scope::Session),
            processlist(database_name::PS, false),
        ],
        _ => Vec::new(),
    }
}

mod database_name {
    pub const IS: &str = "information_schema";
    pub const PS: &str = "performance_schema";
}
use database_name::{IS, PS};

/// SHOW VARIABLES.
pub(super) fn variables(name: &'static str, scope: Scope) -> Virtual {
    variables_in(PS, name, scope)
}

/// The same as a table of a schema.
pub(super) fn variables_in(database: &'static str, name: &'static str, scope: Scope) -> Virtual {
    Virtual::new(
        database,
        name,
        &[
            ("VARIABLE_NAME", Ty::Str(64)),
            ("VARIABLE_VALUE", Ty::NullStr(2048)),
        ],
        move |cx, emit| {
            let known = cx.known(0);
            for (i, def) in vars::all().iter().enumerate() {
                if known
                    .as_ref()
                    .is_some_and(|k| !k.eq_ignore_ascii_case(def.name))
                {
                    continue;
                }
                let value = match (scope, def.scope) {
                    (Scope::Global, VarScope::Session) => continue,
                    (Scope::Global, _) => cx.facts.vars.globals.get(i),
                    _ => cx.facts.vars.get(i),
                };
                emit(&[s(def.name), s(value.show())])?;
            }
            Ok(())
        },
    )
}

/// SHOW STATUS.
pub(super) fn status(name: &'static str, scope: Scope) -> Virtual {
    status_in(PS, name, scope)
}

/// The same as a table of a schema.
pub(super) fn status_in(database: &'static str, name: &'static str, scope: Scope) -> Virtual {
    Virtual::new(
        database,
        name,
        &[
            ("VARIABLE_NAME", Ty::Str(64)),
            ("VARIABLE_VALUE", Ty::NullStr(1024)),
        ],
        move |cx, emit| {
            let seat = (scope != Scope::Global).then_some(&*cx.facts.seat);
            for (name, value) in cx.facts.instance.status(seat) {
                emit(&[s(name), s(value)])?;
            }
            Ok(())
        },
    )
}

/// Longest text that SHOW PROCESSLIST without FULL prints.
const SHORT_INFO: usize = 100;

/// SHOW PROCESSLIST; `short` cuts the texts.
pub(super) fn processlist(database: &'static str, short: bool) -> Virtual {
    const COLUMNS: Columns = &[
        ("ID", Ty::Num),
        ("USER", Ty::Str(32)),
        ("HOST", Ty::Str(261)),
        ("DB", Ty::NullStr(64)),
        ("COMMAND", Ty::Str(16)),
        ("TIME", Ty::Of(BaseType::BigInt, 0)),
        ("STATE", Ty::NullStr(64)),
        ("INFO", Ty::NullText),
        ("EXECUTION_ENGINE", Ty::NullStr(9)),
    ];
    // Only performance_schema's has the last.
    let (name, columns) = match database {
        PS => ("processlist", COLUMNS.len()),
        _ => ("PROCESSLIST", COLUMNS.len() - 1),
    };
    Virtual::new(database, name, &COLUMNS[..columns], move |cx, emit| {
        for p in processes(cx) {
            let info = p.info.map(|i| {
                if short {
                    i.chars().take(SHORT_INFO).collect()
                } else {
                    i.to_string()
                }
            });
            let row = [
                n(p.id),
                s(p.user),
                s(p.host),
                opt(p.database),
                s(p.command),
                n(p.seconds),
                s(p.state),
                opt(info),
                s("PRIMARY"),
            ];
            emit(&row[..columns])?;
        }
        Ok(())
    })
}

/// Sessions and what they are doing.
pub(super) fn processes(cx: &Context<'_>) -> Vec<Process> {
    let instance = &cx.facts.instance;
    let waiting = metadata_waits(instance.engine());
    let mut all = instance.0.registry.processes(millpond_sql::env::now_us());
    let access = cx.access();
    if access.global() & PROCESS == 0 {
        let own = cx.facts.seat.user();
        all.retain(|p| *p.user == *own);
    }
    for p in &mut all {
        p.state = state(p, waiting.get(&u64::from(p.id)).copied());
    }
    all
}

/// One session.
pub(super) fn process(cx: &Context<'_>, id: u64) -> Option<Process> {
    let seat = cx.facts.instance.0.registry.get(u32::try_from(id).ok()?)?;
    let seen = cx.access().global() & PROCESS != 0 || seat.user() == cx.facts.seat.user();
    let mut p = seat.process(millpond_sql::env::now_us());
    p.state = state(&p, None);
    seen.then_some(p)
}

/// The process list's State: for a wait what is waited for, else MySQL's words for what such a statement does; of one that writes a table anew
/// or builds an index, how far it has come too.
fn state(p: &Process, waiting: Option<&'static str>) -> Cow<'static, str> {
    let idle = p.state.is_empty();
    let text = p.info.as_deref().unwrap_or_default().trim_start();
    let word = text.split(|c: char| !c.is_ascii_alphabetic()).next();
    match word.unwrap_or_default().to_ascii_uppercase().as_str() {
        _ if idle || p.state == USER_SLEEP || p.state == USER_LOCK => p.state.clone(),
        _ if waiting.is_some() => waiting.unwrap_or_default().into(),
        "UPDATE" | "DELETE" => "updating".into(),
        "INSERT" | "REPLACE" => "update".into(),
        _ => match &p.progress {
            Some(now) if now.stage == DdlStage::Backup => {
                format!("copying pages for a backup: {}%", now.percent()).into()
            }
            Some(now) => {
                let (stage, percent) = (now.stage.name(), now.percent());
                format!("altering table ({stage}): {percent}%").into()
            }
            None => p.state.clone(),
        },
    }
}

/// SHOW WARNINGS and SHOW ERRORS: what the statement before left.
pub(super) fn warnings(errors_only: bool, offset: u64, limit: Option<u64>) -> Virtual {
    Virtual::new(
        IS,
        "WARNINGS",
        &[
            ("Level", Ty::Str(7)),
            ("Code", Ty::Num),
            ("Message", Ty::Str(512)),
        ],
        move |cx, emit| {
            let list = cx.env.diagnostics.borrow().clone();
            let chosen = list
                .iter()
                .filter(|d| !errors_only || d.level == Level::Error)
                .skip(usize::try_from(offset).unwrap_or(usize::MAX))
                .take(limit.map_or(usize::MAX, |l| usize::try_from(l).unwrap_or(usize::MAX)));
            for d in chosen {
                let level = match d.level {
                    Level::Note => "Note",
                    Level::Warning => "Warning",
                    Level::Error => "Error",
                };
                emit(&[s(level), n(d.code), s(d.message.clone())])?;
            }
            Ok(())
        },
    )
}

/// SHOW COUNT(*) WARNINGS and ERRORS.
pub(super) fn warning_count(errors_only: bool) -> Virtual {
    Virtual::new(
        IS,
        "WARNING_COUNT",
        if errors_only {
            &[("@@session.error_count", Ty::Num)]
        } else {
            &[("@@session.warning_count", Ty::Num)]
        },
        move |cx, emit| {
            let count = cx
                .env
                .diagnostics
                .borrow()
                .iter()
                .filter(|d| !errors_only || d.level == Level::Error)
                .count();
            emit(&[n(count as u64)])
        },
    )
}

/// SHOW ENGINES.
pub(super) fn engines() -> Virtual {
    Virtual::new(
        IS,
        "ENGINES",
        &[
            ("ENGINE", Ty::Str(64)),
            ("SUPPORT", Ty::Str(8)),
            ("COMMENT", Ty::Str(80)),
            ("TRANSACTIONS", Ty::NullStr(3)),
            ("XA", Ty::NullStr(3)),
            ("SAVEPOINTS", Ty::NullStr(3)),
        ],
        |_, emit| {
            emit(&[
                s("InnoDB"),
                s("DEFAULT"),
                s("Millpond: transactions, row locks; tables as cheap as rows"),
                s("YES"),
                s("YES"),
                s("YES"),
            ])
        },
    )
}

/// SHOW ENGINE INNODB STATUS.
pub(super) fn engine_status() -> Virtual {
    Virtual::new(
        IS,
        "ENGINE_STATUS",
        &[
            ("Type", Ty::Str(10)),
            ("Name", Ty::Str(512)),
            ("Status", Ty::Text),
        ],
        |cx, emit| {
            let report = cx.facts.instance.engine().status().report;
            emit(&[s("InnoDB"), s(""), s(with_statements(cx, &report))])
        },
    )
}

/// The report, with what each transaction's session is and runs.
fn with_statements(cx: &Context<'_>, report: &str) -> String {
    let mut out = String::with_capacity(report.len() + 256);
    for line in report.lines() {
        out.push_str(line);
        let id = line.strip_prefix("MySQL thread id ");
        if let Some(p) = id.and_then(|id| process(cx, id.parse().ok()?)) {
            // Writing to a String cannot fail.
            let _ = write!(out, " {} {} {}", p.host, p.user, p.state);
            if let Some(info) = &p.info {
                let _ = write!(out, "\n{info}");
            }
        }
        out.push('\n');
    }
    out
}

/// SHOW CHARACTER SET.
pub(super) fn character_sets() -> Virtual {
    Virtual::new(
        IS,
        "CHARACTER_SETS",
        &[
            ("CHARACTER_SET_NAME", Ty::Str(64)),
            ("DEFAULT_COLLATE_NAME", Ty::Str(64)),
            ("DESCRIPTION", Ty::Str(2048)),
            ("MAXLEN", Ty::Num),
        ],
        |_, emit| {
            for charset in Charset::ALL {
                let facts = charset.facts();
                emit(&[
                    s(facts.name),
                    s(facts.default.name()),
                    s(facts.description),
                    n(u64::from(facts.max_bytes)),
                ])?;
            }
            Ok(())
        },
    )
}

/// SHOW COLLATION.
pub(super) fn collations() -> Virtual {
    Virtual::new(
        IS,
        "COLLATIONS",
        &[
            ("COLLATION_NAME", Ty::Str(64)),
            ("CHARACTER_SET_NAME", Ty::Str(64)),
            ("ID", Ty::Num),
            ("IS_DEFAULT", Ty::Str(3)),
            ("IS_COMPILED", Ty::Str(3)),
            ("SORTLEN", Ty::Num),
            ("PAD_ATTRIBUTE", Ty::Str(9)),
        ],
        |_, emit| {
            for c in by_name() {
                let default = c.character_set().facts().default == c;
                let pad = if c.pads() { "PAD SPACE" } else { "NO PAD" };
                emit(&[
                    s(c.name()),
                    s(c.charset()),
                    n(c.id()),
                    s(if default { "Yes" } else { "" }),
                    s("Yes"),
                    n(u64::from(c.sort_length())),
                    s(pad),
                ])?;
            }
            Ok(())
        },
    )
}

fn collation_applicability() -> Virtual {
    Virtual::new(
        IS,
        "COLLATION_CHARACTER_SET_APPLICABILITY",
        &[
            ("COLLATION_NAME", Ty::Str(64)),
            ("CHARACTER_SET_NAME", Ty::Str(64)),
        ],
        |_, emit| {
            for c in by_name() {
                emit(&[s(c.name()), s(c.charset())])?;
            }
            Ok(())
        },
    )
}

/// SHOW PLUGINS.
pub(super) fn plugins() -> Virtual {
    Virtual::new(
        IS,
        "PLUGINS",
        &[
            ("PLUGIN_NAME", Ty::Str(64)),
            ("PLUGIN_VERSION", Ty::Str(20)),
            ("PLUGIN_STATUS", Ty::Str(10)),
            ("PLUGIN_TYPE", Ty::Str(80)),
            ("PLUGIN_TYPE_VERSION", Ty::Str(20)),
            ("PLUGIN_LIBRARY", Ty::NullStr(64)),
            ("PLUGIN_LIBRARY_VERSION", Ty::NullStr(20)),
            ("PLUGIN_AUTHOR", Ty::NullStr(64)),
            ("PLUGIN_DESCRIPTION", Ty::NullStr(255)),
            ("PLUGIN_LICENSE", Ty::NullStr(80)),
            ("LOAD_OPTION", Ty::Str(64)),
        ],
        |_, emit| {
            emit(&[
                s("InnoDB"),
                s("1.0"),
                s("ACTIVE"),
                s("STORAGE ENGINE"),
                s("80000.0"),
                Value::Null,
                Value::Null,
                s("Millpond"),
                s("Transactions, row locks; tables as cheap as rows"),
                s("MIT OR Apache-2.0"),
                s("FORCE"),
            ])
        },
    )
}

/// Reserved words, for tools that quote by them.
fn keywords() -> Virtual {
    Virtual::new(
        IS,
        "KEYWORDS",
        &[("WORD", Ty::Str(128)), ("RESERVED", Ty::Num)],
        |_, emit| {
            for word in RESERVED_WORDS.split_whitespace() {
                emit(&[s(word), n(1u64)])?;
            }
            Ok(())
        },
    )
}

/// MySQL 8.0's reserved words.
const RESERVED_WORDS: &str = "ACCESSIBLE ADD ALL ALTER ANALYZE AND AS ASC ASENSITIVE BEFORE BETWEEN BIGINT BINARY BLOB BOTH BY CALL CASCADE CASE CHANGE CHAR CHARACTER CHECK COLLATE COLUMN CONDITION CONSTRAINT CONTINUE CONVERT CREATE CROSS CUBE CUME_DIST CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURSOR DATABASE DATABASES DAY_HOUR DAY_MICROSECOND DAY_MINUTE DAY_SECOND DEC DECIMAL DECLARE DEFAULT DELAYED DELETE DENSE_RANK DESC DESCRIBE DETERMINISTIC DISTINCT DISTINCTROW DIV DOUBLE DROP DUAL EACH ELSE ELSEIF EMPTY ENCLOSED ESCAPED EXCEPT EXISTS EXIT EXPLAIN FALSE FETCH FIRST_VALUE FLOAT FLOAT4 FLOAT8 FOR FORCE FOREIGN FROM FULLTEXT FUNCTION GENERATED GET GRANT GROUP GROUPING GROUPS HAVING HIGH_PRIORITY HOUR_MICROSECOND HOUR_MINUTE HOUR_SECOND IF IGNORE IN INDEX INFILE INNER INOUT INSENSITIVE INSERT INT INT1 INT2 INT3 INT4 INT8 INTEGER INTERSECT INTERVAL INTO IO_AFTER_GTIDS IO_BEFORE_GTIDS IS ITERATE JOIN JSON_TABLE KEY KEYS KILL LAG LAST_VALUE LATERAL LEAD LEADING LEAVE LEFT LIKE LIMIT LINEAR LINES LOAD LOCALTIME LOCALTIMESTAMP LOCK LONG LONGBLOB LONGTEXT LOOP LOW_PRIORITY MASTER_BIND MASTER_SSL_VERIFY_SERVER_CERT MATCH MAXVALUE MEDIUMBLOB MEDIUMINT MEDIUMTEXT MIDDLEINT MINUTE_MICROSECOND MINUTE_SECOND MOD MODIFIES NATURAL NOT NO_WRITE_TO_BINLOG NTH_VALUE NTILE NULL NUMERIC OF ON OPTIMIZE OPTIMIZER_COSTS OPTION OPTIONALLY OR ORDER OUT OUTER OUTFILE OVER PARTITION PERCENT_RANK PRECISION PRIMARY PROCEDURE PURGE RANGE RANK READ READS READ_WRITE REAL RECURSIVE REFERENCES REGEXP RELEASE RENAME REPEAT REPLACE REQUIRE RESIGNAL RESTRICT RETURN REVOKE RIGHT RLIKE ROW ROWS ROW_NUMBER SCHEMA SCHEMAS SECOND_MICROSECOND SELECT SENSITIVE SEPARATOR SET SHOW SIGNAL SMALLINT SPATIAL SPECIFIC SQL SQLEXCEPTION SQLSTATE SQLWARNING SQL_BIG_RESULT SQL_CALC_FOUND_ROWS SQL_SMALL_RESULT SSL STARTING STORED STRAIGHT_JOIN SYSTEM TABLE TERMINATED THEN TINYBLOB TINYINT TINYTEXT TO TRAILING TRIGGER TRUE UNDO UNION UNIQUE UNLOCK UNSIGNED UPDATE USAGE USE USING UTC_DATE UTC_TIME UTC_TIMESTAMP VALUES VARBINARY VARCHAR VARCHARACTER VARYING VIRTUAL WHEN WHERE WHILE WINDOW WITH WRITE XOR YEAR_MONTH ZEROFILL";

/// What a user without limits may do. Until there are accounts, every session may do everything.
pub(super) const PRIVILEGES: [(&str, &str, &str); 17] = [
    ("Alter", "Tables", "To alter the table"),
    (
        "Create",
        "Databases,Tables,Indexes",
        "To create new databases and tables",
    ),
    ("Delete", "Tables", "To delete existing rows"),
    ("Drop", "Databases,Tables", "To drop databases and tables"),
    ("Index", "Tables", "To create or drop indexes"),
    ("Insert", "Tables", "To insert data into tables"),
    (
        "Lock tables",
        "Databases",
        "To use LOCK TABLES (together with SELECT privilege)",
    ),
    (
        "Process",
        "Server Admin",
        "To view the plain text of currently executing queries",
    ),
    (
        "References",
        "Databases,Tables",
        "To have references on tables",
    ),
    (
        "Reload",
        "Server Admin",
        "To reload or refresh tables, logs and privileges",
    ),
    ("Select", "Tables", "To retrieve rows from table"),
    (
        "Show databases",
        "Server Admin",
        "To see all databases with SHOW DATABASES",
    ),
    ("Shutdown", "Server Admin", "To shut down the server"),
    (
        "Super",
        "Server Admin",
        "To use KILL thread, SET GLOBAL, CHANGE MASTER, etc.",
    ),
    ("Trigger", "Tables", "To use triggers"),
    ("Update", "Tables", "To update existing rows"),
    (
        "Usage",
        "Server Admin",
        "No privileges - allow connect only",
    ),
];

/// SHOW PRIVILEGES.
pub(super) fn privileges() -> Virtual {
    Virtual::new(
        IS,
        "PRIVILEGES",
        &[
            ("Privilege", Ty::Str(64)),
            ("Context", Ty::Str(64)),
            ("Comment", Ty::Str(255)),
        ],
        |_, emit| {
            for (name, context, comment) in PRIVILEGES {
                emit(&[s(name), s(context), s(comment)])?;
            }
            Ok(())
        },
    )
}

/// A table with these columns and no rows, for SHOW statements about things there are none of.
pub(super) fn nothing(name: &'static str, columns: super::table::Columns) -> Virtual {
    Virtual::new(IS, name, columns, |_, _| Ok(()))
}

#[cfg(test)]
mod tests {
    use millpond_sql::env::VirtualTable;

    #[test]
    fn every_table_has_a_name_and_columns() {
        for schema in millpond_sql::env::SYSTEM_SCHEMAS {
            let mut names: Vec<String> = super::super::all_of(schema)
                .iter()
                .map(|t| {
                    assert!(!t.columns().is_empty(), "{}", t.name());
                    t.name().to_ascii_lowercase()
                })
                .collect();
            let count = names.len();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }
}
