//! Who has been connected, and what their statements did: performance_schema's accounts, users and hosts, the summaries of statements by them
//! and by thread, and information_schema.MILLPOND_ACCOUNTS, which the views of sys read.

use std::collections::BTreeMap;

use millpond_sql::env::Emit;
use millpond_sql::error::SqlResult;
use millpond_sql::types::BaseType;
use millpond_sql::value::Value;

use super::statements::{COUNTS, counts, time};
use super::table::{Columns, Context, Ty, Virtual, n, s};
use crate::digests::{Sums, event_name, kind_at};
use crate::registry::Person;

const PS: &str = "performance_schema";
const USER: (&str, Ty) = ("USER", Ty::NullStr(32));
const HOST: (&str, Ty) = ("HOST", Ty::NullStr(255));
const EVENT: (&str, Ty) = ("EVENT_NAME", Ty::Str(128));

/// What rows are about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Account,
    User,
    Host,
}

const CONNECTIONS: [(By, &str); 3] = [
    (By::Account, "accounts"),
    (By::User, "users"),
    (By::Host, "hosts"),
];
const STATEMENTS: [(By, &str); 3] = [
    (
        By::Account,
        "events_statements_summary_by_account_by_event_name",
    ),
    (By::User, "events_statements_summary_by_user_by_event_name"),
    (By::Host, "events_statements_summary_by_host_by_event_name"),
];

pub(super) fn tables(database: &str) -> Vec<Virtual> {
    match database {
        PS => {
            let mut all = vec![by_thread(), attributes(true), attributes(false)];
            all.extend(CONNECTIONS.map(|(by, name)| connections(by, name)));
            all.extend(STATEMENTS.map(|(by, name)| statements(by, name)));
            all
        }
        "information_schema" => vec![accounts()],
        _ => Vec::new(),
    }
}

/// TRUNCATE TABLE of accounts, users or hosts forgets who is not connected.
pub(super) fn is_of_people(name: &str) -> bool {
    CONNECTIONS
        .iter()
        .any(|(_, t)| t.eq_ignore_ascii_case(name))
}

impl By {
    fn columns(self) -> Vec<(&'static str, Ty)> {
        match self {
            By::Account => vec![USER, HOST],
            By::User => vec![USER],
            By::Host => vec![HOST],
        }
    }
    fn names(self, p: &Person) -> Vec<Value<'static>> {
        match self {
            By::Account => vec![s(&*p.user), s(&*p.host)],
            By::User => vec![s(&*p.user)],
            By::Host => vec![s(&*p.host)],
        }
    }
    /// Accounts put together by what rows are about.
    fn of(self, people: Vec<Person>) -> Vec<Person> {
        let mut all: BTreeMap<(String, String), Person> = BTreeMap::new();
        for p in people {
            let key = match self {
                By::Account => (p.user.clone(), p.host.clone()),
                By::User => (p.user.clone(), String::new()),
                By::Host => (p.host.clone(), String::new()),
            };
            match all.get_mut(&key) {
                Some(known) => known.add(&p),
                None => drop(all.insert(key, p)),
            }
        }
        all.into_values().collect()
    }
}

fn people(cx: &Context<'_>, by: By) -> Vec<Person> {
    by.of(cx.facts.instance.0.registry.people())
}

fn connections(by: By, name: &'static str) -> Virtual {
    let mut columns = by.columns();
    columns.extend([
        ("CURRENT_CONNECTIONS", Ty::Of(BaseType::BigInt, 0)),
        ("TOTAL_CONNECTIONS", Ty::Of(BaseType::BigInt, 0)),
        ("MAX_SESSION_CONTROLLED_MEMORY", Ty::Num),
        ("MAX_SESSION_TOTAL_MEMORY", Ty::Num),
    ]);
    Virtual::new(PS, name, &columns, move |cx, emit| {
        for p in people(cx, by) {
            let most = p.sums().memory;
            let mut row = by.names(&p);
            row.extend([p.current, p.total, most, most].map(n));
            emit(&row)?;
        }
        Ok(())
    })
}

