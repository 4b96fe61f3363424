//! Following a table's rows while the layer above writes them anew: which of them changes, and what it is now.
//!
//! Steps as in [`super::online`]: the log begins and a view is made under the exclusive metadata lock; statements go on while the rows of
//! the view are copied; then the rows in doubt are looked at again, and the newest version of each is handed on, finished or not; at last under
//! the exclusive lock, when nobody has an unfinished change. A version that is rolled back later is in doubt again, so what was handed on
//! last is what is there. Of a partitioned table all partitions are followed by one log, or some of them.
//!
//! **Lock order.** The table's metadata lock, which guards its partitions too, before the row log's mutex, which is a leaf. Rows are read
//! without locks.
//! **Failure.** A change never fails because of the follower. Beyond `innodb_online_alter_log_max_size` the log is given up, and with it the
//! follower ([`Error::RowLogFull`]). Dropped at any point, the follower leaves no log behind.

use super::online::{Beside, Online, Settles};
use super::{Engine, Inner};
use crate::error::Result;
use crate::table::Table;
use crate::table::row_log::{self, RowLog};
use crate::txn::{Owner, Txn};
use std::sync::Arc;

/// Gets rows that were in doubt.
pub trait RowFollower {
    /// The row under a clustered key of a source as it is now; `None`: there is none.
    fn row(&mut self, source: u16, clustered_key: &[u8], row: Option<&[u8]>) -> Result<()>;
    /// Some rows have been handed on.
    fn pause(&mut self) -> Result<()>;
}

/// A table's rows are followed until this is dropped.
pub struct Follow<'e> {
    inner: &'e Inner,
    online: Online,
}

impl Engine {
    /// Begins to follow the rows of a table that the transaction's owner has locked exclusively, makes the transaction's view, and lets
    /// statements at the table. `sources`: the table itself or those of its partitions that are followed, each under a number of the caller's,
    /// ascending.
    pub fn follow(
        &self,
        txn: &mut Txn,
        table: &Arc<Table>,
        sources: Vec<(u16, Arc<Table>)>,
        beside: Beside,
    ) -> Follow<'_> {
        let online = Online::of_rows(&self.0, table, sources);
        self.0.sys.view(txn);
        self.0.let_in(txn, table, beside);
        Follow {
            inner: &self.0,
            online,
        }
    }
}

impl Follow<'_> {
    /// Whether there is a use in going on: `RowLogFull` if rows change faster than they are followed.
    pub fn is_possible(&self) -> Result<()> {
        self.online.log().len().map(drop)
    }

    /// Bytes that the log may hold, and so may what the layer above notes of the rows that change.
    pub fn limit(&self) -> u64 {
        self.online.log().limit()
    }

    /// Hands on all rows in doubt, and has the table locked exclusively by `owner` again, so that no more come.
    pub fn catch_up(&self, owner: &Arc<Owner>, follower: &mut dyn RowFollower) -> Result<()> {
        let mut settler = Rows {
            online: &self.online,
            follower,
            row: Vec::new(),
        };
        self.inner
            .settle_all(owner, self.online.table(), &mut settler)
    }
}

/// Settles the row log of a table that is written anew.
struct Rows<'f> {
    online: &'f Online,
    follower: &'f mut dyn RowFollower,
    row: Vec<u8>,
}

impl Settles for Rows<'_> {
    fn log(&self) -> &RowLog {
        self.online.log()
    }

    fn chunk(&mut self, chunk: &[u8]) -> Result<()> {
        for (key, part) in row_log::entries(chunk) {
            let part = part as u16;
            let source = self.online.source(part)?;
            let live = source.read_row(None, key, &mut self.row)?;
            self.follower.row(part, key, live.then_some(&self.row))?;
        }
        self.follower.pause()
    }
}
