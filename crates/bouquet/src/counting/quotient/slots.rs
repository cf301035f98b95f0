//! The slots, in either layout.

use super::ranked::Ranked;
use super::three_bit::ThreeBit;

/// A table of slots.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Slots {
    Ranked(Ranked),
    ThreeBit(ThreeBit),
}

/// Does the same with the table, whichever it is.
macro_rules! with_table {
    ($slots:expr, $table:ident => $body:expr) => {
        match $slots {
            Slots::Ranked($table) => $body,
            Slots::ThreeBit($table) => $body,
        }
    };
}
pub(super) use with_table;
