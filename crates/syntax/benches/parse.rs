//! What parsing costs, in processor time of its thread: `cargo bench -p millpond-syntax --bench parse`.

use std::hint::black_box;
use std::time::Duration;

use millpond_syntax::{LexMode, digest, generalize, parse_statement};

/// Processor time this thread has used.
fn now() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("schedstat");
    let ns = text.split_whitespace().next().expect("a number");
    Duration::from_nanos(ns.parse().expect("a number"))
}

/// Nanoseconds a call takes, best of several rounds.
fn each(calls: u32, mut call: impl FnMut()) -> f64 {
    let rounds = (0..7).map(|_| {
        let start = now();
        (0..calls).for_each(|_| call());
        now() - start
    });
    let best = rounds.min().unwrap_or_default();
    best.as_nanos() as f64 / f64::from(calls)
}

fn small(name: &str, text: &str) {
    let mode = LexMode::default();
    let parse = each(200_000, || {
        drop(black_box(parse_statement(black_box(text), mode)))
    });
    let general = each(200_000, || {
        drop(black_box(generalize(black_box(text), mode)))
    });
    let digest = each(50_000, || drop(black_box(digest(black_box(text), mode))));
    println!("{name}: parse {parse:.0} ns, generalize {general:.0} ns, digest {digest:.0} ns");
}

fn large(name: &str, text: &str) {
    let mode = LexMode::default();
    let calls = (40_000_000 / text.len()).max(1) as u32;
    let ns = each(calls, || {
        drop(black_box(parse_statement(black_box(text), mode)))
    });
    let rate = text.len() as f64 / ns * 1000.0;
    println!("{name}, {} bytes: {rate:.0} MB/s", text.len());
}

fn main() {
    small("point select", "SELECT c FROM sbtest1 WHERE id=42");
    small(
        "join",
        "SELECT o.id, o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id \
         WHERE o.state = 'open' AND o.total > 10.5 ORDER BY o.id DESC LIMIT 10",
    );
    small(
        "insert",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, 5023, '68487932199-96439406143-93774651418', '67847967377-48000963322')",
    );
    let row = "(12345, 'some text of a row', 3.25, NULL, '2020-01-01 10:00:00', 7)";
    let row = format!("({})", [&row[1..row.len() - 1]; 5].join(", "));
    let rows = |n| format!("INSERT INTO t VALUES {}", vec![row.as_str(); n].join(", "));
    large("100 rows of 30 columns", &rows(100));
    large("10000 rows of 30 columns", &rows(10_000));
    let ids: Vec<String> = (0..200_000).map(|n| n.to_string()).collect();
    large(
        "IN list",
        &format!("SELECT 1 FROM t WHERE a IN ({})", ids.join(",")),
    );
    for n in [10_000, 100_000, 1_000_000] {
        large(
            "non-ASCII text",
            &format!("SELECT '{}'", "\u{e9}".repeat(n / 2)),
        );
        large(
            "non-ASCII names",
            &format!("SELECT f({})", vec!["\u{e9}t\u{e9}"; n / 6].join(",")),
        );
        large("sums", &format!("SELECT {}", vec!["a"; n / 2].join("+")));
        large(
            "calls",
            &format!("SELECT f({})", vec!["f((1))"; n / 7].join(",")),
        );
        large(
            "subqueries",
            &format!("SELECT f({})", vec!["(select 1)"; n / 11].join(",")),
        );
    }
}
