//! Operations on the disk that fail: each of a scripted run once, and each with those after it for a while, by an error of the device or because
//! the disk is full. What was acknowledged stays, what failed can be tried again, and where the engine has to stop it can be read.

use crate::common::*;
use crate::run::{
    algorithm, clear_work, contents, execute, is_one_of, run_until_cut, small, verify,
};
use crate::script::*;
use millpond_store::io::sim::{OpKind, SimStorage, Step};
use millpond_store::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What fails.
#[derive(Clone, Copy, Debug)]
struct Fault {
    /// The operation it begins with.
    at: u64,
    /// How many fail.
    lasts: u64,
    how: Step,
    /// Whether what is on the disk is encrypted.
    encrypted: bool,
}

impl Fault {
    fn options(self, turn: u64) -> Options {
        let options = small(algorithm(turn));
        match self.encrypted {
            true => encrypted(options),
            false => options,
        }
    }

    /// Whether an operation of this kind can fail so.
    fn is_met_by(&self, kind: OpKind) -> bool {
        match self.how {
            Step::Full => matches!(kind, OpKind::Write | OpKind::SetLen | OpKind::Create),
            // What fails for a while leaves reads alone, for the test reads meanwhile.
            _ => self.lasts == 1 || kind != OpKind::Read,
        }
    }

    /// Lets the disk fail; counts the operations that may.
    fn strike(self, disk: &SimStorage) -> Arc<AtomicU64> {
        let steps = Arc::new(AtomicU64::new(0));
        let count = steps.clone();
        disk.on_step(move |kind, _| {
            if !self.is_met_by(kind) {
                return Step::Go;
            }
            let n = count.fetch_add(1, Ordering::Relaxed);
            match (self.at..self.at + self.lasts).contains(&n) {
                true => self.how,
                false => Step::Go,
            }
        });
        steps
    }
}

/// Runs the script, each statement again while it fails, unless the engine has stopped: the model before and after the last statement.
fn run_through(db: &Engine, script: &[Op], fault: Fault) -> (Model, Model) {
    let mut before = Model::default();
    for op in script {
        let after = model_of(op, &before);
        let mut tries = 0;
        while let Err(e) = execute(db, op) {
            if db.stopped().is_some() {
                assert!(is_one_of(&contents(db), [&before, &after]), "{fault:?}");
                return (before, after);
            }
            // It may fail, too; then the next try fails.
            let _ = clear_work(db);
            let found = contents(db);
            if is_one_of(&found, [&after]) {
                break;
            }
            assert!(is_one_of(&found, [&before]), "{fault:?}: {e}");
            tries += 1;
            assert!(
                tries <= fault.lasts,
                "{fault:?}: it is over, but not for: {e}"
            );
        }
        before = after;
    }
    (before.clone(), before)
}

/// Whether the script ended before the fault came. `at_once`: tables that go with their database.
fn strike_once(fault: Fault, at_once: usize, script: &[Op]) -> bool {
    let disk = SimStorage::new();
    let steps = fault.strike(&disk);
    let options = Options {
        drop_at_once: at_once,
        ..fault.options(fault.at)
    };
    let (before, after) = match open_with(&disk, options) {
        Ok(db) => run_through(&db, script, fault),
        Err(_) => Default::default(),
    };
    let finished = steps.load(Ordering::Relaxed) <= fault.at;
    let mut coin = Rng(fault.at + 1);
    disk.restart(|| coin.chance(50));
    verify(&disk, &before, &after, fault.at);
    finished
}

fn everywhere(how: Step, lasts: u64, stride: usize, script: &[Op]) {
    everywhere_with(1, how, lasts, stride, script);
}

fn everywhere_with(at_once: usize, how: Step, lasts: u64, stride: usize, script: &[Op]) {
    everywhere_of(at_once, how, lasts, stride, script, false);
}

fn everywhere_of(
    at_once: usize,
    how: Step,
    lasts: u64,
    stride: usize,
    script: &[Op],
    encrypted: bool,
) {
    let fault = |at| Fault {
        at,
        lasts,
        how,
        encrypted,
    };
    let mut at = (0..).step_by(stride);
    let ended = at.find(|&at| strike_once(fault(at), at_once, script));
    assert!(ended.is_some_and(|at| at > 20), "the script does more");
}

#[test]
fn an_error_at_every_operation() {
    everywhere(Step::Fail, 1, 1, &script());
}

#[test]
fn a_full_disk_at_every_operation() {
    everywhere(Step::Full, 1, 1, &script());
}

#[test]
fn an_error_at_every_operation_on_what_is_encrypted() {
    everywhere_of(1, Step::Fail, 1, 1, &script(), true);
}

#[test]
fn a_full_disk_at_every_operation_on_what_is_encrypted() {
    everywhere_of(1, Step::Full, 1, 1, &script(), true);
    everywhere_of(1, Step::Full, 20, 7, &script(), true);
}

#[test]
fn errors_for_a_while() {
    everywhere(Step::Fail, 20, 7, &script());
}

#[test]
fn a_full_disk_for_a_while() {
    everywhere(Step::Full, 20, 7, &script());
}

#[test]
fn an_error_at_every_operation_on_small_tables_and_copies() {
    everywhere(Step::Fail, 1, 2, &small_script());
    everywhere(Step::Fail, 1, 2, &copies_script());
}

#[test]
fn a_full_disk_at_every_operation_on_small_tables_and_copies() {
    everywhere(Step::Full, 1, 2, &small_script());
    everywhere(Step::Full, 1, 2, &copies_script());
}

#[test]
fn an_error_at_every_operation_on_transactions_of_ddl() {
    everywhere_with(100, Step::Fail, 1, 1, &transactions_script());
    everywhere_with(100, Step::Full, 1, 1, &transactions_script());
}

/// Recovery meets the error, and is tried again.
#[test]
fn an_error_at_every_operation_of_recovery() {
    fail_recovery(false);
}

#[test]
fn an_error_at_every_operation_of_recovery_of_what_is_encrypted() {
    fail_recovery(true);
}

fn fail_recovery(encrypted: bool) {
    // A third of the operations after each of these cuts, together all numbers.
    for (first, end) in [(0, 60), (1, 130), (2, 200)] {
        for how in [Step::Fail, Step::Full] {
            for at in (first..).step_by(3) {
                let disk = SimStorage::new();
                let fault = Fault {
                    at,
                    lasts: 1,
                    how,
                    encrypted,
                };
                cut_at(&disk, end);
                let (before, after) = match open_with(&disk, fault.options(end)) {
                    Ok(db) => run_until_cut(&db, &script()),
                    Err(_) => Default::default(),
                };
                let mut coin = Rng(end + 1);
                disk.restart(|| coin.chance(50));
                let steps = fault.strike(&disk);
                let opened = open_with(&disk, fault.options(end));
                let finished = steps.load(Ordering::Relaxed) <= at;
                disk.clear_hook();
                if let Ok(db) = opened {
                    let found = contents(&db);
                    assert!(is_one_of(&found, [&before, &after]), "{fault:?}");
                }
                disk.restart(|| coin.chance(50));
                verify(&disk, &before, &after, at);
                if finished {
                    break;
                }
            }
        }
    }
}
