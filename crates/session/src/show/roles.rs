//! Roles as tables of information_schema: those that the session's account may make active, those that are, and what is granted to these.

use std::sync::Arc;

use super::accounts::{HOST, IS, NAME, USER, said, set_text, snapshot};
use super::table::{Columns, Context, Ty, Virtual, s};
use crate::accounts::account::Account;
use crate::accounts::names::Name;
use crate::accounts::privileges::ROUTINE;
use millpond_sql::env::Emit;
use millpond_sql::env::privileges as p;
use millpond_sql::error::SqlResult;
use millpond_sql::value::Value;

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        IS => vec![
            applicable_roles("APPLICABLE_ROLES", false),
            applicable_roles("ADMINISTRABLE_ROLE_AUTHORIZATIONS", true),
            enabled_roles(),
            role_table_grants(),
            role_column_grants(),
            role_routine_grants(),
        ],
        _ => Vec::new(),
    }
}

/// A role that an account has been granted, itself or through other roles.
struct Applicable {
    /// To whom.
    to: Name,
    role: Name,
    admin: bool,
    default: bool,
    mandatory: bool,
}

/// The roles that the session's account may make active.
fn applicable(cx: &Context<'_>) -> Vec<Applicable> {
    let own = cx.access().name.clone();
    let snapshot = snapshot(cx);
    let Some(account) = snapshot.get(&own) else {
        return Vec::new();
    };
    let direct: Vec<Name> = snapshot.roles_of(&own, account).into_iter().collect();
    let mut holders = vec![own.clone()];
    holders.extend(snapshot.closure(&direct));
    let mut all = Vec::new();
    for to in holders {
        let Some(a) = snapshot.get(&to) else {
            continue;
        };
        let roles = match to == own {
            true => direct.clone(),
            false => a.roles.keys().cloned().collect(),
        };
        for role in roles {
            let granted = a.roles.get(&role).copied();
            all.push(Applicable {
                admin: granted == Some(true),
                default: account.default_roles.contains(&role),
                mandatory: granted.is_none(),
                to: to.clone(),
                role,
            });
        }
    }
    all
}

const APPLICABLE: Columns = &[
    ("USER", Ty::Str(97)),
    ("HOST", Ty::Str(256)),
    ("GRANTEE", Ty::Str(97)),
    ("GRANTEE_HOST", Ty::Str(256)),
    ("ROLE_NAME", HOST),
    ("ROLE_HOST", Ty::Str(256)),
    ("IS_GRANTABLE", Ty::Str(3)),
    ("IS_DEFAULT", Ty::Str(3)),
    ("IS_MANDATORY", Ty::Str(3)),
];

/// `administered`: those alone that the account may grant on.
fn applicable_roles(name: &'static str, administered: bool) -> Virtual {
    Virtual::new(IS, name, APPLICABLE, move |cx, emit| {
        let own = cx.access().name.clone();
        for a in applicable(cx) {
            if administered && !a.admin {
                continue;
            }
            let names = [&own, &a.to, &a.role];
            let names = names.iter().flat_map(|n| [s(&*n.user), s(&*n.host)]);
            let mut row: Vec<Value<'static>> = names.collect();
            row.extend([said(a.admin), said(a.default), said(a.mandatory)]);
            emit(&row)?;
        }
        Ok(())
    })
}

/// The roles that are active, and those that these bring along.
fn active(cx: &Context<'_>) -> Vec<(Name, Arc<Account>)> {
    let snapshot = snapshot(cx);
    let roles = snapshot.closure(&cx.access().active);
    let account = |name: Name| snapshot.get(&name).cloned().map(|a| (name, a));
    roles.into_iter().filter_map(account).collect()
}

/// Who granted something, as user and host; NULL where that is not kept.
fn granted_by(grantor: &str) -> [Value<'static>; 2] {
    match grantor.rsplit_once('@') {
        Some((user, host)) => [s(user.to_string()), s(host.to_string())],
        None => [Value::Null, Value::Null],
    }
}

