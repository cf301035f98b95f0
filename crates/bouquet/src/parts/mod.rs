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
//! | `class_map` | a frozen map from listed keys to their classes |
//! | `chosen` | hash families, one of which is chosen by what it would do |
//! | `bit_stream` | a string of bits, written and read in order |
//! | `top_keys`, `flow_memory` | the names of frequent keys |
//! | `chain`, `equal_components` | a chain of component filters that share one digest per key |
//! | `shapes` | the shapes of filters in groups that become tighter |
//! | `workers` | threads that look for the same keys in parts of a structure |
//! | `generations` | a ring of plain filters that take turns, so that old keys leave in batches |
//! | `aging_cells` | cells that expire by themselves, on a clock that wraps around |
//! | `summed_cells`, `slices` | cells of sums that are peeled, and where keys lie in them |
//! | `integers` | keys that are integers |
//! | `records` | keys with numbers, as static kinds are built from them |
//! | `fuse` | three cells per key, in neighbouring segments, whose sum is what is stored |
//! | [`pages`] | pages with checksums in memory or in files, on a disk that a test can stand in for |
//! | [`peel`] | peeling of hypergraphs and XOR systems |

pub(crate) mod aging_cells;
pub(crate) mod bit_array;
pub(crate) mod bit_stream;
pub(crate) mod chain;
pub(crate) mod chosen;
pub(crate) mod class_map;
pub(crate) mod coded_counters;
pub(crate) mod counter_array;
pub(crate) mod counting_over;
pub(crate) mod equal_components;
pub(crate) mod flow_memory;
pub(crate) mod fuse;
pub(crate) mod generations;
pub(crate) mod groups;
pub(crate) mod integers;
pub(crate) mod item_bytes;
pub(crate) mod marked_cells;
pub mod pages;
pub mod peel;
pub(crate) mod records;
pub(crate) mod rows;
pub(crate) mod shapes;
pub(crate) mod slices;
pub(crate) mod summed_cells;
pub(crate) mod top_keys;
pub(crate) mod unary_counters;
pub(crate) mod workers;
