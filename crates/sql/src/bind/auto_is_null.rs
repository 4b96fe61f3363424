//! `sql_auto_is_null`: the SELECT after an INSERT that made an AUTO_INCREMENT number finds that row by `WHERE column IS NULL`.
//!
//! As in MySQL the number is found once. What the condition was taken to be is noted with the plan, which serves while that is so.

use super::scope::Binder;
use crate::expr::bind::compare;
use crate::expr::{CompareOp, Expr, ExprKind};
use crate::logical::TableKind;
use crate::types::SqlType;
use crate::value::Value;

impl Binder<'_, '_> {
    /// Makes of a condition of WHERE that an AUTO_INCREMENT column is NULL, which it never is, that it is the number made last.
    pub(super) fn find_generated(&mut self, condition: &mut Expr) {
        let ExprKind::IsNull(column) = &condition.kind else {
            return;
        };
        if !self.is_numbered(column) {
            return;
        }
        let finds = self.cx.env.found_by_null();
        self.notes.auto_is_null = Some(finds);
        if let Some(id) = finds.filter(|id| *id > 0) {
            let id = Expr::literal(Value::UInt(id), SqlType::ubigint());
            *condition = compare(CompareOp::Eq, (**column).clone(), id);
        }
    }

    /// Whether an expression is the AUTO_INCREMENT column of a table of the innermost block, in all of whose rows that table has one.
    fn is_numbered(&mut self, e: &Expr) -> bool {
        let ExprKind::Column { source, column, .. } = e.kind else {
            return false;
        };
        let frame = self.frame();
        let at = frame.tables.iter().position(|t| t.id == source);
        at.is_some_and(|at| match &frame.tables[at].kind {
            TableKind::Stored { schema, .. } => {
                !frame.nullable[at] && schema.columns.get(column).is_some_and(|c| c.auto_increment)
            }
            _ => false,
        })
    }
}