/// Rows of statements by kind, each after `names`.
fn by_kind(
    names: &[Value<'static>],
    work: &BTreeMap<usize, Sums>,
    emit: &mut Emit<'_>,
) -> SqlResult<()> {
    for (kind, sums) in work {
        let mut row = names.to_vec();
        row.push(s(event_name(kind_at(*kind))));
        row.extend(counts(sums));
        emit(&row)?;
    }
    Ok(())
}

fn statements(by: By, name: &'static str) -> Virtual {
    let mut columns = by.columns();
    columns.push(EVENT);
    columns.extend(COUNTS.map(|c| (c, Ty::Num)));
    Virtual::new(PS, name, &columns, move |cx, emit| {
        let all = people(cx, by);
        all.iter()
            .try_for_each(|p| by_kind(&by.names(p), &p.work, emit))
    })
}

fn by_thread() -> Virtual {
    let mut columns = vec![("THREAD_ID", Ty::Num), EVENT];
    columns.extend(COUNTS.map(|c| (c, Ty::Num)));
    let name = "events_statements_summary_by_thread_by_event_name";
    Virtual::new(PS, name, &columns, |cx, emit| {
        let seats = cx.facts.instance.0.registry.all();
        seats
            .iter()
            .try_for_each(|seat| by_kind(&[n(seat.id)], &seat.work.sums(), emit))
    })
}

/// What clients say of themselves: those of the session's own account, or all.
fn attributes(own: bool) -> Virtual {
    const COLUMNS: Columns = &[
        ("PROCESSLIST_ID", Ty::Num),
        ("ATTR_NAME", Ty::Str(32)),
        ("ATTR_VALUE", Ty::NullStr(1024)),
        ("ORDINAL_POSITION", Ty::NullOf(BaseType::Int, 0)),
    ];
    let name = match own {
        true => "session_account_connect_attrs",
        false => "session_connect_attrs",
    };
    Virtual::new(PS, name, COLUMNS, move |cx, emit| {
        let me = &cx.facts.seat;
        for seat in cx.facts.instance.0.registry.all() {
            let mine = seat.user() == me.user() && seat.address() == me.address();
            if own && !mine {
                continue;
            }
            for (at, (name, value)) in (0u64..).zip(&seat.attributes) {
                emit(&[n(seat.id), s(&**name), s(&**value), n(at)])?;
            }
        }
        Ok(())
    })
}

/// What sys's views of users and hosts are made of.
fn accounts() -> Virtual {
    const COLUMNS: Columns = &[
        ("USER", Ty::Str(32)),
        ("HOST", Ty::Str(255)),
        ("CURRENT_CONNECTIONS", Ty::Num),
        ("TOTAL_CONNECTIONS", Ty::Num),
        ("STATEMENTS", Ty::Num),
        ("STATEMENT_TIME", Ty::Num),
        ("TABLE_SCANS", Ty::Num),
        ("FILE_IOS", Ty::Num),
        ("FILE_IO_TIME", Ty::Num),
        ("CURRENT_MEMORY", Ty::Num),
        ("MAX_MEMORY", Ty::Num),
    ];
    Virtual::new(
        "information_schema",
        "MILLPOND_ACCOUNTS",
        COLUMNS,
        |cx, emit| {
            for p in people(cx, By::Account) {
                let sums = p.sums();
                emit(&[
                    s(&*p.user),
                    s(&*p.host),
                    n(p.current),
                    n(p.total),
                    n(sums.count),
                    n(time(sums.ns)),
                    n(sums.no_index),
                    n(sums.ios),
                    n(time(sums.io_ns)),
                    n(p.memory),
                    n(sums.memory),
                ])?;
            }
            Ok(())
        },
    )
}
