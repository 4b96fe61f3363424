//! Administration.

use super::Parser;
use crate::ast::{
    AdminStatement, CachedTable, FlushItem, FlushLock, FlushPlain, HistogramChange, InstanceAction,
    InstancePlain, Items, MaintenanceVerb, ResourceGroup, StatementKind, VcpuRange,
};
use crate::error::Result;
use crate::keyword::Keyword as K;
use crate::lexer::TokenKind;

fn admin(statement: AdminStatement) -> StatementKind {
    StatementKind::Admin(Box::new(statement))
}

impl Parser<'_> {
    /// ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR.
    pub(crate) fn maintain(&mut self) -> Result<StatementKind> {
        let verb: MaintenanceVerb = self.expect_choice()?;
        let local = self.eat_local();
        self.expect_tables()?;
        let tables = self.comma_list(Self::object_name)?;
        if verb == MaintenanceVerb::Analyze && self.at_nth(1, K::HISTOGRAM) {
            let update = self.eat(K::UPDATE);
            if !update {
                self.expect(K::DROP)?;
            }
            self.expect_all(&[K::HISTOGRAM, K::ON])?;
            let columns = self.comma_list(Self::ident)?;
            let change = if update {
                self.histogram_update()?
            } else {
                HistogramChange::Drop
            };
            return Ok(admin(AdminStatement::Histogram {
                local,
                tables,
                columns,
                change,
            }));
        }
        let options = self.maintenance_options()?;
        Ok(admin(AdminStatement::Maintain {
            verb,
            local,
            tables,
            options,
        }))
    }

    fn histogram_update(&mut self) -> Result<HistogramChange> {
        let buckets = if self.at(K::WITH) {
            self.next();
            let n = self.uint()?;
            self.expect(K::BUCKETS)?;
            Some(n)
        } else {
            None
        };
        let automatic = self.yes_or_no("AUTO UPDATE", "MANUAL UPDATE");
        let data = if self.eat_words("USING DATA") {
            Some(self.text_literal()?)
        } else {
            None
        };
        Ok(HistogramChange::Update {
            buckets,
            automatic,
            data,
        })
    }

    /// INSTALL.
    pub(crate) fn install(&mut self) -> Result<StatementKind> {
        self.next();
        if self.eat(K::COMPONENT) {
            let urns = self.comma_list(Self::text_literal)?;
            let set = if self.eat(K::SET) {
                self.comma_list(Self::set_item)?
            } else {
                Items::EMPTY
            };
            return Ok(admin(AdminStatement::InstallComponent(urns, set)));
        }
        self.expect(K::PLUGIN)?;
        self.if_not_exists();
        let name = self.ident()?;
        self.expect(K::SONAME)?;
        Ok(admin(AdminStatement::InstallPlugin {
            name,
            library: self.text_literal()?,
        }))
    }

    /// UNINSTALL.
    pub(crate) fn uninstall(&mut self) -> Result<StatementKind> {
        self.next();
        if self.eat(K::COMPONENT) {
            let urns = self.comma_list(Self::text_literal)?;
            return Ok(admin(AdminStatement::UninstallComponent(urns)));
        }
        self.expect(K::PLUGIN)?;
        let if_exists = self.if_exists();
        Ok(admin(AdminStatement::UninstallPlugin {
            if_exists,
            name: self.ident()?,
        }))
    }

    /// BACKUP.
    pub(crate) fn backup(&mut self) -> Result<StatementKind> {
        self.next();
        self.expect(K::TO)?;
        let directory = self.text_literal()?;
        let base = match self.eat_words("INCREMENTAL FROM") {
            true => Some(self.text_literal()?),
            false => None,
        };
        Ok(admin(AdminStatement::Backup { directory, base }))
    }

    /// CLONE.
    pub(crate) fn clone_data(&mut self) -> Result<StatementKind> {
        self.next();
        if self.eat(K::LOCAL) {
            self.expect_words("DATA DIRECTORY")?;
            return Ok(admin(AdminStatement::CloneLocal(self.equals_text()?)));
        }
        self.expect_words("INSTANCE FROM")?;
        let account = self.account()?;
        self.expect_punct(TokenKind::Colon)?;
        let port = self.uint()?;
        self.expect_words("IDENTIFIED BY")?;
        let password = self.text_literal()?;
        let directory = if self.eat_words("DATA DIRECTORY") {
            Some(self.equals_text()?)
        } else {
            None
        };
        let ssl = self.yes_or_no("REQUIRE SSL", "REQUIRE NO SSL");
        Ok(admin(AdminStatement::CloneInstance {
            account,
            port,
            password,
            directory,
            ssl,
        }))
    }

    /// BINLOG.
    pub(crate) fn binlog(&mut self) -> Result<StatementKind> {
        self.next();
        Ok(admin(AdminStatement::Binlog(self.text_literal()?)))
    }

    pub(super) fn vcpu_range(&mut self) -> Result<VcpuRange> {
        let first = self.uint()?;
        let last = if self.eat_punct(TokenKind::Minus) {
            Some(self.uint()?)
        } else {
            None
        };
        Ok(VcpuRange { first, last })
    }

    /// CACHE INDEX.
    pub(crate) fn cache_index(&mut self) -> Result<StatementKind> {
        self.next();
        self.expect(K::INDEX)?;
        let tables = self.comma_list(Self::cached_table)?;
        self.expect(K::IN)?;
        let cache = if self.at(K::DEFAULT) {
            self.ident_here()
        } else {
            self.ident()?
        };
        Ok(admin(AdminStatement::CacheIndex { tables, cache }))
    }

    /// Behind LOAD INDEX INTO CACHE.
    pub(crate) fn load_index(&mut self) -> Result<StatementKind> {
        Ok(admin(AdminStatement::LoadIndex(
            self.comma_list(Self::cached_table)?,
        )))
    }

    pub(super) fn cached_table(&mut self) -> Result<CachedTable> {
        let name = self.object_name()?;
        let partitions = if self.eat(K::PARTITION) {
            Some(self.parens(|p| {
                if p.eat(K::ALL) {
                    Ok(Items::EMPTY)
                } else {
                    p.comma_list(Self::ident)
                }
            })?)
        } else {
            None
        };
        let indexes = match self.eat_any(&[K::INDEX, K::KEY]) {
            Some(_) => Some(self.parens(|p| {
                if p.at_punct(TokenKind::RParen) {
                    return Ok(Items::EMPTY);
                }
                p.comma_list(|p| {
                    if p.at(K::PRIMARY) {
                        Ok(p.ident_here())
                    } else {
                        p.ident()
                    }
                })
            })?),
            None => None,
        };
        let ignore_leaves = self.eat_words("IGNORE LEAVES");
        Ok(CachedTable {
            name,
            partitions,
            indexes,
            ignore_leaves,
        })
    }

    /// FLUSH.
    pub(crate) fn flush(&mut self) -> Result<StatementKind> {
        self.next();
        let local = self.eat_local();
        let items = if self.at_any(&[K::TABLE, K::TABLES]) {
            vec![self.flush_tables()?].into()
        } else {
            self.comma_list(Self::flush_item)?
        };
        Ok(admin(AdminStatement::Flush { local, items }))
    }

    fn flush_tables(&mut self) -> Result<FlushItem> {
        self.expect_tables()?;
        let listed = self.at_ident() || self.at_punct(TokenKind::Dot);
        let tables = if listed {
            self.comma_list(Self::object_name)?
        } else {
            Items::EMPTY
        };
        let lock: Option<FlushLock> = self.choice();
        if lock == Some(FlushLock::Export) && tables.is_empty() {
            return Err(self.error_here());
        }
        Ok(FlushItem::Tables { tables, lock })
    }

    pub(super) fn flush_item(&mut self) -> Result<FlushItem> {
        if self.eat_words("RELAY LOGS") {
            return self.for_channel().map(FlushItem::RelayLogs);
        }
        self.expect_choice::<FlushPlain>().map(FlushItem::Plain)
    }

    /// KILL.
    pub(crate) fn kill(&mut self) -> Result<StatementKind> {
        self.next();
        let query = self.eat(K::QUERY);
        if !query {
            self.eat(K::CONNECTION);
        }
        Ok(admin(AdminStatement::Kill {
            query,
            id: self.expr()?,
        }))
    }

    /// Behind RESET PERSIST.
    pub(crate) fn reset_persist(&mut self) -> Result<StatementKind> {
        let if_exists = self.if_exists();
        let name = if self.at_ident() {
            Some(self.object_name()?)
        } else {
            None
        };
        Ok(admin(AdminStatement::ResetPersist { if_exists, name }))
    }

    /// Behind RESET QUERY CACHE.
    pub(crate) fn reset_query_cache(&mut self) -> Result<StatementKind> {
        Ok(admin(AdminStatement::ResetQueryCache))
    }

    /// RESTART.
    pub(crate) fn restart(&mut self) -> Result<StatementKind> {
        self.next();
        Ok(admin(AdminStatement::Restart))
    }

    /// SHUTDOWN.
    pub(crate) fn shutdown(&mut self) -> Result<StatementKind> {
        self.next();
        Ok(admin(AdminStatement::Shutdown))
    }

    /// Behind ALTER INSTANCE.
    pub(crate) fn alter_instance(&mut self) -> Result<StatementKind> {
        let action = if self.eat_words("RELOAD TLS") {
            let channel = if self.eat_words("FOR CHANNEL") {
                Some(self.ident()?)
            } else {
                None
            };
            let no_rollback = self.eat_words("NO ROLLBACK ON ERROR");
            InstanceAction::ReloadTls {
                channel,
                no_rollback,
            }
        } else {
            InstanceAction::Plain(self.expect_choice::<InstancePlain>()?)
        };
        Ok(admin(AdminStatement::AlterInstance(action)))
    }

    /// Behind CREATE and ALTER RESOURCE GROUP.
    pub(crate) fn resource_group(&mut self, alter: bool) -> Result<StatementKind> {
        let name = self.ident()?;
        let kind = if alter {
            None
        } else {
            self.expect(K::TYPE)?;
            self.eat_equals();
            Some(self.expect_choice()?)
        };
        let vcpu = if self.eat(K::VCPU) {
            self.eat_equals();
            self.comma_list(Self::vcpu_range)?
        } else {
            Items::EMPTY
        };
        let priority = if self.eat(K::THREAD_PRIORITY) {
            self.eat_equals();
            let negative = self.eat_punct(TokenKind::Minus);
            let n = i64::try_from(self.uint()?).map_err(|_| self.error_here())?;
            Some(if negative { -n } else { n })
        } else {
            None
        };
        let enable = self.yes_or_no("ENABLE", "DISABLE");
        let force = alter && self.eat(K::FORCE);
        Ok(admin(AdminStatement::ResourceGroup(ResourceGroup {
            alter,
            name,
            kind,
            vcpu,
            priority,
            enable,
            force,
        })))
    }

    /// Behind DROP RESOURCE GROUP.
    pub(crate) fn drop_resource_group(&mut self) -> Result<StatementKind> {
        let name = self.ident()?;
        Ok(admin(AdminStatement::DropResourceGroup {
            name,
            force: self.eat(K::FORCE),
        }))
    }
}
