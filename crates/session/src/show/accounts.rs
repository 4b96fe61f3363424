//! Accounts as tables: those of `mysql` as MySQL 8 has them, and those of information_schema (of roles: `roles`). They are views of what the
//! catalog has; statements about accounts change it, and nothing else does.

use std::sync::Arc;

use super::logs::MYSQL;
use super::table::{Columns, Context, Ty, Virtual, n, opt, s};
use crate::accounts::Snapshot;
use crate::accounts::account::{Account, Lifetime, Secure};
use crate::accounts::names::Name;
use crate::accounts::privileges::{ALL, COLUMN, DATABASE, ROUTINE, TABLE, names};
use millpond_sql::env::privileges::{self as p, Privileges};
use millpond_sql::error::SqlResult;
use millpond_sql::value::{DateTime, Value};

pub(super) const IS: &str = "information_schema";
pub(super) const NAME: Ty = Ty::Str(64);
pub(super) const USER: Ty = Ty::Str(32);
pub(super) const HOST: Ty = Ty::Str(255);
const GRANTEE: Ty = Ty::Str(292);
const FLAG: Ty = Ty::Str(1);

/// The tables of `mysql` that are about accounts. Dumps leave them out: accounts are not made by inserting rows.
pub(super) const TABLES: [&str; 8] = [
    "columns_priv",
    "db",
    "default_roles",
    "global_grants",
    "procs_priv",
    "role_edges",
    "tables_priv",
    "user",
];

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        MYSQL => vec![
            user(),
            db(),
            tables_priv(),
            columns_priv(),
            procs_priv(),
            role_edges(),
            default_roles(),
            global_grants(),
        ],
        IS => vec![
            user_privileges(),
            schema_privileges(),
            table_privileges(),
            column_privileges(),
            user_attributes(),
        ],
        _ => Vec::new(),
    }
}

fn yes(set: bool) -> Value<'static> {
    s(if set { "Y" } else { "N" })
}

pub(super) fn said(set: bool) -> Value<'static> {
    s(if set { "YES" } else { "NO" })
}

pub(super) fn snapshot(cx: &Context<'_>) -> Arc<Snapshot> {
    cx.facts.instance.0.accounts.snapshot()
}

/// Accounts that the session may see what is granted to: all, or those that it is itself.
fn seen(cx: &Context<'_>) -> Vec<(Name, Arc<Account>)> {
    let access = cx.access();
    let all = access.database(MYSQL) & p::SELECT != 0;
    let snapshot = snapshot(cx);
    let seen = |name: &Name| all || access.holders.contains(name);
    let accounts = snapshot.accounts.iter().filter(|(name, _)| seen(name));
    accounts.map(|(n, a)| (n.clone(), a.clone())).collect()
}

