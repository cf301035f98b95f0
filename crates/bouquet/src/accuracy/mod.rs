//! Accuracy and prior knowledge: filters that buy accuracy with something a plain filter does not use.
//!
//! That is permission to err the other way, a second opinion, or knowledge of the keys that will be asked for. Filters that
//! may reset bits trade false positives for false negatives.
//!
//! Take [`generalized`] for filters that come from peers who may lie: whatever the bits are, its false-positive rate has a bound;
//! [`complement`] where every key that can be asked for is known, for exact answers but a few; [`yes_no`] or, if members may be
//! missed, [`retouched`] where some strangers are known that must not be accepted; [`cross_checking`] where positions per key are few;
//! [`trie_checked`] where a key is there only if its parent is.
//!
//! Where weights of keys are known, each gets as many positions as it deserves ([`TabledBits`] is the mechanism): take [`weighted`] for
//! query frequencies and membership likelihoods, [`popularity_conscious`] when the number of positions is capped and the solver matters,
//! [`multi_class`] when only the probabilities of presence are known. Where members are rare, most positive answers are false: take
//! [`selective`], which is not asked for keys that it would not be believed about. For headers that must be exact about the links that
//! will be asked for, take [`fpf_multistage`].

pub mod complement;
pub mod cross_checking;
pub mod fpf_multistage;
pub mod generalized;
pub mod multi_class;
pub mod popularity_conscious;
pub mod retouched;
pub mod selective;
mod tabled;
pub mod trie_checked;
pub mod weighted;
pub(crate) mod witness;
pub mod yes_no;

pub use tabled::{Design, Knowledge, TableSettings, TabledBits, Weighing};

use crate::kind::Family;

/// The registry's rows of this family.
pub const FAMILY: Family = Family {
    name: "accuracy",
    summary: "accuracy from permission to err the other way, and from what is known of keys and queries",
    kinds: &[
        generalized::KIND,
        retouched::KIND,
        cross_checking::KIND,
        complement::KIND,
        yes_no::KIND,
        multi_class::KIND,
        fpf_multistage::KIND,
        selective::KIND,
        weighted::KIND,
        popularity_conscious::KIND,
        trie_checked::KIND,
    ],
};
