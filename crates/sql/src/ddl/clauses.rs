//! ALGORITHM and LOCK: what a statement asks of the way in which its work is done. What can't be kept is refused before anything
//! is done; what is more than was asked for (less copying, fewer locks) is given.

use millpond_store::engine::Beside;

use super::change::Way;
use crate::error::{SqlError, SqlResult};
use crate::parse::ast::{AlterAlgorithm as Algorithm, AlterHow, AlterLock as Lock};

/// The clauses of a statement.
pub(super) struct Clauses {
    algorithm: Algorithm,
    lock: Lock,
}

impl Clauses {
    pub fn new() -> Clauses {
        Clauses {
            algorithm: Algorithm::Default,
            lock: Lock::Default,
        }
    }

    /// The clauses of a statement that has them apart.
    pub fn of(list: &[AlterHow]) -> SqlResult<Clauses> {
        let mut clauses = Clauses::new();
        list.iter().for_each(|how| clauses.take(*how));
        clauses.check().map(|()| clauses)
    }

    /// Takes a clause.
    pub fn take(&mut self, how: AlterHow) {
        match how {
            AlterHow::Algorithm(algorithm) => self.algorithm = algorithm,
            AlterHow::Lock(lock) => self.lock = lock,
        }
    }

    /// Whether the rows are not to be written anew.
    pub fn is_inplace(&self) -> bool {
        matches!(self.algorithm, Algorithm::Inplace | Algorithm::Instant)
    }

    /// Error 1221 for clauses that contradict each other.
    pub fn check(&self) -> SqlResult<()> {
        if self.algorithm == Algorithm::Instant && self.lock != Lock::Default {
            return Err(SqlError::new(
                1221,
                "Incorrect usage of ALGORITHM=INSTANT and LOCK=NONE/SHARED/EXCLUSIVE",
            ));
        }
        Ok(())
    }

    /// Whether a change may be made this way, and beside what; errors 1845 and 1846. `alone`: nobody else knows the table.
    pub fn allow(&self, way: &Way, alone: bool) -> SqlResult<Beside> {
        match (self.algorithm, way) {
            (Algorithm::Instant, Way::AddIndex(_) | Way::DropIndex(_) | Way::Rebuild) => {
                return Err(SqlError::new(
                    1845,
                    "ALGORITHM=INSTANT is not supported for this operation. Try ALGORITHM=COPY/INPLACE.",
                ));
            }
            (Algorithm::NoCopy, Way::Rebuild)
            | (Algorithm::Instant | Algorithm::Inplace | Algorithm::NoCopy, Way::Copy) => {
                let reason = "the rows must be written anew";
                let what = format_args!("ALGORITHM={}", self.algorithm);
                return Err(refused(what, reason, "ALGORITHM=COPY"));
            }
            _ => {}
        }
        if !alone {
            self.allow_lock(way)?;
        }
        let copies = *way == Way::Copy || self.algorithm == Algorithm::Copy;
        Ok(match self.lock {
            Lock::Default if copies => Beside::Reads,
            Lock::Default | Lock::None => Beside::Writes,
            Lock::Shared => Beside::Reads,
            Lock::Exclusive => Beside::Nothing,
        })
    }

    /// The same for rows written anew by request, which is what ALGORITHM=INPLACE does in MySQL too.
    pub fn allow_anew(&self, way: &Way, alone: bool) -> SqlResult<Beside> {
        let algorithm = match self.algorithm {
            Algorithm::Inplace => Algorithm::Default,
            other => other,
        };
        let lock = self.lock;
        Clauses { algorithm, lock }.allow(way, alone)
    }

    fn allow_lock(&self, way: &Way) -> SqlResult<()> {
        match (self.lock, way) {
            (Lock::None, way) if *way == Way::Copy || self.algorithm == Algorithm::Copy => Err(
                refused("LOCK=NONE", "COPY algorithm requires a lock", "LOCK=SHARED"),
            ),
            _ => Ok(()),
        }
    }
}

fn refused(what: impl std::fmt::Display, reason: &str, instead: &str) -> SqlError {
    SqlError::new(
        1846,
        format!("{what} is not supported. Reason: {reason}. Try {instead}."),
    )
}
