//! Building from a whole data set: all that a key has to say is gathered first, so that each has k bits.

use std::collections::BTreeMap;

use super::{Form, ShiftedBits, ShiftingSettings};
use crate::capability::{Dataset, Item};
use crate::error::{Error, Result};
use crate::hash::Hashing;
use crate::key::Key;
use crate::shell::{Assemble, Hashed, Mechanism, Put};

impl Assemble for ShiftedBits {
    /// A filter without `items` and `bits` is made for the keys that there are.
    fn assemble(
        asked: &ShiftingSettings,
        hashing: &Hashing,
        data: &Dataset<'_>,
    ) -> Result<(ShiftingSettings, Self, u64)> {
        let form = asked.form.unwrap_or_default();
        // A member has nothing to say that would have to be gathered.
        let said = if form == Form::Membership { BTreeMap::new() } else { gathered(form, data.items)? };
        let keys = if form == Form::Membership { data.items.len() } else { said.len() } as u64;
        let mut asked = asked.clone();
        if asked.bits.is_none() && asked.items.is_none() {
            asked.items = Some(keys.max(1));
        }
        let settings = Self::resolve(&asked)?;
        let (mut filter, hashing) = (Self::empty(&settings, hashing)?, Self::hashing(&settings, hashing));
        for (bytes, said) in said {
            filter.enter(Hashed { digest: bytes.digest(&hashing), bytes }, said);
        }
        if form == Form::Membership {
            for item in data.items {
                filter.put(Hashed { digest: item.key.digest(&hashing), bytes: item.key }, item.note)?;
            }
        }
        let items = filter.items;
        Ok((settings, filter, items))
    }
}

/// What each key says: its sets as bits 0 and 1, or how often it comes.
fn gathered<'a>(form: Form, items: &[Item<'a>]) -> Result<BTreeMap<&'a [u8], u64>> {
    let mut said: BTreeMap<&[u8], u64> = BTreeMap::new();
    for item in items {
        let known = said.entry(item.key).or_default();
        match form {
            Form::Association => *known |= 1 << set_of(item)?,
            _ => *known = known.saturating_add(item.amount()?),
        }
    }
    Ok(said)
}

/// The number of an item's set.
fn set_of(item: &Item<'_>) -> Result<u64> {
    match item.group()? {
        set @ 0..2 => Ok(set),
        set => {
            let found = format!("set {set} for the key `{}`", item.key.escape_ascii());
            Err(Error::Item { expected: "set 0 or 1".into(), found })
        }
    }
}

impl ShiftedBits {
    /// Puts a key of sets or counts in that is not in yet, with all that it says.
    fn enter(&mut self, key: Hashed<'_>, said: u64) {
        let (offset, items) = match self.shape.form {
            Form::Association => (self.shape.offsets(key.digest)[Self::class(said)], said.count_ones().into()),
            _ => (self.offset_of(said), said),
        };
        self.mark(key.digest, offset);
        self.remember(key.bytes, said);
        self.items = self.items.saturating_add(items);
        self.inserted = self.inserted.saturating_add(1);
    }
}
