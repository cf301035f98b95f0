//! Counting: sets that lose members, and multisets.
//!
//! Members answer "is x still here?" after removals, or "how often did x come?". Whatever they store, one warning holds for
//! all that can remove: take out only what was put in. A key that merely seems present cannot be told from a present one,
//! and removing it may make other keys vanish.
//!
//! **Counters.** One engine: a store of counters, the places of a key in it, a rule that says how an insertion changes them
//! and one that says how they are read. Take [`counting`] when keys are removed: it is the simplest, can be merged, and can
//! be given away as a plain [`Bloom`](crate::Bloom) filter. [`ml_ccbf`] does the same in half the memory and never
//! overflows; its changes cost more. [`mpcbf`] answers with one memory access and is more accurate than four-bit counters
//! of its size. [`ternary`] has the smallest cells and admits when it cannot tell. [`l_cbf`] counts without an adder, for
//! hardware and for those who study it.
//!
//! **Frequencies.** Take [`spectral`] for a multiset whose keys come very differently often, with removal and counters as
//! small as their values; [`loglog`] for very large counts that several meters see. Take [`count_min`] for the frequencies
//! of an endless stream: rows of counters with a bound on the error, which add up, subtract and find the frequent keys.
//! When nothing is taken back, [`conservative_update`] is tighter in the same memory, and finds the heavy flows of a link.
//!
//! **Cells of two fields.** [`fingerprint_counting`] has a lower rate in the same memory: its cells keep a mark of their
//! keys beside the count and can contradict a query. [`variable_increment`] does so by what is added to a counter. Take
//! [`invertible_counting`] to find out in which elements two multisets differ, and [`counter_braids`] for exact counts of
//! flows whose list is known later.
//!
//! **Plain bits**, addressed in ways of their own. [`deletable`] removes most keys at nearly the size of a plain filter.
//! [`shifting`] moves a key's bits by what it has to say: which of two sets, or how often. [`adaptive`] counts without
//! limit along an endless sequence of positions; [`space_code`] estimates counts over many orders of magnitude.
//! [`variable_length`] bears the loss of some bits, so that keys can be removed, aged and healed.
//!
//! **Fingerprints** in a table take the fewest bits. Take [`cuckoo`] for plain membership with removal, [`quotient`] for
//! counts, merging and growth too, [`d_left`] when every update must take the same short time. [`pruned_counting`] keeps
//! the keys themselves, with values, and uses counters to find them with one memory access.

pub mod adaptive;
pub mod conservative_update;
pub mod count_min;
pub mod counter_braids;
#[expect(clippy::module_inception, reason = "the kind that the family is named after")]
pub mod counting;
pub mod cuckoo;
pub mod d_left;
pub mod deletable;
pub mod fingerprint_counting;
pub mod invertible_counting;
pub mod l_cbf;
pub mod loglog;
pub mod ml_ccbf;
pub mod mpcbf;
pub mod pruned_counting;
pub mod quotient;
pub mod shifting;
pub mod space_code;
pub mod spectral;
pub mod ternary;
pub mod variable_increment;
pub mod variable_length;
#[cfg(test)]
pub(crate) mod zipf;

pub use crate::parts::counting_over::CountingOver;
pub use crate::parts::marked_cells::{CellCode, CellSettings, CellSizes, MarkedCells};

use crate::kind::Family;

/// The registry's rows of this family.
pub const FAMILY: Family = Family {
    name: "counting",
    summary: "sets that lose members, and multisets",
    kinds: &[
        counting::KIND,
        ml_ccbf::KIND,
        d_left::KIND,
        mpcbf::KIND,
        variable_increment::KIND,
        fingerprint_counting::KIND,
        l_cbf::KIND,
        deletable::KIND,
        ternary::KIND,
        spectral::KIND,
        space_code::KIND,
        adaptive::KIND,
        shifting::KIND,
        loglog::KIND,
        invertible_counting::KIND,
        variable_length::KIND,
        count_min::KIND,
        conservative_update::KIND,
        counter_braids::KIND,
        pruned_counting::KIND,
        cuckoo::KIND,
        quotient::KIND,
    ],
};
