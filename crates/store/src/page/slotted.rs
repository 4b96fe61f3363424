//! Slotted page: sorted records of (key, value) in one page, used by B+tree leaves and inner nodes.
//! Pure functions over a page's bytes; they are called at run time and, with the same arguments,
//! by recovery, so their effect on the bytes must be a function of the page and the arguments only.
