//! Transactions, locks and XA.

use super::Parser;
use crate::ast::{
    AccessMode, Completion, LockedTable, Scope, StatementKind, TransactionStatement, XaStatement,
    Xid,
};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

fn transaction(statement: TransactionStatement) -> StatementKind {
    StatementKind::Transaction(Box::new(statement))
}

impl Parser<'_> {
    /// BEGIN outside of a stored program.
    pub(crate) fn begin(&mut self) -> Result<StatementKind> {
        self.next();
        self.eat(K::WORK);
        Ok(transaction(TransactionStatement::Begin))
    }

    /// Behind START TRANSACTION.
    pub(crate) fn start_transaction(&mut self) -> Result<StatementKind> {
        let (mut snapshot, mut access) = (false, None::<AccessMode>);
        let mut conflict = false;
        loop {
            if self.eat_words("WITH CONSISTENT SNAPSHOT") {
                snapshot = true;
            } else if let Some(mode) = self.choice() {
                conflict |= access.is_some_and(|a| a != mode);
                access = Some(mode);
            } else if snapshot || access.is_some() {
                return Err(self.error_here());
            } else {
                break;
            }
            if !self.eat_punct(TokenKind::Comma) {
                break;
            }
        }
        // As in MySQL, which reads them all first.
        if conflict {
            return Err(self.error_here());
        }
        Ok(transaction(TransactionStatement::Start {
            snapshot,
            access,
        }))
    }

    /// COMMIT.
    pub(crate) fn commit(&mut self) -> Result<StatementKind> {
        self.next();
        Ok(transaction(TransactionStatement::Commit(
            self.completion_of_transaction()?,
        )))
    }

    /// ROLLBACK.
    pub(crate) fn rollback(&mut self) -> Result<StatementKind> {
        self.next();
        self.eat(K::WORK);
        if self.eat(K::TO) {
            self.eat(K::SAVEPOINT);
            return Ok(transaction(TransactionStatement::RollbackTo(self.ident()?)));
        }
        Ok(transaction(TransactionStatement::Rollback(
            self.completion_of_transaction()?,
        )))
    }

    fn completion_of_transaction(&mut self) -> Result<Completion> {
        self.eat(K::WORK);
        let chain = self.yes_or_no("AND CHAIN", "AND NO CHAIN");
        let at = self.start();
        let release = self.yes_or_no("RELEASE", "NO RELEASE");
        if chain == Some(true) && release == Some(true) {
            return Err(self.error_at(at));
        }
        Ok(Completion { chain, release })
    }

    /// SAVEPOINT.
    pub(crate) fn savepoint(&mut self) -> Result<StatementKind> {
        self.next();
        Ok(transaction(TransactionStatement::Savepoint(self.ident()?)))
    }

    /// RELEASE SAVEPOINT.
    pub(crate) fn release(&mut self) -> Result<StatementKind> {
        self.next();
        self.expect(K::SAVEPOINT)?;
        Ok(transaction(TransactionStatement::ReleaseSavepoint(
            self.ident()?,
        )))
    }

    /// Behind SET ... TRANSACTION.
    pub(crate) fn set_transaction(&mut self, scope: Option<Scope>) -> Result<StatementKind> {
        let (mut isolation, mut access) = (None, None);
        loop {
            if isolation.is_none() && self.eat_words("ISOLATION LEVEL") {
                isolation = Some(self.expect_choice()?);
            } else if access.is_none() {
                access = Some(self.expect_choice()?);
            } else {
                return Err(self.error_here());
            }
            if !self.eat_punct(TokenKind::Comma) {
                break;
            }
        }
        Ok(transaction(TransactionStatement::Set {
            scope,
            isolation,
            access,
        }))
    }

    /// LOCK.
    pub(crate) fn lock(&mut self) -> Result<StatementKind> {
        self.next();
        if self.eat_words("INSTANCE FOR BACKUP") {
            return Ok(transaction(TransactionStatement::LockInstance));
        }
        self.expect_tables()?;
        let tables = self.comma_list(Self::locked_table)?;
        Ok(transaction(TransactionStatement::LockTables(tables)))
    }

    pub(super) fn locked_table(&mut self) -> Result<LockedTable> {
        let name = self.object_name()?;
        let aliased = self.eat(K::AS) || self.at_ident();
        let alias = if aliased { Some(self.ident()?) } else { None };
        Ok(LockedTable {
            name,
            alias,
            lock: self.expect_choice()?,
        })
    }

    /// TABLE or TABLES.
    pub(crate) fn expect_tables(&mut self) -> Result<()> {
        match self.eat_any(&[K::TABLE, K::TABLES]) {
            Some(_) => Ok(()),
            None => Err(self.error_here()),
        }
    }

    /// UNLOCK.
    pub(crate) fn unlock(&mut self) -> Result<StatementKind> {
        self.next();
        if self.eat(K::INSTANCE) {
            return Ok(transaction(TransactionStatement::UnlockInstance));
        }
        self.expect_tables()?;
        Ok(transaction(TransactionStatement::UnlockTables))
    }

    /// XA.
    pub(crate) fn xa(&mut self) -> Result<StatementKind> {
        use XaStatement as X;
        self.next();
        let word = self.keyword();
        self.next();
        let xa = match word {
            Some(K::START | K::BEGIN) => X::Start(self.xid()?, self.choice()),
            Some(K::END) => X::End(self.xid()?, self.choice()),
            Some(K::PREPARE) => X::Prepare(self.xid()?),
            Some(K::COMMIT) => X::Commit(self.xid()?, self.eat_words("ONE PHASE")),
            Some(K::ROLLBACK) => X::Rollback(self.xid()?),
            Some(K::RECOVER) => X::Recover(self.eat_words("CONVERT XID")),
            _ => return Err(self.error_here()),
        };
        Ok(transaction(TransactionStatement::Xa(xa)))
    }

    fn xid(&mut self) -> Result<Xid> {
        let parts = self.comma_list(Self::operand_expr)?;
        let xid = Xid { parts };
        match xid.values() {
            Some(_) => Ok(xid),
            None => Err(self.error_here()),
        }
    }
}
