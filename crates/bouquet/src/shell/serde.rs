//! Filters as values of serde: the bytes of their frames.

use std::fmt;
use std::marker::PhantomData;

use serde_core::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde_core::ser::{Serialize, Serializer};

use super::filter::Filter;
use super::mechanism::Mechanism;

impl<M: Mechanism> Serialize for Filter<M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.to_bytes())
    }
}

impl<'de, M: Mechanism> Deserialize<'de> for Filter<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Frame::new(Filter::from_bytes))
    }
}

/// Reads a frame with a function of the library's.
pub(crate) struct Frame<T, F: Fn(&[u8]) -> crate::Result<T>>(F, PhantomData<T>);

impl<T, F: Fn(&[u8]) -> crate::Result<T>> Frame<T, F> {
    pub(crate) fn new(read: F) -> Self {
        Frame(read, PhantomData)
    }
}

impl<'de, T, F: Fn(&[u8]) -> crate::Result<T>> Visitor<'de> for Frame<T, F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a bouquet frame")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<T, E> {
        (self.0)(bytes).map_err(E::custom)
    }

    /// Formats without bytes, such as JSON, have an array of numbers.
    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<T, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = numbers.next_element()? {
            bytes.push(byte);
        }
        self.visit_bytes(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use crate::{AnyFilter, Cuckoo};

    #[test]
    fn filters_come_back_from_json() {
        let mut filter = Cuckoo::with_rate(10, 0.01).unwrap();
        filter.insert("rose").unwrap();
        let text = serde_json::to_string(&filter).unwrap();
        assert_eq!(serde_json::from_str::<Cuckoo>(&text).unwrap(), filter);
        let any: AnyFilter = serde_json::from_str(&text).unwrap();
        assert_eq!((any.kind().facts().id, serde_json::to_string(&any).unwrap()), ("cuckoo", text.clone()));
        let damaged = text.replacen("137", "136", 1);
        let error = serde_json::from_str::<Cuckoo>(&damaged).unwrap_err();
        assert!(error.to_string().contains("not a bouquet frame"), "{error}");
    }
}
