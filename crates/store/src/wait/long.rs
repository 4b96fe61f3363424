//! Waits that may be long: who is told of them.

use std::cell::RefCell;
use std::rc::Rc;

/// Told when its thread begins to wait for something that may take long, and when it goes on. It may be called under any lock of the store, and so
/// must take none that is held when the store is called.
pub trait Waiter {
    /// A wait begins.
    fn begin(&self);
    /// It is over.
    fn end(&self);
}

thread_local! {
    static TOLD: RefCell<Option<Rc<dyn Waiter>>> = const { RefCell::new(None) };
}

/// Has this thread's long waits told to `waiter` from now on.
pub fn tell_waits_to(waiter: Option<Rc<dyn Waiter>>) {
    let before = TOLD.replace(waiter);
    drop(before);
}

/// The wait for which it is told, over when dropped.
struct Told(Rc<dyn Waiter>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Runs what may wait for long, and tells the thread's [`Waiter`] of it.
pub fn long<R>(wait: impl FnOnce() -> R) -> R {
    let waiter = TOLD.try_with(|waiter| waiter.borrow().clone());
    let waiter = waiter.ok().flatten();
    let _told = waiter.map(|waiter| {
        waiter.begin();
        Told(waiter)
    });
    wait()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[derive(Default)]
    struct Notes(RefCell<String>);

    impl Waiter for Notes {
        fn begin(&self) {
            self.0.borrow_mut().push('(');
        }
        fn end(&self) {
            self.0.borrow_mut().push(')');
        }
    }

    #[test]
    fn a_thread_is_told_of_its_own_waits() {
        let notes = Rc::new(Notes::default());
        assert_eq!(long(|| 1), 1);
        tell_waits_to(Some(notes.clone()));
        assert_eq!(long(|| 2), 2);
        std::thread::scope(|s| {
            s.spawn(|| long(|| ()));
        });
        assert!(catch_unwind(AssertUnwindSafe(|| long(|| panic!("as planned")))).is_err());
        tell_waits_to(None);
        long(|| ());
        assert_eq!(*notes.0.borrow(), "()()");
    }
}
