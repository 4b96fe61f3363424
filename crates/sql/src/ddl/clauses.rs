//! ALGORITHM and LOCK: what a statement asks of the way in which its work is done. What can't be kept is refused before anything
//! is done; what is more than was asked for (less copying, fewer locks) is given.

use millpond_store::engine::Beside;

use super::change::Way;
use super::inplace::Limits;
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

    /// The algorithm that was asked for, if it writes no row anew.
    pub fn without_copy(&self) -> Option<Algorithm> {
        use Algorithm as A;
        matches!(self.algorithm, A::Inplace | A::Instant | A::NoCopy).then_some(self.algorithm)
    }

    /// Whether the rows are to be copied as MySQL's COPY does.
    pub fn asks_copy(&self) -> bool {
        self.algorithm == Algorithm::Copy
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
    pub fn allow(&self, way: &Way, mut limits: Limits, alone: bool) -> SqlResult<Beside> {
        // Rows that are written anew are held to it on their way, those that change meanwhile too.
        limits.looks &= !matches!(way, Way::Rebuild | Way::Copy);
        self.allow_algorithm(way, limits)?;
        if !alone {
            self.allow_lock(way, limits)?;
        }
        let copies = *way == Way::Copy || self.algorithm == Algorithm::Copy || limits.looks;
        Ok(match self.lock {
            Lock::Default if copies => Beside::Reads,
            Lock::Default | Lock::None => Beside::Writes,
            Lock::Shared => Beside::Reads,
            Lock::Exclusive => Beside::Nothing,
        })
    }

    fn allow_algorithm(&self, way: &Way, limits: Limits) -> SqlResult<()> {
        let copies = limits.copies;
        let what = format_args!("ALGORITHM={}", self.algorithm);
        let anew = limits.looks || matches!(way, Way::Rebuild | Way::Copy);
        let instead = match (self.algorithm, way) {
            (Algorithm::Default | Algorithm::Copy, _) => return Ok(()),
            (Algorithm::Instant | Algorithm::Inplace | Algorithm::NoCopy, _)
                if anew && copies.is_some() =>
            {
                "ALGORITHM=COPY"
            }
            (Algorithm::Instant, Way::AddIndex(_) | Way::DropIndex(_) | Way::ReplaceIndex(..)) => {
                "ALGORITHM=COPY/INPLACE"
            }
            (Algorithm::Instant | Algorithm::NoCopy, _) if anew => "ALGORITHM=COPY/INPLACE",
            _ => return Ok(()),
        };
        match copies.flatten() {
            Some(reason) if anew => Err(refused(what, reason, instead)),
            _ => Err(SqlError::new(
                1845,
                format!("{what} is not supported for this operation. Try {instead}."),
            )),
        }
    }

    fn allow_lock(&self, way: &Way, limits: Limits) -> SqlResult<()> {
        let copies = "COPY algorithm requires a lock";
        let reason = match way {
            _ if self.algorithm == Algorithm::Copy || limits.looks => copies,
            Way::Copy => limits.lock.unwrap_or(copies),
            _ => return Ok(()),
        };
        match self.lock {
            Lock::None => Err(refused("LOCK=NONE", reason, "LOCK=SHARED")),
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
