//! Compiled programs by name: those that all sessions share, and a session's hold on one.
//!
//! DDL on programs, DROP DATABASE included, raises a number once it is committed; what was read of the catalog under a lower number is
//! not used again. So nobody waits, and nobody is told.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use millpond_sql::catalog::programs::ProgramDef;
use millpond_sql::error::SqlResult;
use millpond_store::{Engine, ObjectKey};

use super::code::Program;
use super::compile;
use crate::statements::Compiled;

/// Programs kept compiled for all sessions, and how many a session holds.
const KEPT: usize = 1024;

/// Compiled programs of an instance.
#[derive(Default)]
pub(crate) struct Programs {
    generation: AtomicU64,
    known: Mutex<HashMap<ObjectKey, (u64, Arc<Program>)>>,
}

impl Programs {
    /// How often DDL has changed programs.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// DDL has changed programs.
    pub fn changed(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.known.lock().clear();
    }

    /// The program of this name as it is committed, if there is one.
    pub fn find(&self, engine: &Engine, key: &ObjectKey) -> SqlResult<Option<Arc<Program>>> {
        let generation = self.generation();
        if let Some((of, program)) = self.known.lock().get(key)
            && *of == generation
        {
            return Ok(Some(program.clone()));
        }
        let Some(def) = ProgramDef::find(engine, key)? else {
            return Ok(None);
        };
        let program = Arc::new(compile(&def)?);
        let mut known = self.known.lock();
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(key.clone(), (generation, program.clone()));
        Ok(Some(program))
    }
}

/// A session's hold on a program: with the plans of its statements that ran last.
pub(crate) struct Routine {
    pub program: Arc<Program>,
    /// By position in [`Program::statements`].
    pub statements: Vec<Compiled>,
}

impl Routine {
    /// A hold on a program none of whose statements the session has planned.
    pub fn new(program: Arc<Program>) -> Routine {
        let statements = program.statements.iter();
        Routine {
            statements: statements.map(|p| Compiled::prepared(p.clone())).collect(),
            program,
        }
    }
}

/// What a session holds.
#[derive(Default)]
pub(crate) struct Held {
    generation: u64,
    routines: HashMap<ObjectKey, Arc<Routine>>,
}

impl Held {
    /// The routine of this name, if there is one.
    pub fn find(
        &mut self,
        programs: &Programs,
        engine: &Engine,
        key: &ObjectKey,
    ) -> SqlResult<Option<Arc<Routine>>> {
        let generation = programs.generation();
        if self.generation != generation || self.routines.len() >= KEPT {
            self.routines.clear();
            self.generation = generation;
        }
        if let Some(known) = self.routines.get(key) {
            return Ok(Some(known.clone()));
        }
        let Some(program) = programs.find(engine, key)? else {
            return Ok(None);
        };
        let routine = Arc::new(Routine::new(program));
        self.routines.insert(key.clone(), routine.clone());
        Ok(Some(routine))
    }
}
