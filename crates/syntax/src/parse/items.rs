//! How the items of each kind of list are parsed when a list that is held as text is read ([`crate::ast::list`]).
//!
//! What an item is was told when the statement was parsed; here, what may stand in any list of its kind is taken.

use super::Parser;
use crate::ast::list::Item;
use crate::ast::*;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind as T;

/// `Type => how it is parsed`.
macro_rules! items {
    ($($item:ty => $parse:expr,)+) => {$(
        impl Item for $item {
            fn parse(p: &mut Parser<'_>) -> crate::error::Result<$item> {
                let parse: fn(&mut Parser<'_>) -> _ = $parse;
                parse(p)
            }
        }
    )+};
}

/// The same, where the parser tells whether there is one.
macro_rules! maybe {
    ($($item:ty => $parse:expr,)+) => {$(
        impl Item for $item {
            fn parse(p: &mut Parser<'_>) -> crate::error::Result<$item> {
                let parse: fn(&mut Parser<'_>) -> crate::error::Result<Option<$item>> = $parse;
                parse(p)?.ok_or_else(|| p.error_here())
            }
        }
    )+};
}

items! {
    OrderItem => |p| p.order_item(),
    Term => |p| p.term(),
    SetPart => |p| p.set_part(),
    // WHEN and THEN.
    (Expr, Expr) => |p| p.when(),
    Ident => |p| match p.kind() {
        T::Text => p.ident_or_text(),
        _ => Ok(p.ident_here()),
    },
    ObjectName => |p| p.deleted_name(),
    (ObjectName, ObjectName) => |p| p.renamed_table(),
    ColumnName => |p| p.column_name(),
    (ColumnName, Option<Direction>) => |p| p.ordered_column(),
    String => |p| p.member(),
    u64 => |p| p.uint(),
    Assignment => |p| p.assignment(),
    (Expr, Option<Ident>) => |p| p.done_item(),
    SelectItem => |p| {
        if p.eat_punct(T::Star) {
            return Ok(SelectItem::Wildcard);
        }
        p.select_item()
    },
    IntoTarget => |p| p.select_target(),
    Cte => |p| p.cte(),
    NamedWindow => |p| p.named_window(),
    JsonColumn => |p| p.json_column(),
    IndexHint => |p| p.index_hint(),
    (u64, bool, bool) => |p| p.next_weight_level(),
    SetItem => |p| p.set_item(),
    UserVariable => |p| p.used_variable(),
    LockedTable => |p| p.locked_table(),
    Statement => |p| p.closed_statement(),
    (Expr, Items<Statement>) => |p| p.last_branch(),
    ConditionValue => |p| p.condition_value(),
    (SignalItem, Expr) => |p| p.signal_item(),
    (Expr, SignalItem) => |p| p.diagnostics_item(),
    (Expr, StatementItem) => |p| p.diagnostics_item(),
    Parameter => |p| p.parameter(),
    KeyPart => |p| p.key_part(),
    TableElement => |p| p.table_element(),
    AlterAction => |p| p.alter_action(),
    PartitionDef => |p| p.partition_def(),
    (Ident, Items<TableOption>) => |p| p.subpartition(),
    PartitionValue => |p| p.partition_value(),
    Items<PartitionValue> => |p| p.listed_values(),
    Account => |p| p.account(),
    (Account, Account) => |p| p.renamed_account(),
    UserSpec => |p| p.user_spec(),
    Privilege => |p| p.privilege(),
    Authentication => |p| p.factor(),
    TlsRequirement => |p| {
        p.eat(K::AND);
        p.tls_requirement()
    },
    (ResourceLimit, u64) => |p| {
        while p.eat_words("GRANT OPTION") {}
        p.resource_limit()
    },
    CachedTable => |p| p.cached_table(),
    FlushItem => |p| p.flush_item(),
    VcpuRange => |p| p.vcpu_range(),
    ServerOption => |p| p.server_option(),
    (Credential, String) => |p| p.credential(),
    (UntilOption, Option<SourceValue>) => |p| p.until_option(),
    (Ident, SourceValue) => |p| p.source_option(),
    Filter => |p| p.replication_filter(),
    FilterItem => |p| p.filter_item(),
    Reset => |p| p.reset_item(),
    ReplicaThread => |p| p.expect_choice(),
    ProfileType => |p| p.expect_choice(),
    MaintenanceOption => |p| p.expect_choice(),
}

maybe! {
    Lock => |p| p.row_lock(),
    ColumnAttribute => |p| p.column_attribute(),
    IndexOption => |p| p.index_option(),
    AlterHow => |p| p.alter_how(),
    TableOption => |p| match p.next_table_option()? {
        None => p.partition_option(),
        option => Ok(option),
    },
    FactorChange => |p| p.factor_change(),
    PasswordOption => |p| p.password_option(),
    Characteristic => |p| p.characteristic(),
    DatabaseOption => |p| p.database_option(),
    TablespaceOption => |p| {
        p.eat_punct(T::Comma);
        p.tablespace_option()
    },
    SrsAttribute => |p| p.srs_attribute(),
}
