//! Which statement begins with which word.

use super::Parser;
use crate::ast::{Statement, StatementKind};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

type Parse = for<'t> fn(&mut Parser<'t>) -> Result<StatementKind>;

/// The first word of each kind of statement, and what parses it (from that word on).
const STATEMENTS: &[(K, Parse)] = &[
    (K::SELECT, |p| p.query_statement()),
    (K::TABLE, |p| p.query_statement()),
    (K::VALUES, |p| p.query_statement()),
    (K::WITH, |p| p.with_statement()),
    (K::INSERT, |p| p.insert()),
    (K::REPLACE, |p| p.insert()),
    (K::UPDATE, |p| p.update()),
    (K::DELETE, |p| p.delete()),
    (K::DO, |p| p.do_statement()),
    (K::CALL, |p| p.call_statement()),
    (K::EXPLAIN, |p| p.explain()),
    (K::DESCRIBE, |p| p.explain()),
    (K::DESC, |p| p.explain()),
    (K::CREATE, |p| p.create()),
    (K::ALTER, |p| p.alter()),
    (K::DROP, |p| p.drop_object()),
    (K::TRUNCATE, |p| p.truncate()),
    (K::RENAME, |p| p.rename()),
    (K::IMPORT, |p| p.import_table()),
    (K::BEGIN, |p| p.begin()),
    (K::START, |p| p.start_statement()),
    (K::COMMIT, |p| p.commit()),
    (K::ROLLBACK, |p| p.rollback()),
    (K::SAVEPOINT, |p| p.savepoint()),
    (K::RELEASE, |p| p.release()),
    (K::LOCK, |p| p.lock()),
    (K::UNLOCK, |p| p.unlock()),
    (K::XA, |p| p.xa()),
    (K::SET, |p| p.set()),
    (K::USE, |p| p.use_database()),
    (K::HELP, |p| p.help()),
    (K::PREPARE, |p| p.prepare()),
    (K::EXECUTE, |p| p.execute()),
    (K::DEALLOCATE, |p| p.deallocate()),
    (K::HANDLER, |p| p.handler()),
    (K::LOAD, |p| p.load()),
    (K::SIGNAL, |p| p.signal()),
    (K::RESIGNAL, |p| p.resignal()),
    (K::GET, |p| p.get_diagnostics()),
    (K::GRANT, |p| p.grant()),
    (K::REVOKE, |p| p.revoke()),
    (K::ANALYZE, |p| p.maintain()),
    (K::CHECK, |p| p.maintain()),
    (K::CHECKSUM, |p| p.maintain()),
    (K::OPTIMIZE, |p| p.maintain()),
    (K::REPAIR, |p| p.maintain()),
    (K::INSTALL, |p| p.install()),
    (K::UNINSTALL, |p| p.uninstall()),
    (K::BACKUP, |p| p.backup()),
    (K::CLONE, |p| p.clone_data()),
    (K::BINLOG, |p| p.binlog()),
    (K::CACHE, |p| p.cache_index()),
    (K::FLUSH, |p| p.flush()),
    (K::KILL, |p| p.kill()),
    (K::RESTART, |p| p.restart()),
    (K::SHUTDOWN, |p| p.shutdown()),
    (K::STOP, |p| p.stop()),
    (K::RESET, |p| p.reset_statement()),
    (K::PURGE, |p| p.purge()),
    (K::CHANGE, |p| p.change()),
    (K::SHOW, |p| p.show()),
];

impl Parser<'_> {
    /// A statement, up to its semicolon or what else can't belong to it.
    pub fn statement(&mut self) -> Result<Statement> {
        let start = self.start();
        let (params, bytes) = (self.params, self.bytes);
        let kind = self.statement_kind()?;
        Ok(Statement {
            kind,
            span: self.span_from(start),
            params: self.params - params,
            bytes: self.bytes - bytes,
            deprecated: Vec::new(),
        })
    }

    fn statement_kind(&mut self) -> Result<StatementKind> {
        match self.kind() {
            TokenKind::LParen => self.query_statement(),
            TokenKind::Keyword(word) => {
                let row = STATEMENTS.iter().find(|(first, _)| *first == word);
                let (_, parse) = row.ok_or_else(|| self.error_here())?;
                parse(self)
            }
            _ => Err(self.error_here()),
        }
    }
}
