//! SHOW GRANTS and SHOW CREATE USER: accounts as the statements that make them.

use std::collections::BTreeMap;

use millpond_sql::env::privileges::{GRANT, Privileges};
use millpond_syntax::quote::quote_text;

use super::Snapshot;
use super::account::{Account, Grants, Lifetime, Limits, OnTable, Secure};
use super::names::Name;
use super::privileges::{DATABASE, TABLE, names};

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn listed(set: Privileges, all: Privileges) -> String {
    match set & all & !GRANT {
        0 => "USAGE".into(),
        set if set == all & !GRANT => "ALL PRIVILEGES".into(),
        set => names(set).join(", "),
    }
}

fn option(set: Privileges) -> &'static str {
    match set & GRANT {
        0 => "",
        _ => " WITH GRANT OPTION",
    }
}

/// Privileges on a table, each with its columns.
fn on_table(on: &OnTable) -> String {
    if on.columns.values().all(|p| *p == 0) {
        return listed(on.table, TABLE);
    }
    let mut parts = Vec::new();
    for s in super::privileges::ALL.iter().filter(|s| s.bit != GRANT) {
        if on.table & s.bit != 0 {
            parts.push(s.name.to_string());
        }
        let columns = on.columns.iter().filter(|(_, p)| **p & s.bit != 0);
        let columns: Vec<String> = columns.map(|(c, _)| quoted(c)).collect();
        if !columns.is_empty() {
            parts.push(format!("{} ({})", s.name, columns.join(", ")));
        }
    }
    parts.join(", ")
}

/// The statements that grant what an account has, with these roles active besides.
pub fn grants(snapshot: &Snapshot, name: &Name, using: &[Name]) -> Vec<String> {
    let Some(account) = snapshot.get(name) else {
        return Vec::new();
    };
    let mut all: Grants = account.grants.clone();
    for role in snapshot.closure(using) {
        if let Some(role) = snapshot.get(&role) {
            all.join(&role.grants);
        }
    }
    let to = name.quoted();
    // MySQL names each global privilege, be they all.
    let global = match names(all.global) {
        list if list.is_empty() => "USAGE".into(),
        list => list.join(", "),
    };
    let mut out = vec![format!(
        "GRANT {global} ON *.* TO {to}{}",
        option(all.global)
    )];
    let mut dynamic: BTreeMap<bool, Vec<&str>> = BTreeMap::new();
    for (privilege, grant) in &all.dynamic {
        dynamic.entry(!grant).or_default().push(privilege);
    }
    for (without, list) in dynamic {
        let option = if without { "" } else { " WITH GRANT OPTION" };
        out.push(format!("GRANT {} ON *.* TO {to}{option}", list.join(",")));
    }
    for (database, set) in &all.databases {
        let (what, option) = (listed(*set, DATABASE), option(*set));
        out.push(format!(
            "GRANT {what} ON {}.* TO {to}{option}",
            quoted(database)
        ));
    }
    for (database, set) in &all.restrictions {
        let what = names(*set).join(", ");
        out.push(format!("REVOKE {what} ON {}.* FROM {to}", quoted(database)));
    }
    for ((database, table), on) in &all.tables {
        let (what, option) = (on_table(on), option(on.table));
        let table = format!("{}.{}", quoted(database), quoted(table));
        out.push(format!("GRANT {what} ON {table} TO {to}{option}"));
    }
    for ((procedure, database, routine), set) in &all.routines {
        let kind = if *procedure { "PROCEDURE" } else { "FUNCTION" };
        let what = match names(*set) {
            list if list.is_empty() => "USAGE".into(),
            list => list.join(", "),
        };
        let routine = format!("{}.{}", quoted(database), quoted(routine));
        out.push(format!(
            "GRANT {what} ON {kind} {routine} TO {to}{}",
            option(*set)
        ));
    }
    let granted = snapshot.roles_of(name, account);
    for admin in [false, true] {
        let with = |r: &&Name| account.roles.get(*r).copied().unwrap_or(false) == admin;
        let roles = granted.iter().filter(with);
        let roles: Vec<String> = roles.map(Name::quoted).collect();
        if !roles.is_empty() {
            let option = if admin { " WITH ADMIN OPTION" } else { "" };
            out.push(format!("GRANT {} TO {to}{option}", roles.join(",")));
        }
    }
    out
}