fn role_table_grants() -> Virtual {
    const COLUMNS: Columns = &[
        ("GRANTOR", Ty::NullStr(97)),
        ("GRANTOR_HOST", Ty::NullStr(256)),
        ("GRANTEE", USER),
        ("GRANTEE_HOST", HOST),
        ("TABLE_CATALOG", Ty::Str(3)),
        ("TABLE_SCHEMA", NAME),
        ("TABLE_NAME", NAME),
        ("PRIVILEGE_TYPE", Ty::Text),
        ("IS_GRANTABLE", Ty::Str(3)),
    ];
    Virtual::new(IS, "ROLE_TABLE_GRANTS", COLUMNS, |cx, emit| {
        for (role, a) in active(cx) {
            for ((database, table), on) in &a.grants.tables {
                let [by, by_host] = granted_by(&on.grantor);
                emit(&[
                    by,
                    by_host,
                    s(&*role.user),
                    s(&*role.host),
                    s("def"),
                    s(&**database),
                    s(&**table),
                    s(set_text(on.table)),
                    said(on.table & p::GRANT != 0),
                ])?;
            }
        }
        Ok(())
    })
}

fn role_column_grants() -> Virtual {
    const COLUMNS: Columns = &[
        ("GRANTOR", Ty::NullStr(97)),
        ("GRANTOR_HOST", Ty::NullStr(256)),
        ("GRANTEE", USER),
        ("GRANTEE_HOST", HOST),
        ("TABLE_CATALOG", Ty::Str(3)),
        ("TABLE_SCHEMA", NAME),
        ("TABLE_NAME", NAME),
        ("COLUMN_NAME", NAME),
        ("PRIVILEGE_TYPE", Ty::Text),
        ("IS_GRANTABLE", Ty::Str(3)),
    ];
    Virtual::new(IS, "ROLE_COLUMN_GRANTS", COLUMNS, |cx, emit| {
        for (role, a) in active(cx) {
            for ((database, table), on) in &a.grants.tables {
                for (column, set) in &on.columns {
                    let [by, by_host] = granted_by(&on.grantor);
                    emit(&[
                        by,
                        by_host,
                        s(&*role.user),
                        s(&*role.host),
                        s("def"),
                        s(&**database),
                        s(&**table),
                        s(&**column),
                        s(set_text(*set)),
                        said(on.table & p::GRANT != 0),
                    ])?;
                }
            }
        }
        Ok(())
    })
}

fn role_routine_grants() -> Virtual {
    const COLUMNS: Columns = &[
        ("GRANTOR", Ty::NullStr(97)),
        ("GRANTOR_HOST", Ty::NullStr(256)),
        ("GRANTEE", USER),
        ("GRANTEE_HOST", HOST),
        ("SPECIFIC_CATALOG", Ty::Str(3)),
        ("SPECIFIC_SCHEMA", NAME),
        ("SPECIFIC_NAME", NAME),
        ("ROUTINE_CATALOG", Ty::Str(3)),
        ("ROUTINE_SCHEMA", NAME),
        ("ROUTINE_NAME", NAME),
        ("PRIVILEGE_TYPE", Ty::Text),
        ("IS_GRANTABLE", Ty::Str(3)),
    ];
    Virtual::new(IS, "ROLE_ROUTINE_GRANTS", COLUMNS, |cx, emit| {
        for (role, a) in active(cx) {
            for ((_, database, routine), set) in &a.grants.routines {
                let named = || [s("def"), s(database.clone()), s(routine.clone())];
                let mut row = vec![Value::Null, Value::Null, s(&*role.user), s(&*role.host)];
                row.extend(named());
                row.extend(named());
                row.extend([s(set_text(set & ROUTINE)), said(set & p::GRANT != 0)]);
                emit(&row)?;
            }
        }
        Ok(())
    })
}

fn enabled_roles() -> Virtual {
    const COLUMNS: Columns = &[
        ("ROLE_NAME", HOST),
        ("ROLE_HOST", HOST),
        ("IS_DEFAULT", Ty::Str(3)),
        ("IS_MANDATORY", Ty::Str(3)),
    ];
    Virtual::new(
        IS,
        "ENABLED_ROLES",
        COLUMNS,
        |cx: &Context<'_>, emit: &mut Emit<'_>| -> SqlResult<()> {
            let access = cx.access();
            let snapshot = snapshot(cx);
            let account = snapshot.get(&access.name);
            let default = |r: &Name| account.is_some_and(|a| a.default_roles.contains(r));
            let mandatory = |r: &Name| snapshot.settings.mandatory.contains(r);
            for role in snapshot.closure(&access.active) {
                emit(&[
                    s(&*role.user),
                    s(&*role.host),
                    said(default(&role)),
                    said(mandatory(&role)),
                ])?;
            }
            Ok(())
        },
    )
}