/// A time as the session shows it.
fn time(cx: &Context<'_>, seconds: u64) -> Value<'static> {
    let moment = DateTime::from_unix(seconds as i64, 0, cx.env.zone.get());
    moment.map_or(Value::Null, Value::DateTime)
}

/// What `User_attributes` says: the comment or attribute, partial revokes.
fn attributes(a: &Account) -> Option<String> {
    let mut members = Vec::new();
    if !a.attribute.is_empty() {
        members.push(format!("\"metadata\": {}", a.attribute));
    }
    let text = |t: &str| t.replace('\\', "\\\\").replace('"', "\\\"");
    let restrictions = a.grants.restrictions.iter().map(|(database, set)| {
        let set: Vec<String> = names(*set).iter().map(|p| format!("\"{p}\"")).collect();
        format!(
            "{{\"Database\": \"{}\", \"Privileges\": [{}]}}",
            text(database),
            set.join(", ")
        )
    });
    let restrictions: Vec<String> = restrictions.collect();
    if !restrictions.is_empty() {
        members.push(format!("\"Restrictions\": [{}]", restrictions.join(", ")));
    }
    (!members.is_empty()).then(|| format!("{{{}}}", members.join(", ")))
}

fn user() -> Virtual {
    let mut columns = vec![("Host", HOST), ("User", USER)];
    let (early, late) = ALL.split_at(ALL.len() - 2);
    columns.extend(early.iter().map(|p| (p.column, FLAG)));
    columns.extend([
        ("ssl_type", Ty::Str(9)),
        ("ssl_cipher", Ty::Text),
        ("x509_issuer", Ty::Text),
        ("x509_subject", Ty::Text),
        ("max_questions", Ty::Num),
        ("max_updates", Ty::Num),
        ("max_connections", Ty::Num),
        ("max_user_connections", Ty::Num),
        ("plugin", NAME),
        ("authentication_string", Ty::NullText),
        ("password_expired", FLAG),
        ("password_last_changed", Ty::NullTime),
        ("password_lifetime", Ty::NullNum),
        ("account_locked", FLAG),
    ]);
    columns.extend(late.iter().map(|p| (p.column, FLAG)));
    columns.extend([
        ("Password_reuse_history", Ty::NullNum),
        ("Password_reuse_time", Ty::NullNum),
        ("Password_require_current", Ty::NullStr(1)),
        ("User_attributes", Ty::NullText),
    ]);
    Virtual::new(MYSQL, "user", &columns, |cx, emit| {
        let (early, late) = ALL.split_at(ALL.len() - 2);
        let number = |v: Option<u64>| v.map_or(Value::Null, n);
        for (name, a) in &snapshot(cx).accounts {
            let has = |p: &crate::accounts::privileges::Static| yes(a.grants.global & p.bit != 0);
            let mut row = vec![s(&*name.host), s(&*name.user)];
            row.extend(early.iter().map(has));
            let none = String::new();
            let (kind, [cipher, issuer, subject]) = match &a.secure {
                Secure::Any => ("", [&none; 3]),
                Secure::Tls => ("ANY", [&none; 3]),
                Secure::X509 => ("X509", [&none; 3]),
                Secure::Specified {
                    cipher,
                    issuer,
                    subject,
                } => ("SPECIFIED", [cipher, issuer, subject]),
            };
            row.extend([s(kind), s(&**cipher), s(&**issuer), s(&**subject)]);
            let limits = a.limits;
            let limits = [
                limits.queries,
                limits.updates,
                limits.connections,
                limits.at_a_time,
            ];
            row.extend(limits.map(n));
            row.extend([
                s(a.plugin.name()),
                s(&*a.secret),
                yes(a.expired),
                time(cx, a.changed),
                match a.lifetime {
                    Lifetime::Default => Value::Null,
                    Lifetime::Never => n(0u64),
                    Lifetime::Days(days) => n(days),
                },
                yes(a.locked),
            ]);
            row.extend(late.iter().map(has));
            row.extend([
                number(a.history),
                number(a.reuse),
                a.require_current.map_or(Value::Null, yes),
                opt(attributes(a)),
            ]);
            emit(&row)?;
        }
        Ok(())
    })
}

fn db() -> Virtual {
    let mut columns = vec![("Host", HOST), ("Db", NAME), ("User", USER)];
    let of_database = || ALL.iter().filter(|p| DATABASE & p.bit != 0);
    columns.extend(of_database().map(|p| (p.column, FLAG)));
    Virtual::new(MYSQL, "db", &columns, move |cx, emit| {
        for (name, a) in &snapshot(cx).accounts {
            for (database, set) in &a.grants.databases {
                let mut row = vec![s(&*name.host), s(&**database), s(&*name.user)];
                row.extend(of_database().map(|p| yes(set & p.bit != 0)));
                emit(&row)?;
            }
        }
        Ok(())
    })
}

/// A set as MySQL's SET columns show it.
pub(super) fn set_text(set: Privileges) -> String {
    let name = |p: &&crate::accounts::privileges::Static| set & p.bit != 0;
    let word = |p: &crate::accounts::privileges::Static| match p.bit {
        p::GRANT => "Grant".to_string(),
        _ => {
            let words = p.name.split(' ').map(|w| {
                let (first, rest) = w.split_at(1);
                format!("{first}{}", rest.to_lowercase())
            });
            words.collect::<Vec<_>>().join(" ")
        }
    };
    ALL.iter()
        .filter(name)
        .map(word)
        .collect::<Vec<_>>()
        .join(",")
}

fn tables_priv() -> Virtual {
    const COLUMNS: Columns = &[
        ("Host", HOST),
        ("Db", NAME),
        ("User", USER),
        ("Table_name", NAME),
        ("Grantor", Ty::Str(288)),
        ("Timestamp", Ty::NullTime),
        ("Table_priv", Ty::Text),
        ("Column_priv", Ty::Text),
    ];
    Virtual::new(MYSQL, "tables_priv", COLUMNS, |cx, emit| {
        for (name, a) in &snapshot(cx).accounts {
            for ((database, table), on) in &a.grants.tables {
                let columns = on.columns.values().fold(0, |all, set| all | set);
                emit(&[
                    s(&*name.host),
                    s(&**database),
                    s(&*name.user),
                    s(&**table),
                    s(&*on.grantor),
                    Value::Null,
                    s(set_text(on.table)),
                    s(set_text(columns)),
                ])?;
            }
        }
        Ok(())
    })
}

fn columns_priv() -> Virtual {
    const COLUMNS: Columns = &[
        ("Host", HOST),
        ("Db", NAME),
        ("User", USER),
        ("Table_name", NAME),
        ("Column_name", NAME),
        ("Timestamp", Ty::NullTime),
        ("Column_priv", Ty::Text),
    ];
    Virtual::new(MYSQL, "columns_priv", COLUMNS, |cx, emit| {
        for (name, a) in &snapshot(cx).accounts {
            for ((database, table), on) in &a.grants.tables {
                for (column, set) in &on.columns {
                    emit(&[
                        s(&*name.host),
                        s(&**database),
                        s(&*name.user),
                        s(&**table),
                        s(&**column),
                        Value::Null,
                        s(set_text(*set)),
                    ])?;
                }
            }
        }
        Ok(())
    })
}

fn procs_priv() -> Virtual {
    const COLUMNS: Columns = &[
        ("Host", HOST),
        ("Db", NAME),
        ("User", USER),
        ("Routine_name", NAME),
        ("Routine_type", Ty::Str(9)),
        ("Grantor", Ty::Str(288)),
        ("Proc_priv", Ty::Text),
        ("Timestamp", Ty::NullTime),
    ];
    Virtual::new(MYSQL, "procs_priv", COLUMNS, |cx, emit| {
        for (name, a) in &snapshot(cx).accounts {
            for ((procedure, database, routine), set) in &a.grants.routines {
                emit(&[
                    s(&*name.host),
                    s(&**database),
                    s(&*name.user),
                    s(&**routine),
                    s(if *procedure { "PROCEDURE" } else { "FUNCTION" }),
                    s(""),
                    s(set_text(set & ROUTINE)),
                    Value::Null,
                ])?;
            }
        }
        Ok(())
    })
}

fn role_edges() -> Virtual {
    const COLUMNS: Columns = &[
        ("FROM_HOST", HOST),
        ("FROM_USER", USER),
        ("TO_HOST", HOST),
        ("TO_USER", USER),
        ("WITH_ADMIN_OPTION", FLAG),
    ];
    Virtual::new(MYSQL, "role_edges", COLUMNS, |cx, emit| {
        for (name, a) in &snapshot(cx).accounts {
            for (role, admin) in &a.roles {
                let names = [&role.host, &role.user, &name.host, &name.user];
                let mut row: Vec<Value<'static>> = names.iter().map(|t| s(&***t)).collect();
                row.push(yes(*admin));
                emit(&row)?;
            }
        }
        Ok(())
    })
}

fn default_roles() -> Virtual {
    const COLUMNS: Columns = &[
        ("HOST", HOST),
        ("USER", USER),
        ("DEFAULT_ROLE_HOST", HOST),
        ("DEFAULT_ROLE_USER", USER),
    ];
    Virtual::new(MYSQL, "default_roles", COLUMNS, |cx, emit| {
        for (name, a) in &snapshot(cx).accounts {
            for role in &a.default_roles {
                let names = [&name.host, &name.user, &role.host, &role.user];
                let row: Vec<Value<'static>> = names.iter().map(|t| s(&***t)).collect();
                emit(&row)?;
            }
        }
        Ok(())
    })
}

fn global_grants() -> Virtual {
    const COLUMNS: Columns = &[
        ("USER", USER),
        ("HOST", HOST),
        ("PRIV", USER),
        ("WITH_GRANT_OPTION", FLAG),
    ];
    Virtual::new(MYSQL, "global_grants", COLUMNS, |cx, emit| {
        for (name, a) in &snapshot(cx).accounts {
            for (privilege, grant) in &a.grants.dynamic {
                emit(&[s(&*name.user), s(&*name.host), s(&**privilege), yes(*grant)])?;
            }
        }
        Ok(())
    })
}

/// Rows of privileges, each with whether it may be granted on; USAGE if there are none.
fn each_privilege(set: Privileges, f: &mut dyn FnMut(&str) -> SqlResult<()>) -> SqlResult<()> {
    match names(set) {
        list if list.is_empty() => f("USAGE"),
        list => list.into_iter().try_for_each(f),
    }
}

fn user_privileges() -> Virtual {
    const COLUMNS: Columns = &[
        ("GRANTEE", GRANTEE),
        ("TABLE_CATALOG", Ty::Str(512)),
        ("PRIVILEGE_TYPE", NAME),
        ("IS_GRANTABLE", Ty::Str(3)),
    ];
    Virtual::new(IS, "USER_PRIVILEGES", COLUMNS, |cx, emit| {
        for (name, a) in seen(cx) {
            let grantee = name.to_string();
            let grantable = a.grants.global & p::GRANT != 0;
            each_privilege(a.grants.global, &mut |privilege| {
                emit(&[s(&*grantee), s("def"), s(privilege), said(grantable)])
            })?;
            for (privilege, grant) in &a.grants.dynamic {
                emit(&[s(&*grantee), s("def"), s(&**privilege), said(*grant)])?;
            }
        }
        Ok(())
    })
}

fn schema_privileges() -> Virtual {
    const COLUMNS: Columns = &[
        ("GRANTEE", GRANTEE),
        ("TABLE_CATALOG", Ty::Str(512)),
        ("TABLE_SCHEMA", NAME),
        ("PRIVILEGE_TYPE", NAME),
        ("IS_GRANTABLE", Ty::Str(3)),
    ];
    Virtual::new(IS, "SCHEMA_PRIVILEGES", COLUMNS, |cx, emit| {
        for (name, a) in seen(cx) {
            for (database, set) in &a.grants.databases {
                each_privilege(*set, &mut |privilege| {
                    let grantable = set & p::GRANT != 0;
                    let first = [s(name.to_string()), s("def"), s(&**database)];
                    emit(&[&first[..], &[s(privilege), said(grantable)]].concat())
                })?;
            }
        }
        Ok(())
    })
}

fn table_privileges() -> Virtual {
    const COLUMNS: Columns = &[
        ("GRANTEE", GRANTEE),
        ("TABLE_CATALOG", Ty::Str(512)),
        ("TABLE_SCHEMA", NAME),
        ("TABLE_NAME", NAME),
        ("PRIVILEGE_TYPE", NAME),
        ("IS_GRANTABLE", Ty::Str(3)),
    ];
    Virtual::new(IS, "TABLE_PRIVILEGES", COLUMNS, |cx, emit| {
        for (name, a) in seen(cx) {
            for ((database, table), on) in &a.grants.tables {
                if on.table & TABLE == 0 {
                    continue;
                }
                each_privilege(on.table, &mut |privilege| {
                    let first = [s(name.to_string()), s("def"), s(&**database), s(&**table)];
                    let last = [s(privilege), said(on.table & p::GRANT != 0)];
                    emit(&[&first[..], &last].concat())
                })?;
            }
        }
        Ok(())
    })
}

fn column_privileges() -> Virtual {
    const COLUMNS: Columns = &[
        ("GRANTEE", GRANTEE),
        ("TABLE_CATALOG", Ty::Str(512)),
        ("TABLE_SCHEMA", NAME),
        ("TABLE_NAME", NAME),
        ("COLUMN_NAME", NAME),
        ("PRIVILEGE_TYPE", NAME),
        ("IS_GRANTABLE", Ty::Str(3)),
    ];
    Virtual::new(IS, "COLUMN_PRIVILEGES", COLUMNS, |cx, emit| {
        for (name, a) in seen(cx) {
            for ((database, table), on) in &a.grants.tables {
                for (column, set) in &on.columns {
                    for privilege in names(set & COLUMN) {
                        let table = [s(&**database), s(&**table), s(&**column)];
                        let first = [s(name.to_string()), s("def")];
                        let last = [s(privilege), said(on.table & p::GRANT != 0)];
                        emit(&[&first[..], &table, &last].concat())?;
                    }
                }
            }
        }
        Ok(())
    })
}

fn user_attributes() -> Virtual {
    const COLUMNS: Columns = &[("USER", USER), ("HOST", HOST), ("ATTRIBUTE", Ty::NullText)];
    Virtual::new(IS, "USER_ATTRIBUTES", COLUMNS, |cx, emit| {
        for (name, a) in seen(cx) {
            let attribute = (!a.attribute.is_empty()).then_some(&*a.attribute);
            emit(&[s(&*name.user), s(&*name.host), opt(attribute)])?;
        }
        Ok(())
    })
}
