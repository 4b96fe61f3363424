//! Who disturbs the clients: statements that change definitions, and KILL.

use crate::client::{Shared, TABLES};
use crate::rng::Rng;
use mysql::Conn;
use mysql::prelude::Queryable;
use std::time::Duration;

pub fn run(shared: &Shared, mut rng: Rng) {
    let (mut conn, mut n) = (None, 0);
    while !shared.stopped() {
        // Not synchronisation: how often the clients are disturbed.
        std::thread::park_timeout(Duration::from_millis(1 + rng.below(25)));
        if conn.is_none() {
            conn = connect(shared);
        }
        let Some(open) = &mut conn else { continue };
        n += 1;
        let sql = if rng.below(5) == 0 {
            let connections = shared.connections.lock().unwrap();
            let place = rng.below(connections.len().max(1) as u64) as usize;
            let Some(id) = connections.values().nth(place) else {
                continue;
            };
            let what = ["QUERY", "CONNECTION"][rng.below(2) as usize];
            format!("KILL {what} {id}")
        } else {
            definition(&mut rng, n)
        };
        // Waits for open transactions may time out, names may be there already or not, whom to kill may be gone.
        match open.query_drop(&sql) {
            Err(mysql::Error::MySqlError(e))
                if ![1050, 1051, 1053, 1061, 1091, 1094, 1146, 1205, 1213].contains(&e.code) =>
            {
                panic!("{sql}: {e}")
            }
            Err(mysql::Error::MySqlError(_)) | Ok(()) => {}
            Err(_) => conn = None,
        }
    }
}

fn connect(shared: &Shared) -> Option<Conn> {
    let mut conn = Conn::new(shared.opts.clone()).ok()?;
    conn.query_drop("USE isolation").ok()?;
    conn.query_drop("SET SESSION lock_wait_timeout = 1").ok()?;
    Some(conn)
}

fn definition(rng: &mut Rng, n: u64) -> String {
    let table = match rng.below(u64::from(TABLES) + 1) {
        0 => "account".into(),
        t => format!("list{}", t - 1),
    };
    let number = if table == "account" { "balance" } else { "n" };
    let other = format!("other{}", n % 8);
    match rng.below(10) {
        0 => format!("ALTER TABLE {table} ADD INDEX extra ({number})"),
        1 => format!("ALTER TABLE {table} DROP INDEX extra"),
        2 => format!("ALTER TABLE {table} ENGINE = InnoDB"),
        3 => format!("OPTIMIZE TABLE {table}"),
        4 => format!("ANALYZE TABLE {table}"),
        5 => format!("ALTER TABLE {table} COMMENT = '{n}'"),
        6 | 7 => format!(
            "CREATE TABLE {other} (a INT PRIMARY KEY, b TEXT, KEY (a)) SELECT id AS a, 'x' AS b FROM account"
        ),
        8 => format!("DROP TABLE {other}"),
        _ => format!("TRUNCATE TABLE {other}"),
    }
}
