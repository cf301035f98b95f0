//! The native part of the Python package `bouquet`: every kind of the registry behind one class.
//!
//! No kind is named here. The package's Python part makes a class for each kind when it is imported, from what
//! `settings::describe` says of it.
//!
//! | part | what it knows |
//! |---|---|
//! | `filter.rs` | the class `Filter`: the verbs, operators, files, threads |
//! | `keys.rs`, `notes.rs` | Python objects as keys, and what keys carry |
//! | `columns.rs` | whole columns of keys, and threads |
//! | `arrow.rs` | Arrow's C structures: the only `unsafe` code |
//! | `settings.rs`, `special.rs` | keywords as settings; what one kind alone can do |
//! | `shared.rs` | filters that threads use without a lock |
//! | `theory.rs`, `build.rs` | the formulas, from their sources |
//! | `advice.rs` | which kind to take |
//! | `errors.rs` | the library's errors as exceptions |

// The classes' documentation is Python's; tests are too.
#![allow(missing_docs)]

mod advice;
mod arrow;
mod columns;
mod errors;
mod filter;
mod keys;
mod notes;
mod settings;
mod shared;
mod special;
mod theory;

/// What the Python part of the package is made of.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::advice::advise;
    #[pymodule_export]
    use super::filter::{
        Filter, Ready, build, class_of, from_bytes, from_foreign, key_bytes, open, random_secret, register,
    };
    #[pymodule_export]
    use super::settings::{describe, formats, kind_ids, plan, verbs};
    #[pymodule_export]
    use super::shared::{PySharedBlocked, PySharedBloom, PySharedCounting, PySharedUltraFast};
    #[pymodule_export]
    use super::theory::{theory_call, theory_functions, theory_modules};

    /// The version of the package.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
