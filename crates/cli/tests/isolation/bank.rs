//! A bank: money goes between accounts, accounts are opened and closed, and whoever counts at one moment counts all of it.

use crate::client::{Client, Failed};
use crate::history::Level;

const ACCOUNTS: i64 = 24;
const MONEY: i64 = 100;
pub const TOTAL: i64 = ACCOUNTS / 2 * MONEY;

/// Half of the accounts are open at first.
pub fn fill() -> String {
    let rows: Vec<String> = (0..ACCOUNTS / 2)
        .map(|i| format!("({}, {}, {MONEY})", 2 * i, i % 5))
        .collect();
    format!("INSERT INTO account VALUES {}", rows.join(", "))
}

/// A transfer or an audit.
pub fn transaction(client: &mut Client) -> Result<(), Failed> {
    let done = match client.rng.below(3) {
        0 => audit(client),
        _ => transfer(client),
    };
    if let Err(Failed::Refused) = done {
        client.roll_back();
    }
    done
}

/// Some of one account's money goes to another, which is opened if it isn't there; an account without money is closed.
fn transfer(client: &mut Client) -> Result<(), Failed> {
    let from = client.rng.below(ACCOUNTS as u64) as i64;
    let to = (from + 1 + client.rng.below(ACCOUNTS as u64 - 1) as i64) % ACCOUNTS;
    client.run_sql("BEGIN", &[])?;
    let balance = "SELECT balance FROM account WHERE id = ? FOR UPDATE";
    let (rows, _) = client.ask::<i64>(balance, &[from])?;
    let Some(there) = rows.first().copied() else {
        return Err(Failed::Refused);
    };
    let all = client.rng.below(4) == 0;
    let sum = if all {
        there
    } else {
        client.rng.below(there.max(1) as u64) as i64
    };
    if sum == there {
        client.run_sql("DELETE FROM account WHERE id = ?", &[from])?;
    } else {
        client.run_sql(
            "UPDATE account SET balance = balance - ? WHERE id = ?",
            &[sum, from],
        )?;
    }
    if client.rng.below(2) == 0 {
        let put =
            "INSERT INTO account VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE balance = balance + ?";
        client.run_sql(put, &[to, to % 5, sum, sum])?;
    } else {
        client.run_sql(
            "UPDATE account SET balance = balance + ? WHERE id = ?",
            &[sum, to],
        )?;
        if sum > 0 && client.affected() == 0 {
            client.run_sql("INSERT INTO account VALUES (?, ?, ?)", &[to, to % 5, sum])?;
        }
    }
    client.run_sql("COMMIT", &[]).map(drop)
}

/// Counts the money, by the rows or by an index that has it too, now and again.
fn audit(client: &mut Client) -> Result<(), Failed> {
    let level = client.shared.level;
    if level == Level::ReadUncommitted {
        return Ok(());
    }
    // Locks on what a scan finds don't keep rows from being moved behind it, where gaps aren't locked.
    let locking = level != Level::ReadCommitted && client.rng.below(4) == 0;
    let lock = if locking { " LOCK IN SHARE MODE" } else { "" };
    client.run_sql("BEGIN", &[])?;
    let mut before = None;
    for _ in 0..2 {
        let index = ["PRIMARY", "owner"][client.rng.below(2) as usize];
        let sql = format!("SELECT SUM(balance), COUNT(*) FROM account FORCE INDEX ({index}){lock}");
        let (rows, _) = client.ask::<(i64, i64)>(&sql, &[])?;
        let (total, accounts) = rows[0];
        if total != TOTAL {
            client.wrong = Some(format!(
                "{total} in {accounts} accounts, not {TOTAL}: {sql}"
            ));
        }
        let same = before.is_none_or(|b| b == accounts);
        if !same && level != Level::ReadCommitted {
            client.wrong = Some(format!(
                "{accounts} accounts, {before:?} a moment ago: {sql}"
            ));
        }
        before = Some(accounts);
    }
    client.run_sql("COMMIT", &[]).map(drop)
}
