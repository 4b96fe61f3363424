use super::*;
use crate::Result;
use crate::target::{Param, StatementId, TextRow};
use std::collections::HashMap;

/// Tables as a map from name to number of rows; fails at the statement given.
#[derive(Default)]
struct Fake {
    tables: Mutex<HashMap<String, u64>>,
    refuse: Option<&'static str>,
    stop_at: Option<(&'static str, Stop)>,
}

impl Target for Fake {
    fn describe(&self) -> String {
        "fake".into()
    }
    fn name(&self) -> String {
        "fake".into()
    }
    fn connect(&self) -> Result<Box<dyn Client + '_>> {
        Ok(Box::new(FakeClient(self)))
    }
}

struct FakeClient<'a>(&'a Fake);

impl Client for FakeClient<'_> {
    fn run(&mut self, sql: &str) -> Result<u64> {
        if self.0.refuse.is_some_and(|r| sql.starts_with(r)) {
            return Err("refused".into());
        }
        if let Some((at, stop)) = &self.0.stop_at
            && sql.starts_with(at)
        {
            stop.set();
        }
        let words: Vec<&str> = sql.split_whitespace().collect();
        let mut tables = self.0.tables.lock().unwrap();
        Ok(match words[..] {
            ["CREATE", "TABLE", t, ..] | ["CREATE", "TEMPORARY", "TABLE", t, ..] => {
                assert!(tables.insert(t.into(), 0).is_none());
                0
            }
            ["INSERT", "INTO", t, ..] => {
                *tables.get_mut(t).ok_or("no table")? += 1;
                0
            }
            ["SELECT", "*", "FROM", t] => *tables.get(t).ok_or("no table")?,
            ["DROP", "TABLE", t] | ["DROP", "TEMPORARY", "TABLE", t] => {
                tables.remove(t).ok_or("no table")?;
                0
            }
            _ => 0,
        })
    }
    fn rows(&mut self, _sql: &str) -> Result<Vec<TextRow>> {
        Ok(Vec::new())
    }
    fn prepare(&mut self, _sql: &str) -> Result<StatementId> {
        Err("not used".into())
    }
    fn execute(&mut self, _statement: StatementId, _params: &[Param<'_>]) -> Result<()> {
        Err("not used".into())
    }
}

fn plan(tables: u32, threads: u16) -> Plan {
    Plan {
        tables,
        threads,
        random_select: threads > 2,
        temporary: false,
    }
}

fn on(stop: &Stop) -> On<'_> {
    On { stop, shows: false }
}

#[test]
fn every_table_goes_through_every_phase() {
    for threads in [1, 2, 7] {
        let fake = Fake::default();
        let out = run(&fake, plan(100, threads), on(&Stop::default())).unwrap();
        assert!(out.complete && out.error.is_none());
        assert_eq!(out.phases.len(), 4);
        for p in &out.phases {
            assert_eq!(p.done, 100);
            assert_eq!(p.samples.first(), Some(&(0.0, 0)));
            assert_eq!(p.samples.last(), Some(&(p.seconds, 100)));
            assert!(p.samples.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1));
        }
        assert!(fake.tables.lock().unwrap().is_empty());
    }
}

#[test]
fn temporary_tables_are_used_by_who_made_them() {
    // Whoever makes a table that is not temporary is refused.
    let fake = Fake {
        refuse: Some("CREATE TABLE"),
        ..Fake::default()
    };
    let plan = Plan {
        temporary: true,
        ..plan(100, 2)
    };
    let out = run(&fake, plan, on(&Stop::default())).unwrap();
    assert!(out.complete && out.error.is_none());
    assert!(fake.tables.lock().unwrap().is_empty());
}

#[test]
fn an_error_ends_the_run_and_is_told() {
    let fake = Fake {
        refuse: Some("INSERT"),
        ..Fake::default()
    };
    let out = run(&fake, plan(10, 3), on(&Stop::default())).unwrap();
    assert!(!out.complete);
    assert!(out.error.unwrap().ends_with("refused"));
    assert_eq!(out.phases[0].done, 10);
    assert!(out.phases.iter().skip(1).all(|p| p.done == 0));
}

#[test]
fn refused_connections_end_the_run() {
    let fake = Fake {
        refuse: Some("USE"),
        ..Fake::default()
    };
    let out = run(&fake, plan(10, 3), on(&Stop::default())).unwrap();
    assert!(out.error.unwrap().contains("cannot connect"));
}

#[test]
fn stopping_leaves_what_was_done() {
    let stop = Stop::default();
    let fake = Fake {
        stop_at: Some(("SELECT", stop.clone())),
        ..Fake::default()
    };
    let out = run(&fake, plan(10, 1), on(&stop)).unwrap();
    assert!(!out.complete && out.error.is_none());
    let done: Vec<u64> = out.phases.iter().map(|p| p.done).collect();
    assert_eq!(done, [10, 10, 1]);
}

#[test]
fn shares_cover_all_tables_once() {
    for (tables, threads) in [(10, 3), (1, 5), (50_000, 8), (7, 7)] {
        let p = plan(tables, threads);
        let all: Vec<u32> = (0..threads).flat_map(|w| share(p, w)).collect();
        assert_eq!(all, (0..tables).collect::<Vec<_>>());
    }
}
