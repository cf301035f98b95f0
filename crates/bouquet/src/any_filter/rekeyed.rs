//! A filter under another secret.

use super::AnyFilter;
use crate::capability::{Dataset, Item};
use crate::error::Result;
use crate::hash::{HashId, Hashing, Secret};

/// Keys that are held at once while a filter is filled.
const BATCH: usize = 1024;

impl AnyFilter {
    /// A filter with the parameters of this one, of the keys in `items`, under another secret.
    ///
    /// A filter does not hold its keys, so they must be given again, with their notes. A filter that was opened without its
    /// secret will do, and so will a public one; the strength (SipHash or BLAKE3) stays.
    ///
    /// ```
    /// use bouquet::hash::{Hashing, Secret};
    /// use bouquet::{AnyFilter, capability::Item, kind::Config, registry};
    /// let config = Config::new(registry::find("standard")?.facts()).set("items", "100")?;
    /// let mut old = AnyFilter::new(&config.hashed(Hashing::keyed(Secret::random()?)))?;
    /// old.insert()?.insert(b"rose".as_slice().into())?;
    ///
    /// let new = old.rekeyed([Item::from(b"rose".as_slice())], Secret::random()?)?;
    /// assert!(new.contains()?.contains(b"rose"));
    /// assert!(old.merge(&new).is_err(), "the secrets differ");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn rekeyed<'a>(&self, items: impl IntoIterator<Item = Item<'a>>, secret: Secret) -> Result<AnyFilter> {
        let hashing = match self.hashing().id() {
            HashId::Blake3 => Hashing::keyed_high(secret),
            _ => Hashing::keyed(secret),
        };
        let config = self.config().hashed(hashing);
        let mut items = items.into_iter();
        if self.kind().is_built_once(&config) {
            let items: Vec<_> = items.collect();
            return AnyFilter::build(&config, &Dataset { items: &items, absent: &[] });
        }
        let mut rebuilt = AnyFilter::new(&config)?;
        let insert = rebuilt.insert()?;
        loop {
            let batch: Vec<_> = items.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return Ok(rebuilt);
            }
            insert.insert_batch(&batch)?;
        }
    }
}
