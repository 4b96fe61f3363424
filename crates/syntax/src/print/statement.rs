//! Statements: each as its kind prints itself.

use std::fmt::{Display, Formatter, Result};

use crate::ast::{Statement, StatementKind};

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.kind.fmt(f)
    }
}

impl Display for StatementKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            StatementKind::Query(s) => s.fmt(f),
            StatementKind::Insert(s) => s.fmt(f),
            StatementKind::Update(s) => s.fmt(f),
            StatementKind::Delete(s) => s.fmt(f),
            StatementKind::Do(s) => s.fmt(f),
            StatementKind::Call(s) => s.fmt(f),
            StatementKind::Explain(s) => s.fmt(f),
            StatementKind::Table(s) => s.fmt(f),
            StatementKind::AlterTable(s) => s.fmt(f),
            StatementKind::Schema(s) => s.fmt(f),
            StatementKind::Routine(s) => s.fmt(f),
            StatementKind::Compound(s) => s.fmt(f),
            StatementKind::Transaction(s) => s.fmt(f),
            StatementKind::Set(s) => s.fmt(f),
            StatementKind::Session(s) => s.fmt(f),
            StatementKind::Account(s) => s.fmt(f),
            StatementKind::Admin(s) => s.fmt(f),
            StatementKind::Replication(s) => s.fmt(f),
            StatementKind::Show(s) => s.fmt(f),
        }
    }
}
