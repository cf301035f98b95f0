//! Boost.Bloom, from C++: its fastest layout and its classic one. Only with the feature `boost`, since it needs a C++ compiler and
//! Boost 1.89 or later (`BOOST_INCLUDE` names the directory of its headers if the compiler does not know it).
#![allow(unsafe_code)]

use std::ffi::c_void;

use crate::contender::Contender;
use crate::keys::BenchKey;

/// A filter behind C functions, all of which take what `create` gave.
struct Functions {
    create: unsafe extern "C" fn(u64, f64) -> *mut c_void,
    insert: unsafe extern "C" fn(*mut c_void, *const u64, usize),
    count: unsafe extern "C" fn(*const c_void, *const u64, usize) -> usize,
    insert_batch: unsafe extern "C" fn(*mut c_void, *const u64, usize),
    contains_batch: unsafe extern "C" fn(*const c_void, *const u64, usize, *mut bool),
    bits: unsafe extern "C" fn(*const c_void) -> u64,
    destroy: unsafe extern "C" fn(*mut c_void),
}

macro_rules! functions {
    (
        $constant:ident,
        $create:ident,
        $insert:ident,
        $count:ident,
        $insert_batch:ident,
        $contains_batch:ident,
        $bits:ident,
        $destroy:ident $(,)?
    ) => {
        unsafe extern "C" {
            fn $create(n: u64, fpr: f64) -> *mut c_void;
            fn $insert(filter: *mut c_void, keys: *const u64, n: usize);
            fn $count(filter: *const c_void, keys: *const u64, n: usize) -> usize;
            fn $insert_batch(filter: *mut c_void, keys: *const u64, n: usize);
            fn $contains_batch(filter: *const c_void, keys: *const u64, n: usize, answers: *mut bool);
            fn $bits(filter: *const c_void) -> u64;
            fn $destroy(filter: *mut c_void);
        }
        static $constant: Functions = Functions {
            create: $create,
            insert: $insert,
            count: $count,
            insert_batch: $insert_batch,
            contains_batch: $contains_batch,
            bits: $bits,
            destroy: $destroy,
        };
    };
}

functions!(
    FAST,
    boost_fast_create,
    boost_fast_insert,
    boost_fast_count,
    boost_fast_insert_batch,
    boost_fast_contains_batch,
    boost_fast_bits,
    boost_fast_destroy
);
functions!(
    CLASSIC7,
    boost_classic7_create,
    boost_classic7_insert,
    boost_classic7_count,
    boost_classic7_insert_batch,
    boost_classic7_contains_batch,
    boost_classic7_bits,
    boost_classic7_destroy
);
functions!(
    CLASSIC10,
    boost_classic10_create,
    boost_classic10_insert,
    boost_classic10_count,
    boost_classic10_insert_batch,
    boost_classic10_contains_batch,
    boost_classic10_bits,
    boost_classic10_destroy
);

/// `fast_multiblock32<8>`, or with `CLASSIC` the layout of a standard filter.
pub struct Boost<const CLASSIC: bool> {
    filter: *mut c_void,
    functions: &'static Functions,
}

// SAFETY: threads share the filter for lookups alone, which in C++ are const and touch nothing but the table.
unsafe impl<const CLASSIC: bool> Sync for Boost<CLASSIC> {}

impl<const CLASSIC: bool> Drop for Boost<CLASSIC> {
    fn drop(&mut self) {
        // SAFETY: the filter came from the same functions and is not used again.
        unsafe { (self.functions.destroy)(self.filter) }
    }
}

impl<K: BenchKey, const CLASSIC: bool> Contender<K> for Boost<CLASSIC> {
    fn name() -> String {
        format!("boost-bloom {}", if CLASSIC { "classic" } else { "fast_multiblock32" })
    }

    fn new(n: u64, fpr: f64) -> Option<Self> {
        let functions = match (CLASSIC, fpr) {
            (false, _) => &FAST,
            (true, 0.01) => &CLASSIC7,
            (true, 0.001) => &CLASSIC10,
            _ => return None,
        };
        // The loops in C++ are for numbers.
        K::as_words(&[])?;
        // SAFETY: the function takes any numbers and gives no filter when it cannot make one.
        let filter = unsafe { (functions.create)(n, fpr) };
        (!filter.is_null()).then_some(Boost { filter, functions })
    }

    fn insert(&mut self, key: &K) {
        Contender::<K>::fill(self, std::slice::from_ref(key));
    }

    fn contains(&self, key: &K) -> bool {
        Contender::<K>::count(self, std::slice::from_ref(key)) == 1
    }

    fn bits(&self) -> u64 {
        // SAFETY: the filter came from the same functions.
        unsafe { (self.functions.bits)(self.filter) }
    }

    fn fill(&mut self, keys: &[K]) {
        let keys = K::as_words(keys).unwrap_or_default();
        // SAFETY: the filter came from the same functions and is not shared; this many keys are there.
        unsafe { (self.functions.insert)(self.filter, keys.as_ptr(), keys.len()) }
    }

    fn count(&self, keys: &[K]) -> usize {
        let keys = K::as_words(keys).unwrap_or_default();
        // SAFETY: the filter came from the same functions; this many keys are there.
        unsafe { (self.functions.count)(self.filter, keys.as_ptr(), keys.len()) }
    }

    const BATCH: bool = true;

    fn insert_batch(&mut self, keys: &[K]) {
        let keys = K::as_words(keys).unwrap_or_default();
        // SAFETY: the filter came from the same functions and is not shared; this many keys are there.
        unsafe { (self.functions.insert_batch)(self.filter, keys.as_ptr(), keys.len()) }
    }

    fn contains_batch(&self, keys: &[K], answers: &mut [bool]) {
        let keys = K::as_words(keys).unwrap_or_default();
        assert!(keys.len() <= answers.len());
        // SAFETY: the filter came from the same functions; there are this many keys, and as many answers.
        unsafe { (self.functions.contains_batch)(self.filter, keys.as_ptr(), keys.len(), answers.as_mut_ptr()) }
    }
}
