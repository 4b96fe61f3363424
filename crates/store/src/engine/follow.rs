//! Following a table's rows while the layer above writes them anew: which of them changes, and what it is now.
//!
//! Steps as in [`super::online`]: the log begins and a view is made under the exclusive metadata lock; statements go on while the rows of
//! the view are copied; then the rows in doubt are looked at again, and the newest version of each is handed on, finished or not; at last under
//! the exclusive lock, when nobody has an unfinished change. A version that is rolled back later is in doubt again, so what was handed on
//! last is what is there.
//!
//! **Failure.** A change never fails because of the follower. Beyond `innodb_online_alter_log_max_size` the log is given up, and with it the
//! follower ([`Error::RowLogFull`]).

use super::online::{Beside, Online, Settles};
use super::{Engine, Inner};
use crate::error::Result;
use crate::table::Table;
use crate::table::row_log::{self, RowLog};
use crate::txn::{Owner, Txn};
use std::sync::Arc;

/// Gets rows that were in doubt.
pub trait RowFollower {
    /// The row under a clustered key as it is now; `None`: there is none.
    fn row(&mut self, clustered_key: &[u8], row: Option<&[u8]>) -> Result<()>;
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
    /// statements at the table.
    pub fn follow(&self, txn: &mut Txn, table: &Arc<Table>, beside: Beside) -> Follow<'_> {
        let online = Online::of_rows(&self.0, table);
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

    /// Hands on rows in doubt until few are left.
    pub fn settle(&self, owner: &Owner, follower: &mut dyn RowFollower) -> Result<()> {
        let mut settler = Rows {
            online: &self.online,
            follower,
            row: Vec::new(),
        };
        settler.settle(owner, super::online::LEFT)
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
        let table = self.online.table();
        for (key, _) in row_log::entries(chunk) {
            let live = table.read_row(None, key, &mut self.row)?;
            self.follower.row(key, live.then_some(&self.row))?;
        }
        self.follower.pause()
    }
}
