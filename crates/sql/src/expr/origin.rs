//! Whether a value follows from columns of its row alone: whoever asks, whenever, and in whatever `sql_mode`, zone and locale.
//!
//! What does is computed when it is read, and again to find its entries in indexes, so this errs on the side of no: what is not known to is not.
//! What makes a value the session's, besides functions that say so of themselves ([`Func::is_pure`]): a TIMESTAMP is a time in the session's zone; what
//! is a date among texts and numbers depends on `sql_mode`; a TIME is a date of today.

use super::{Expr, ExprKind, Func};
use crate::types::{BaseType, SqlType};

/// Deeper ones are evaluated by sessions only, who look after their stacks.
const DEEPEST: usize = 100;

/// Whether a type's values are dates, with a time or without.
fn is_day(ty: &SqlType) -> bool {
    matches!(ty.base, BaseType::Date | BaseType::DateTime)
}

/// Whether values of these types are compared, or become one another, as they are.
fn are_alike<'t>(types: impl Iterator<Item = &'t SqlType> + Clone) -> bool {
    let mut given = types.filter(|t| t.base != BaseType::Null);
    let mut others = given.clone();
    let Some(first) = given.clone().find(|t| t.is_temporal()) else {
        return true;
    };
    match is_day(first) {
        true => given.all(is_day),
        false => others.all(|t| t.base == first.base),
    }
}

impl Expr {
    /// Whether its value follows from columns of the row alone.
    pub(crate) fn follows_from_row(&self) -> bool {
        let mut alone = self.depth() <= DEEPEST;
        self.walk(&mut |e| alone = alone && e.is_alone());
        alone
    }

    /// Whether its value becomes that of a column of a type without anybody's say.
    pub(crate) fn is_assigned_alone(&self, ty: &SqlType) -> bool {
        ty.base != BaseType::Timestamp
            && (!ty.is_temporal() || are_alike([ty, &self.ty].into_iter()))
    }

    /// The same of this node, whatever is below it.
    fn is_alone(&self) -> bool {
        use ExprKind as K;
        if self.ty.base == BaseType::Timestamp {
            return false;
        }
        match &self.kind {
            K::Literal(_) | K::BitString(_) | K::Column { .. } => true,
            K::And(_) | K::Or(_) | K::Xor(_) | K::Not(_) => true,
            K::IsNull(_) | K::IsNotNull(_) | K::IsTruth(..) => true,
            K::Arithmetic(..) | K::Negate(_) | K::Bit(..) | K::BitNot(_) => true,
            K::Like(_)
            | K::Regexp(_)
            | K::Collate(_)
            | K::Padded(_)
            | K::Named(..)
            | K::EnumIndex(_) => true,
            K::Compare(_, sides, _) => are_alike(sides.iter().map(|e| &e.ty)),
            K::Between { args, .. } => are_alike(args.iter().map(|e| &e.ty)),
            K::InList(l) => {
                let all = std::iter::once(&l.value).chain(&l.list);
                are_alike(all.map(|e| &e.ty))
            }
            K::Case(branches, last) => {
                let results = branches.iter().map(|(_, e)| e).chain(last.as_deref());
                let results = results.map(|e| &e.ty);
                are_alike(results.chain([&self.ty]))
            }
            K::Cast(of) => !self.ty.is_temporal() || are_alike([&self.ty, &of.ty].into_iter()),
            K::DateAdd(args, ..) => is_day(&args[0].ty) && !args[1].ty.is_temporal(),
            K::TimestampDiff(args, _) => args.iter().all(|e| is_day(&e.ty)),
            K::Extract(of, ..) => is_day(&of.ty),
            K::Function(f, args) => self.is_alone_as_call(*f, args),
            K::Param(_) | K::Local(..) | K::Subquery { .. } | K::EnumBeside(_) | K::Beside(..) => {
                false
            }
            K::UserVariable(_)
            | K::SetUserVariable(..)
            | K::SystemVariable(..)
            | K::SeededRand(..)
            | K::Moment(_) => false,
        }
    }

    fn is_alone_as_call(&self, f: Func, args: &[Expr]) -> bool {
        let types = args.iter().map(|e| &e.ty);
        if !f.is_pure() {
            return false;
        }
        if f.is_of_dates() {
            return types.clone().all(|t| is_day(t) || t.is_numeric());
        }
        if matches!(f.name(), "CONCAT" | "CONCAT_WS") {
            return true;
        }
        are_alike(types.chain([&self.ty]))
    }
}
