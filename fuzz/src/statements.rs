//! SQL against a database of a copy's own.

use std::cell::RefCell;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use millpond_session::{Instance, Session};
use millpond_store::io::sim::SimStorage;

use crate::database::{Sink, connect, fill, open};

/// After this a statement is killed. libFuzzer ends the run if that doesn't help.
const LONG: Duration = Duration::from_secs(2);
/// Inputs after which the instance is made anew: what statements leave in it (variables, accounts) would make later runs hard to repeat.
const INPUTS: u32 = 2_000;
/// Words of statements that reach beyond the database, or that wait for somebody.
const LEFT_OUT: &str = include_str!("../../crates/session/tests/session/mutations/left_out.txt");

struct Bench {
    instance: Instance,
    session: Session,
    begun: Sender<bool>,
    left: u32,
}

impl Bench {
    fn new() -> Bench {
        let variables = [
            ("innodb_lock_wait_timeout", "1"),
            ("lock_wait_timeout", "1"),
            ("cte_max_recursion_depth", "100"),
        ];
        let instance = open(&SimStorage::new(), &variables).expect("an empty disk opens");
        fill(&instance);
        let session = connect(&instance).expect("a session");
        let begun = watch(instance.clone(), session.id());
        Bench {
            instance,
            session,
            begun,
            left: INPUTS,
        }
    }

    fn run(&mut self, text: &str) {
        let _ = self.begun.send(true);
        for sql in [
            "ROLLBACK",
            "UNLOCK TABLES",
            "SET SESSION sql_mode = DEFAULT, foreign_key_checks = 1, autocommit = 1",
            "DROP DATABASE IF EXISTS f",
            "CREATE DATABASE f LIKE base WITH DATA",
            "USE f",
            text,
        ] {
            let _ = self.session.execute(sql, &mut Sink::default());
        }
        let _ = self.begun.send(false);
    }
}

/// Kills the session's statements that take long.
fn watch(instance: Instance, id: u32) -> Sender<bool> {
    let (begun, told) = channel();
    std::thread::spawn(move || {
        while let Ok(is_begun) = told.recv() {
            if is_begun && told.recv_timeout(LONG) == Err(RecvTimeoutError::Timeout) {
                let _ = instance.kill(id, false);
            }
        }
    });
    begun
}

/// A text, in a database `f` that is a copy of `base`.
pub fn run(data: &[u8]) {
    thread_local! {
        static BENCH: RefCell<Option<Bench>> = const { RefCell::new(None) };
    }
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let lower = text.to_ascii_lowercase();
    if LEFT_OUT.lines().any(|word| lower.contains(word)) || lower.contains("base") {
        return;
    }
    BENCH.with_borrow_mut(|bench| {
        let used = bench.get_or_insert_with(Bench::new);
        used.run(text);
        used.left -= 1;
        if used.left == 0 {
            let old = bench.take().expect("it is there");
            drop(old.session);
            let _ = old.instance.close();
        }
    });
}
