//! The value behind the run-time handle.

use std::any::Any;
use std::ops::{Deref, DerefMut};

use crate::capability::{Contains, Count, Insert, Remove};

/// A value of any type.
pub(crate) type Boxed = Box<dyn Any + Send + Sync>;

/// How values of a kind are held.
pub(crate) type Hold = fn(Boxed) -> Held;

/// A type that can be asked and filled.
pub(crate) trait SetVerbs: Any + Send + Sync + Contains + Insert {}

impl<T: Any + Send + Sync + Contains + Insert> SetVerbs for T {}

/// A set that also counts and takes keys out.
pub(crate) trait MultisetVerbs: SetVerbs + Remove + Count {}

impl<T: SetVerbs + Remove + Count> MultisetVerbs for T {}

/// A value of a kind's own type. Any verb can be looked up in the kind's table: a call that checks the type and gives the
/// trait object. The verbs that programs call for single keys need none where the type is known to have them: their trait
/// objects are upcast, which is a load.
pub(crate) enum Held {
    /// Every verb is looked up.
    Any(Boxed),
    /// `contains` and `insert` are at hand.
    Set(Box<dyn SetVerbs>),
    /// So are `remove` and `count`.
    Multiset(Box<dyn MultisetVerbs>),
}

impl Held {
    pub(crate) fn set<T: SetVerbs>(value: Boxed) -> Self {
        value.downcast::<T>().map_or_else(Held::Any, |value| Held::Set(value))
    }

    pub(crate) fn multiset<T: MultisetVerbs>(value: Boxed) -> Self {
        value.downcast::<T>().map_or_else(Held::Any, |value| Held::Multiset(value))
    }
}

impl Deref for Held {
    type Target = dyn Any;

    fn deref(&self) -> &dyn Any {
        match self {
            Held::Any(value) => &**value,
            Held::Set(value) => &**value,
            Held::Multiset(value) => &**value,
        }
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut dyn Any {
        match self {
            Held::Any(value) => &mut **value,
            Held::Set(value) => &mut **value,
            Held::Multiset(value) => &mut **value,
        }
    }
}
