//! What is a condition by its form.

use millpond_syntax::ast;

/// Whether an expression is a condition by its form, as CHECK wants it, and as documents have it for TRUE or FALSE:
/// whatever else could be true or false is none.
pub fn is_condition(e: &ast::Expr) -> bool {
    use ast::{BinaryOp as B, ExprKind as A, UnaryOp};
    let asks = |op: B| {
        let compares = [B::Eq, B::NullSafeEq, B::Ne, B::Lt, B::Le, B::Gt, B::Ge];
        let joins = [B::And, B::Or, B::Xor];
        let others = [B::Regexp, B::NotRegexp, B::MemberOf, B::SoundsLike];
        compares.contains(&op) || joins.contains(&op) || others.contains(&op)
    };
    match &e.tree().kind {
        A::Bool(_) | A::Is(..) | A::Like(_) | A::Between(_) | A::In(_) | A::InQuery(_) => true,
        A::Quantified(_) | A::Exists(_) => true,
        A::Unary(op, _) => matches!(op, UnaryOp::Not | UnaryOp::Bang),
        A::Binary(op, _) => asks(*op),
        A::Chain(c) => asks(c.op),
        A::Call(c) => {
            let functions = [
                "ISNULL",
                "REGEXP_LIKE",
                "IS_IPV4",
                "IS_IPV6",
                "IS_UUID",
                "JSON_VALID",
                "JSON_CONTAINS",
                "JSON_CONTAINS_PATH",
                "JSON_OVERLAPS",
                "JSON_SCHEMA_VALID",
            ];
            let name = c.name.as_str();
            functions.iter().any(|f| f.eq_ignore_ascii_case(name))
        }
        _ => false,
    }
}
