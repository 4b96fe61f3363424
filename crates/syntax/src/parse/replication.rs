//! Replication and group replication; what START, STOP, RESET, RENAME and CHANGE begin.

use super::Parser;
use crate::ast::{
    Credential, Filter, FilterItem, FilterRule, Ident, Items, ReplicaThread, ReplicationStatement,
    Reset, SourceValue, StartReplica, StatementKind, UntilOption,
};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

fn replication(statement: ReplicationStatement) -> StatementKind {
    StatementKind::Replication(Box::new(statement))
}

impl Parser<'_> {
    /// START.
    pub(crate) fn start_statement(&mut self) -> Result<StatementKind> {
        self.next();
        if self.eat(K::TRANSACTION) {
            return self.start_transaction();
        }
        if self.eat(K::GROUP_REPLICATION) {
            let listed = self.at_any(&[K::USER, K::PASSWORD, K::DEFAULT_AUTH]);
            let list = if listed {
                self.comma_list(Self::credential)?
            } else {
                Items::EMPTY
            };
            return Ok(replication(ReplicationStatement::StartGroup(list)));
        }
        self.expect_replica()?;
        let threads = self.replica_threads()?;
        let until = if self.eat(K::UNTIL) {
            self.comma_list(Self::until_option)?
        } else {
            Items::EMPTY
        };
        let credentials = self.row_of(|p| {
            let more = p.at_any(&[K::USER, K::PASSWORD, K::DEFAULT_AUTH, K::PLUGIN_DIR]);
            more.then(|| p.credential()).transpose()
        })?;
        let channel = self.for_channel()?;
        Ok(replication(ReplicationStatement::Start(StartReplica {
            threads,
            until,
            credentials,
            channel,
        })))
    }

    fn expect_replica(&mut self) -> Result<()> {
        match self.eat_any(&[K::REPLICA, K::SLAVE]) {
            Some(_) => Ok(()),
            None => Err(self.error_here()),
        }
    }

    fn replica_threads(&mut self) -> Result<Items<ReplicaThread>> {
        if !self.at_any(&[K::IO_THREAD, K::SQL_THREAD]) {
            return Ok(Items::EMPTY);
        }
        self.comma_list(Self::expect_choice)
    }

    pub(super) fn until_option(&mut self) -> Result<(UntilOption, Option<SourceValue>)> {
        let option: UntilOption = self.expect_choice()?;
        if option == UntilOption::SqlAfterMtsGaps {
            return Ok((option, None));
        }
        self.expect_punct(TokenKind::Eq)?;
        Ok((option, Some(self.source_value()?)))
    }

    pub(super) fn credential(&mut self) -> Result<(Credential, String)> {
        Ok((self.expect_choice()?, self.equals_text()?))
    }

    /// STOP.
    pub(crate) fn stop(&mut self) -> Result<StatementKind> {
        self.next();
        if self.eat(K::GROUP_REPLICATION) {
            return Ok(replication(ReplicationStatement::StopGroup));
        }
        self.expect_replica()?;
        let threads = self.replica_threads()?;
        let channel = self.for_channel()?;
        Ok(replication(ReplicationStatement::Stop { threads, channel }))
    }

    /// RESET.
    pub(crate) fn reset_statement(&mut self) -> Result<StatementKind> {
        self.next();
        if self.eat(K::PERSIST) {
            return self.reset_persist();
        }
        if self.eat_words("QUERY CACHE") {
            return self.reset_query_cache();
        }
        let list = self.comma_list(Self::reset_item)?;
        Ok(replication(ReplicationStatement::Reset(list)))
    }

    /// What RESET resets.
    pub(super) fn reset_item(&mut self) -> Result<Reset> {
        if self.eat(K::MASTER) || self.eat_words("BINARY LOGS AND GTIDS") {
            let to = if self.eat(K::TO) {
                Some(self.uint()?)
            } else {
                None
            };
            return Ok(Reset::BinaryLogs(to));
        }
        self.expect_replica()?;
        let all = self.eat(K::ALL);
        let channel = self.for_channel()?;
        Ok(Reset::Replica { all, channel })
    }

    /// RENAME.
    pub(crate) fn rename(&mut self) -> Result<StatementKind> {
        self.next();
        if self.eat(K::USER) {
            return self.rename_user();
        }
        self.expect_tables()?;
        self.rename_table()
    }

    /// PURGE.
    pub(crate) fn purge(&mut self) -> Result<StatementKind> {
        self.next();
        if self.eat_any(&[K::BINARY, K::MASTER]).is_none() {
            return Err(self.error_here());
        }
        self.expect(K::LOGS)?;
        Ok(replication(if self.eat(K::TO) {
            ReplicationStatement::PurgeTo(self.text_literal()?)
        } else {
            self.expect(K::BEFORE)?;
            ReplicationStatement::PurgeBefore(self.expr()?)
        }))
    }

    /// CHANGE.
    pub(crate) fn change(&mut self) -> Result<StatementKind> {
        self.next();
        if self.eat_words("REPLICATION FILTER") {
            let filters = self.comma_list(Self::replication_filter)?;
            let channel = self.for_channel()?;
            return Ok(replication(ReplicationStatement::ChangeFilter {
                filters,
                channel,
            }));
        }
        if !self.eat(K::MASTER) {
            self.expect_words("REPLICATION SOURCE")?;
        }
        self.expect(K::TO)?;
        let options = self.comma_list(Self::source_option)?;
        let channel = self.for_channel()?;
        Ok(replication(ReplicationStatement::ChangeSource {
            options,
            channel,
        }))
    }

    pub(super) fn source_option(&mut self) -> Result<(Ident, SourceValue)> {
        if !is_source_option(self.slice(*self.peek())) {
            return Err(self.error_here());
        }
        // Some of the options' names are reserved words.
        let name = self.ident_here();
        self.expect_punct(TokenKind::Eq)?;
        Ok((name, self.source_value()?))
    }

    fn source_value(&mut self) -> Result<SourceValue> {
        match self.kind() {
            TokenKind::Text if self.kind_nth(1) != TokenKind::UserVariable => {
                self.text_literal().map(SourceValue::Text)
            }
            TokenKind::Int | TokenKind::Decimal | TokenKind::Float => {
                self.operand_expr().map(SourceValue::Number)
            }
            TokenKind::LParen => self
                .parens(|p| {
                    let none = p.at_punct(TokenKind::RParen);
                    if none {
                        Ok(Items::EMPTY)
                    } else {
                        p.comma_list(Self::uint)
                    }
                })
                .map(SourceValue::Numbers),
            TokenKind::Keyword(K::NULL | K::ON) => Ok(SourceValue::Word(self.ident_here())),
            TokenKind::Keyword(_) if self.kind_nth(1) != TokenKind::UserVariable => {
                self.ident().map(SourceValue::Word)
            }
            _ => self.account().map(SourceValue::Account),
        }
    }

    pub(super) fn replication_filter(&mut self) -> Result<Filter> {
        let rule: FilterRule = self.expect_choice()?;
        self.expect_punct(TokenKind::Eq)?;
        let items = self.parens(|p| {
            if p.at_punct(TokenKind::RParen) {
                return Ok(Items::EMPTY);
            }
            p.comma_list(Self::filter_item)
        })?;
        Ok(Filter { rule, items })
    }

    pub(super) fn filter_item(&mut self) -> Result<FilterItem> {
        match self.kind() {
            TokenKind::Text => self.text_literal().map(FilterItem::Pattern),
            TokenKind::LParen => self.parens(|p| {
                let from = p.ident()?;
                p.expect_punct(TokenKind::Comma)?;
                Ok(FilterItem::Pair(from, p.ident()?))
            }),
            _ => self.object_name().map(FilterItem::Name),
        }
    }
}

/// Whether CHANGE REPLICATION SOURCE has an option of this name.
fn is_source_option(word: &str) -> bool {
    const OTHERS: &[&str] = &[
        "GET_MASTER_PUBLIC_KEY",
        "GET_SOURCE_PUBLIC_KEY",
        "IGNORE_SERVER_IDS",
        "NETWORK_NAMESPACE",
        "PRIVILEGE_CHECKS_USER",
        "RELAY_LOG_FILE",
        "RELAY_LOG_POS",
        "REQUIRE_ROW_FORMAT",
        "REQUIRE_TABLE_PRIMARY_KEY_CHECK",
        "ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS",
        "GTID_ONLY",
    ];
    let upper = word.to_ascii_uppercase();
    let keyword = || crate::keyword::Keyword::of(&upper).is_some();
    OTHERS.contains(&upper.as_str())
        || (upper.starts_with("MASTER_") || upper.starts_with("SOURCE_")) && keyword()
}
