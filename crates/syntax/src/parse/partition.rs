//! PARTITION BY.

use super::Parser;
use crate::ast::{
    Ident, Items, PartitionBy, PartitionDef, PartitionFunction, PartitionMethod, PartitionOn,
    PartitionValue, PartitionValues, TableOption,
};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// PARTITION BY.
    pub(crate) fn partition_by(&mut self) -> Result<PartitionBy> {
        self.expect_all(&[K::PARTITION, K::BY])?;
        let function = self.partition_function()?;
        let count = if self.eat(K::PARTITIONS) {
            Some(self.uint()?)
        } else {
            None
        };
        let subpartition = if self.eat_all(&[K::SUBPARTITION, K::BY]) {
            let function = self.partition_function()?;
            let hashed = matches!(
                function.method,
                PartitionMethod::Hash | PartitionMethod::Key
            );
            if !hashed {
                return Err(self.error_here());
            }
            let count = if self.eat(K::SUBPARTITIONS) {
                Some(self.uint()?)
            } else {
                None
            };
            Some((function, count))
        } else {
            None
        };
        let listed = self.at_punct(TokenKind::LParen);
        let partitions = if listed {
            self.partition_defs()?
        } else {
            Items::EMPTY
        };
        Ok(PartitionBy {
            function,
            count,
            subpartition,
            partitions,
        })
    }

    fn partition_function(&mut self) -> Result<PartitionFunction> {
        let linear = self.eat(K::LINEAR);
        let method: PartitionMethod = self.expect_choice()?;
        let hashed = matches!(method, PartitionMethod::Hash | PartitionMethod::Key);
        if linear && !hashed {
            return Err(self.error_here());
        }
        let keyed = method == PartitionMethod::Key;
        let algorithm = if keyed && self.eat(K::ALGORITHM) {
            let start = self.start();
            let version = self.equals_number()?;
            if !matches!(version, 1 | 2) {
                return Err(self.error_at(start));
            }
            Some(version)
        } else {
            None
        };
        let by = if keyed {
            PartitionOn::Columns(self.parens(|p| {
                if p.at_punct(TokenKind::RParen) {
                    Ok(Items::EMPTY)
                } else {
                    p.comma_list(Self::ident)
                }
            })?)
        } else if !hashed && self.eat(K::COLUMNS) {
            PartitionOn::Columns(self.ident_list()?)
        } else {
            PartitionOn::Expr(Box::new(self.parens(Self::expr)?))
        };
        Ok(PartitionFunction {
            method,
            linear,
            algorithm,
            by,
        })
    }

    /// `(PARTITION p0 ..., PARTITION p1 ...)`
    pub(crate) fn partition_defs(&mut self) -> Result<Items<PartitionDef>> {
        self.parens(|p| p.comma_list(Self::partition_def))
    }

    pub(super) fn partition_def(&mut self) -> Result<PartitionDef> {
        self.expect(K::PARTITION)?;
        let name = self.ident()?;
        let values = self.partition_values()?;
        let options = self.partition_options()?;
        let listed = self.at_punct(TokenKind::LParen);
        let subpartitions = if listed {
            self.parens(|p| p.comma_list(Self::subpartition))?
        } else {
            Items::EMPTY
        };
        Ok(PartitionDef {
            name,
            values,
            options,
            subpartitions,
        })
    }

    pub(super) fn subpartition(&mut self) -> Result<(Ident, Items<TableOption>)> {
        self.expect(K::SUBPARTITION)?;
        let name = self.ident_or_text()?;
        Ok((name, self.partition_options()?))
    }

    fn partition_options(&mut self) -> Result<Items<TableOption>> {
        self.row_of(Self::partition_option)
    }

    fn partition_values(&mut self) -> Result<Option<PartitionValues>> {
        if self.at(K::DEFAULT) {
            self.next();
            return Ok(Some(PartitionValues::Default));
        }
        if !self.eat(K::VALUES) {
            return Ok(None);
        }
        Ok(Some(if self.eat_words("LESS THAN") {
            PartitionValues::LessThan(if self.at_punct(TokenKind::LParen) {
                self.partition_tuple()?
            } else {
                self.expect(K::MAXVALUE)?;
                vec![PartitionValue::Max].into()
            })
        } else {
            self.expect(K::IN)?;
            if self.kind_nth(1) == TokenKind::Keyword(K::DEFAULT) {
                self.parens(|p| p.expect(K::DEFAULT))?;
                return Ok(Some(PartitionValues::Default));
            }
            PartitionValues::In(self.parens(|p| p.comma_list(Self::listed_values))?)
        }))
    }

    /// A value of LIST, or of LIST COLUMNS as many as there are columns.
    pub(super) fn listed_values(&mut self) -> Result<Items<PartitionValue>> {
        if self.at_punct(TokenKind::LParen) {
            return self.partition_tuple();
        }
        self.partition_value().map(|v| vec![v].into())
    }

    fn partition_tuple(&mut self) -> Result<Items<PartitionValue>> {
        self.parens(|p| p.comma_list(Self::partition_value))
    }

    pub(super) fn partition_value(&mut self) -> Result<PartitionValue> {
        if self.eat(K::MAXVALUE) {
            return Ok(PartitionValue::Max);
        }
        self.expr().map(PartitionValue::Expr)
    }
}