/// What REQUIRE said.
fn required(secure: &Secure) -> String {
    let Secure::Specified {
        cipher,
        issuer,
        subject,
    } = secure
    else {
        return match secure {
            Secure::Any => "REQUIRE NONE",
            Secure::Tls => "REQUIRE SSL",
            _ => "REQUIRE X509",
        }
        .into();
    };
    let mut out = "REQUIRE".to_string();
    for (what, text) in [("SUBJECT", subject), ("ISSUER", issuer), ("CIPHER", cipher)] {
        if !text.is_empty() {
            out.push_str(&format!(" {what} {}", quote_text(text)));
        }
    }
    out
}

/// The statement that makes an account.
pub fn create_user(name: &Name, a: &Account) -> String {
    let mut out = format!(
        "CREATE USER {} IDENTIFIED WITH '{}'",
        name.quoted(),
        a.plugin.name()
    );
    let mut add = |text: &str| {
        out.push(' ');
        out.push_str(text);
    };
    if !a.secret.is_empty() {
        add(&format!("AS {}", quote_text(&a.secret)));
    }
    if !a.default_roles.is_empty() {
        let roles: Vec<String> = a.default_roles.iter().map(Name::quoted).collect();
        add(&format!("DEFAULT ROLE {}", roles.join(",")));
    }
    add(&required(&a.secure));
    if a.limits != Limits::default() {
        let limits = [
            ("MAX_QUERIES_PER_HOUR", a.limits.queries),
            ("MAX_UPDATES_PER_HOUR", a.limits.updates),
            ("MAX_CONNECTIONS_PER_HOUR", a.limits.connections),
            ("MAX_USER_CONNECTIONS", a.limits.at_a_time),
        ];
        add("WITH");
        for (what, most) in limits.iter().filter(|l| l.1 > 0) {
            add(&format!("{what} {most}"));
        }
    }
    add("PASSWORD EXPIRE");
    match a.lifetime {
        _ if a.expired => {}
        Lifetime::Default => add("DEFAULT"),
        Lifetime::Never => add("NEVER"),
        Lifetime::Days(n) => add(&format!("INTERVAL {n} DAY")),
    }
    add(if a.locked {
        "ACCOUNT LOCK"
    } else {
        "ACCOUNT UNLOCK"
    });
    match a.history {
        None => add("PASSWORD HISTORY DEFAULT"),
        Some(n) => add(&format!("PASSWORD HISTORY {n}")),
    }
    match a.reuse {
        None => add("PASSWORD REUSE INTERVAL DEFAULT"),
        Some(n) => add(&format!("PASSWORD REUSE INTERVAL {n} DAY")),
    }
    add(match a.require_current {
        None => "PASSWORD REQUIRE CURRENT DEFAULT",
        Some(true) => "PASSWORD REQUIRE CURRENT",
        Some(false) => "PASSWORD REQUIRE CURRENT OPTIONAL",
    });
    if a.attempts > 0 || a.lock_days > 0 {
        add(&format!("FAILED_LOGIN_ATTEMPTS {}", a.attempts));
        match a.lock_days {
            u64::MAX => add("PASSWORD_LOCK_TIME UNBOUNDED"),
            n => add(&format!("PASSWORD_LOCK_TIME {n}")),
        }
    }
    if !a.attribute.is_empty() {
        add(&format!("ATTRIBUTE {}", quote_text(&a.attribute)));
    }
    out
}
