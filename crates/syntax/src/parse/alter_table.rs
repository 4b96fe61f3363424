//! ALTER TABLE.

use super::Parser;
use crate::ast::{
    AlterAction, AlterTable, ColumnName, Direction, Ident, Items, MaintenanceOption, Part,
    PartitionAction, PartitionVerb, PlainAlter, Position, StatementKind, TableElement,
};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// Behind ALTER [IGNORE] TABLE.
    pub(crate) fn alter_table(&mut self, ignore: bool) -> Result<StatementKind> {
        let if_exists = self.if_exists();
        let name = self.object_name()?;
        let mut actions = Items::EMPTY;
        let first = self.piece(self.last_end());
        let mut from = first;
        while !self.at_end() {
            let item = self.alter_action()?;
            let last = matches!(
                item,
                AlterAction::Option(_) | AlterAction::OrderBy(_) | AlterAction::ConvertTo { .. }
            );
            self.add(&mut actions, item, from, Some(first))?;
            // Table options and what changes partitions may follow without a comma.
            let before = self.last_end();
            let comma = self.eat_punct(TokenKind::Comma);
            from = self.piece(before);
            if comma && self.at_end() {
                return Err(self.error_here());
            }
            if !comma && !last && !self.at_any(&[K::PARTITION, K::REMOVE]) {
                break;
            }
        }
        Ok(StatementKind::AlterTable(Box::new(AlterTable {
            ignore,
            if_exists,
            name,
            actions,
        })))
    }

    pub(super) fn alter_action(&mut self) -> Result<AlterAction> {
        use AlterAction as A;
        if let Some(action) = self.partition_action()? {
            return Ok(A::Partition(action));
        }
        if let Some(plain) = self.choice::<PlainAlter>() {
            return Ok(A::Plain(plain));
        }
        if let Some(how) = self.alter_how()? {
            return Ok(A::How(how));
        }
        match self.keyword() {
            Some(K::ADD) => {
                self.next();
                self.alter_add()
            }
            Some(K::CHANGE | K::MODIFY) => self.alter_change(),
            Some(K::DROP) => {
                self.next();
                self.alter_drop()
            }
            Some(K::ALTER) => {
                self.next();
                self.alter_part()
            }
            Some(K::RENAME) => {
                self.next();
                self.alter_rename()
            }
            Some(K::CONVERT) => {
                self.next();
                self.expect(K::TO)?;
                self.convert_to()
            }
            Some(K::ORDER) => {
                self.next();
                self.expect(K::BY)?;
                self.comma_list(Self::ordered_column).map(A::OrderBy)
            }
            _ => match self.table_option()? {
                Some(option) => Ok(A::Option(option)),
                None => Err(self.error_here()),
            },
        }
    }

    fn convert_to(&mut self) -> Result<AlterAction> {
        if !self.eat_character_set() {
            return Err(self.error_here());
        }
        let charset = if self.eat(K::DEFAULT) {
            None
        } else {
            Some(self.charset_name()?)
        };
        let collation = if self.eat(K::COLLATE) {
            Some(self.collation_name()?)
        } else {
            None
        };
        Ok(AlterAction::ConvertTo { charset, collation })
    }

    fn alter_add(&mut self) -> Result<AlterAction> {
        use AlterAction as A;
        if let Some(element) = self.constraint_or_key()? {
            return Ok(match element {
                TableElement::Key(key) => A::AddKey(key),
                TableElement::ForeignKey(key) => A::AddForeignKey(key),
                TableElement::Check(check) => A::AddCheck(check),
                TableElement::Column(_) => return Err(self.error_here()),
            });
        }
        self.eat(K::COLUMN);
        let if_not_exists = self.if_not_exists();
        if self.at_punct(TokenKind::LParen) {
            return self
                .parens(|p| p.comma_list(Self::table_element))
                .map(A::AddElements);
        }
        let column = self.column_def()?;
        let position = self.position()?;
        Ok(A::AddColumn {
            if_not_exists,
            column,
            position,
        })
    }

    fn position(&mut self) -> Result<Option<Position>> {
        Ok(if self.eat(K::FIRST) {
            Some(Position::First)
        } else if self.eat(K::AFTER) {
            Some(Position::After(self.ident()?))
        } else {
            None
        })
    }

    fn alter_change(&mut self) -> Result<AlterAction> {
        let change = self.eat(K::CHANGE) || !self.eat(K::MODIFY);
        self.eat(K::COLUMN);
        let if_exists = self.if_exists();
        let from = if change { Some(self.ident()?) } else { None };
        let column = self.column_def()?;
        let position = self.position()?;
        Ok(AlterAction::ChangeColumn {
            if_exists,
            from,
            column,
            position,
        })
    }

    fn alter_drop(&mut self) -> Result<AlterAction> {
        if self.eat_all(&[K::PRIMARY, K::KEY]) {
            return Ok(AlterAction::DropPrimaryKey);
        }
        let part = self.part()?.unwrap_or(Part::Column);
        let if_exists = self.if_exists();
        let primary = part == Part::Index && self.at(K::PRIMARY);
        let name = if primary {
            self.ident_here()
        } else {
            self.ident()?
        };
        if part == Part::Column {
            self.eat_any(&[K::RESTRICT, K::CASCADE]);
        }
        Ok(AlterAction::Drop {
            part,
            if_exists,
            name,
        })
    }

    /// The word of a part of a table, if one is next.
    fn part(&mut self) -> Result<Option<Part>> {
        if self.eat(K::KEY) {
            return Ok(Some(Part::Index));
        }
        Ok(self.choice())
    }

    fn alter_part(&mut self) -> Result<AlterAction> {
        use AlterAction as A;
        let part = self.part()?.unwrap_or(Part::Column);
        self.if_exists();
        let name = self.ident()?;
        Ok(match part {
            Part::Column if self.eat_all(&[K::SET, K::DEFAULT]) => {
                A::SetDefault(name, self.default_value()?)
            }
            Part::Column if self.eat_all(&[K::DROP, K::DEFAULT]) => A::DropDefault(name),
            Part::Column => {
                self.expect(K::SET)?;
                let visible = self.yes_or_no("VISIBLE", "INVISIBLE");
                A::ColumnVisible(name, visible.ok_or_else(|| self.error_here())?)
            }
            Part::Index => {
                let visible = self
                    .yes_or_no("VISIBLE", "INVISIBLE")
                    .or_else(|| self.yes_or_no("NOT IGNORED", "IGNORED"));
                A::IndexVisible(name, visible.ok_or_else(|| self.error_here())?)
            }
            Part::Check | Part::Constraint => {
                let enforced = self.yes_or_no("ENFORCED", "NOT ENFORCED");
                A::Enforced {
                    part,
                    name,
                    enforced: enforced.ok_or_else(|| self.error_here())?,
                }
            }
            Part::ForeignKey => return Err(self.error_here()),
        })
    }

    fn alter_rename(&mut self) -> Result<AlterAction> {
        let part = if self.eat(K::COLUMN) {
            Part::Column
        } else if self.eat_any(&[K::INDEX, K::KEY]).is_some() {
            Part::Index
        } else {
            if self.eat_any(&[K::TO, K::AS]).is_none() {
                self.eat_punct(TokenKind::Eq);
            }
            return self.object_name().map(AlterAction::RenameTo);
        };
        self.if_exists();
        let from = self.ident()?;
        self.expect(K::TO)?;
        Ok(AlterAction::RenamePart(part, from, self.ident()?))
    }

    /// A change of partitions, if one is next.
    fn partition_action(&mut self) -> Result<Option<PartitionAction>> {
        use PartitionAction as P;
        if self.at_all(&[K::PARTITION, K::BY]) {
            return self.partition_by().map(|by| Some(P::By(Box::new(by))));
        }
        if !self.at_nth(1, K::PARTITION) {
            return Ok(None);
        }
        if self.eat_words("EXCHANGE PARTITION") {
            return self.exchange_partition().map(Some);
        }
        if self.eat_words("ADD PARTITION") {
            self.if_not_exists();
            let local = self.eat_local();
            return Ok(Some(if self.eat(K::PARTITIONS) {
                P::AddCount {
                    local,
                    count: self.uint()?,
                }
            } else {
                P::Add {
                    local,
                    partitions: self.partition_defs()?,
                }
            }));
        }
        if self.eat_words("COALESCE PARTITION") {
            let local = self.eat_local();
            return Ok(Some(P::Coalesce {
                local,
                count: self.uint()?,
            }));
        }
        if self.eat_words("REORGANIZE PARTITION") {
            let local = self.eat_local();
            let from = if self.at_ident() {
                self.comma_list(Self::ident)?
            } else {
                Items::EMPTY
            };
            let into = if from.is_empty() {
                Items::EMPTY
            } else {
                self.expect(K::INTO)?;
                self.partition_defs()?
            };
            return Ok(Some(P::Reorganize { local, from, into }));
        }
        match self.choice::<PartitionVerb>() {
            Some(verb) => self.partition_verb(verb).map(Some),
            None => Ok(None),
        }
    }

    /// A column that rows are to be ordered by.
    pub(super) fn ordered_column(&mut self) -> Result<(ColumnName, Option<Direction>)> {
        Ok((self.column_name()?, self.choice()))
    }

    fn partition_verb(&mut self, verb: PartitionVerb) -> Result<PartitionAction> {
        self.expect(K::PARTITION)?;
        let local = self.eat_local();
        let if_exists = self.if_exists();
        let all = verb != PartitionVerb::Drop && self.eat(K::ALL);
        let partitions = if all {
            None
        } else {
            Some(self.comma_list(Self::ident)?)
        };
        let mut options = Items::EMPTY;
        if matches!(verb, PartitionVerb::Check | PartitionVerb::Repair) {
            options = self.maintenance_options()?;
        } else if matches!(verb, PartitionVerb::Discard | PartitionVerb::Import) {
            self.expect(K::TABLESPACE)?;
        }
        Ok(PartitionAction::Verb {
            verb,
            if_exists,
            local,
            partitions,
            options,
        })
    }

    /// QUICK, EXTENDED, ...: none or more.
    pub(crate) fn maintenance_options(&mut self) -> Result<Items<MaintenanceOption>> {
        self.row_of(|p| Ok(p.choice()))
    }

    fn exchange_partition(&mut self) -> Result<PartitionAction> {
        let partition: Ident = self.ident()?;
        self.expect_all(&[K::WITH, K::TABLE])?;
        let table = self.object_name()?;
        let validation = self.yes_or_no("WITH VALIDATION", "WITHOUT VALIDATION");
        Ok(PartitionAction::Exchange {
            partition,
            table,
            validation,
        })
    }
}
