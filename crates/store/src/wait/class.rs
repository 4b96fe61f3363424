//! What threads wait for, and what users see it called.

macro_rules! classes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What is waited for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Class {
            $($(#[$doc])* $variant,)*
        }

        impl Class {
            /// All of them, by number.
            pub const ALL: &'static [Class] = &[$(Class::$variant,)*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// Name as an event of performance_schema: MySQL's where it has one for the same thing.
            pub fn event_name(self) -> &'static str {
                match self {
                    $(Class::$variant => $name,)*
                }
            }
        }
    };
}

classes! {
    /// A page's latch, wanted shared.
    PageShared = "wait/synch/rwlock/innodb/buf_block_lock_s",
    /// A page's latch, wanted exclusively.
    PageExclusive = "wait/synch/rwlock/innodb/buf_block_lock_x",
    /// A part of the page table.
    PageTable = "wait/synch/mutex/innodb/hash_table_mutex",
    /// An instance's pool mutex: only while an algorithm that had one is chosen for DROP.
    BufferPool = "wait/synch/mutex/innodb/buf_pool_mutex",
    /// Another DROP's search through the pool, or the page cleaner's on a DROP's behalf.
    Discard = "wait/synch/cond/innodb/buf_discard",
    /// An instance's LRU and free list.
    LruList = "wait/synch/mutex/innodb/buf_pool_LRU_list_mutex",
    /// An instance's flush list.
    FlushList = "wait/synch/mutex/innodb/flush_list_mutex",
    /// A part of the adaptive hash index.
    HashIndex = "wait/synch/rwlock/innodb/btr_search_latch",
    /// A page that another thread is reading in.
    PageRead = "wait/synch/cond/innodb/page_read",
    /// A free frame.
    FreeFrame = "wait/synch/cond/innodb/free_frame",
    /// The right to write pages in place.
    PageWrite = "wait/synch/mutex/innodb/dblwr_mutex",
    /// The log buffer, which orders groups.
    LogBuffer = "wait/synch/mutex/innodb/log_sys_mutex",
    /// Another thread's round of group commit.
    LogRound = "wait/synch/cond/innodb/log_round",
    /// Room in the log, when it is nearly full.
    LogRoom = "wait/synch/cond/innodb/log_room",
    /// A file's allocation map.
    Allocation = "wait/synch/mutex/innodb/fil_space_mutex",
    /// The list of bookkeeping pages to be written.
    DirtyMeta = "wait/synch/mutex/innodb/dirty_meta_mutex",
    /// The set of active transactions.
    ActiveSet = "wait/synch/mutex/innodb/trx_sys_mutex",
    /// What purge and the undo lanes share.
    Purge = "wait/synch/mutex/innodb/purge_sys_mutex",
    /// A part of the row lock table.
    LockTable = "wait/synch/mutex/innodb/lock_mutex",
    /// A metadata lock's queue, or the map of names.
    MetadataQueue = "wait/synch/mutex/sql/mdl_queue",
    /// The cache of open tables.
    CatalogCache = "wait/synch/mutex/innodb/dict_sys_mutex",
    /// A table that another thread is loading or closing.
    CatalogLoad = "wait/synch/mutex/innodb/dict_load_mutex",
    /// A table's maintenance lock, between purge and DDL.
    Maintenance = "wait/synch/rwlock/innodb/dict_operation_lock",
    /// The disk, by whoever writes and syncs a round of the log.
    LogFile = "wait/io/file/innodb/innodb_log_file",
    /// The disk, by whoever reads a page into the pool.
    DataFile = "wait/io/file/innodb/innodb_data_file",
    /// A row that another transaction has locked.
    RowLock = "wait/lock/row/innodb/record",
    /// A table or database that another transaction has locked.
    MetadataLock = "wait/lock/metadata/sql/mdl",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_events_and_differ() {
        let mut names: Vec<_> = Class::ALL.iter().map(|c| c.event_name()).collect();
        assert!(names.iter().all(|n| n.starts_with("wait/")));
        for (i, class) in Class::ALL.iter().enumerate() {
            assert_eq!(*class as usize, i);
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Class::COUNT);
    }
}
