//! Buffers that row operations borrow from their thread, so that none allocates in the steady state.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Buffers of one operation; their contents mean nothing between operations.
#[derive(Default)]
pub(crate) struct Buffers {
    /// Clustered key.
    pub key: Vec<u8>,
    /// New clustered value.
    pub value: Vec<u8>,
    /// Undo payload.
    pub undo: Vec<u8>,
    /// Secondary keys.
    pub keys: Vec<u8>,
    /// A row or value read back.
    pub row: Vec<u8>,
    /// Another one.
    pub other: Vec<u8>,
    /// A key to resume a scan from.
    pub resume: Vec<u8>,
}

/// A buffer grown beyond this is not kept.
const KEEP_BYTES: usize = 8 << 10;
/// Sets of buffers a thread keeps; operations nest two or three deep.
const KEEP_SETS: usize = 4;

/// Boxed, so that lending a set moves a pointer.
type FreeSets = Vec<Box<Buffers>>;

thread_local! {
    static FREE: RefCell<FreeSets> = const { RefCell::new(Vec::new()) };
}

/// A set of buffers on loan; goes back when dropped.
pub(crate) struct Scratch(Option<Box<Buffers>>);

impl Scratch {
    /// Borrows a set.
    #[inline]
    pub fn take() -> Scratch {
        let set = FREE
            .try_with(|f| f.borrow_mut().pop())
            .ok()
            .flatten()
            .unwrap_or_default();
        Scratch(Some(set))
    }
}

impl Deref for Scratch {
    type Target = Buffers;
    #[inline]
    fn deref(&self) -> &Buffers {
        self.0.as_ref().expect("present until drop")
    }
}

impl DerefMut for Scratch {
    #[inline]
    fn deref_mut(&mut self) -> &mut Buffers {
        self.0.as_mut().expect("present until drop")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let Some(mut set) = self.0.take() else { return };
        let b = &mut *set;
        for v in [
            &mut b.key,
            &mut b.value,
            &mut b.undo,
            &mut b.keys,
            &mut b.row,
            &mut b.other,
            &mut b.resume,
        ] {
            if v.capacity() > KEEP_BYTES {
                *v = Vec::new();
            }
        }
        let _ = FREE.try_with(|f| {
            let mut free = f.borrow_mut();
            if free.len() < KEEP_SETS {
                free.push(set);
            }
        });
    }
}
