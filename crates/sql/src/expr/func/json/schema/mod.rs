//! JSON_SCHEMA_VALID() and JSON_SCHEMA_VALIDATION_REPORT().

mod validate;

use super::super::{Call, Computed, Exit};
use super::result;
use crate::error::{SqlError, SqlResult};
use crate::expr::func::Func;
use crate::expr::{EvalContext, Expr, ExprKind};
use crate::types::SqlType;
use crate::value::Value;
use crate::value::json::{View, object_of};

use validate::{Failure, validate};

/// What the document, argument 2, fails by under the schema, argument 1. Errors 3141, 3853, 1235.
fn outcome(c: &Call<'_, '_>) -> Result<Result<(), Failure>, Exit> {
    let schema = c.document(0)?;
    if !matches!(schema.view(), View::Object(_)) {
        let m = format!(
            "Invalid JSON type in argument 1 to function {}; an object is required.",
            c.name()
        );
        return Err(SqlError::new(3853, m).into());
    }
    let document = c.document(1)?;
    Ok(validate(schema.root(), document.root())?)
}

pub(super) fn valid<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    Ok(Value::bool(outcome(c)?.is_ok()))
}

/// Why a document is refused, as MySQL says it.
fn reason(f: &Failure) -> String {
    format!(
        "The JSON document location '{}' failed requirement '{}' at JSON Schema location '{}'",
        f.document, f.keyword, f.schema
    )
}

pub(super) fn report<'a>(c: &Call<'_, 'a>) -> Computed<'a> {
    let outcome = outcome(c)?;
    let mut members = vec![("valid", View::Bool(outcome.is_ok()).to_json())];
    if let Err(f) = &outcome {
        let text = |s: &str| View::String(s).to_json();
        members.extend([
            ("reason", text(&reason(f))),
            ("schema-location", text(&f.schema)),
            ("document-location", text(&f.document)),
            ("schema-failed-keyword", text(f.keyword)),
        ]);
    }
    result(object_of(&members))
}

/// Why a condition refuses a row, if it is a call of JSON_SCHEMA_VALID() that does: what error 3934 says.
pub(crate) fn refusal(condition: &Expr, cx: &EvalContext<'_>) -> SqlResult<Option<String>> {
    let ExprKind::Function(Func::JsonSchemaValid, args) = &condition.kind else {
        return Ok(None);
    };
    let kind = ExprKind::Function(Func::JsonSchemaReport, args.clone());
    let report = Expr::new(kind, SqlType::json(), true);
    let Value::Json(report) = report.eval(cx)? else {
        return Ok(None);
    };
    Ok(match report.view() {
        View::Object(o) => match o.get("reason").map(|r| r.view()) {
            Some(View::String(reason)) => Some(format!("{reason}.")),
            _ => None,
        },
        _ => None,
    })
}
