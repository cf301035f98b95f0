//! Machinery that several families share. Kinds compose it; they do not reach into each other.
//!
//! | part | what it is |
//! |---|---|
//! | `counter_array` | a store of counters and the places of keys in it, with rules to change and to read them |
//! | `counting_over` | a counting filter over any store of counters |
//! | `marked_cells` | cells that keep a mark of their keys and can contradict a query |
//! | `rows` | rows of counters, one place of a key in each |
//! | `coded_counters` | counters as codes of different lengths |
//! | `unary_counters` | counters in unary, layer by layer, and such codes within a word |
//! | `bit_array` | plain bits, addressed in ways of their own |
//! | `chosen` | hash families, one of which is chosen by what it would do |
//! | `bit_stream` | a string of bits, written and read in order |
//! | `top_keys`, `flow_memory` | the names of frequent keys |
//! | `chain`, `equal_components` | a chain of component filters that share one digest per key |
//! | `summed_cells`, `slices` | cells of sums that are peeled, and where keys lie in them |
//! | `integers` | keys that are integers |
//! | `records` | keys with numbers, as static kinds are built from them |
//! | `fuse` | three cells per key, in neighbouring segments, whose sum is what is stored |
//! | [`peel`] | peeling of hypergraphs and XOR systems |

pub(crate) mod bit_array;
pub(crate) mod bit_stream;
pub(crate) mod chain;
pub(crate) mod chosen;
pub(crate) mod coded_counters;
pub(crate) mod counter_array;
pub(crate) mod counting_over;
pub(crate) mod equal_components;
pub(crate) mod flow_memory;
pub(crate) mod fuse;
pub(crate) mod groups;
pub(crate) mod integers;
pub(crate) mod item_bytes;
pub(crate) mod marked_cells;
pub mod peel;
pub(crate) mod records;
pub(crate) mod rows;
pub(crate) mod slices;
pub(crate) mod summed_cells;
pub(crate) mod top_keys;
pub(crate) mod unary_counters;
