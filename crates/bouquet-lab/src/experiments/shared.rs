//! What several experiments do: fill filters and ask them.

use bouquet::capability::Item;
use bouquet::hash::{Family, Hashing, SplitMix};
use bouquet::kind::{Config, Setting};
use bouquet::membership::standard::KIND;
use bouquet::membership::{Access, BitFilter};
use bouquet::{AnyFilter, Bloom, registry};

use crate::simulate::keys;
use crate::{Lab, Mean, Result};

/// How many of this many keys that are no members the filter takes for members, and how many there were.
pub(super) fn false_positives<L: Access>(filter: &BitFilter<L>, random: &mut SplitMix, queries: u64) -> (u64, u64) {
    let others = keys(random, queries);
    let mut answers = vec![false; others.len()];
    filter.contains_batch(&others, &mut answers);
    (answers.iter().filter(|&&yes| yes).count() as u64, queries)
}

/// A standard filter of m bits with n keys and k independent functions, which is what theory assumes. The default family
/// differs from them in filters of a few dozen bits.
pub(super) fn standard(random: &mut SplitMix, (m, n, k): (u64, u64, u32)) -> Result<Bloom> {
    let config = Config::new(KIND.facts()).hashed(Hashing::seeded(random.next_u64()));
    let config = config.with("bits", Setting::Count(m))?.with("hashes", Setting::Count(k.into()))?;
    let mut filter = Bloom::from_config(&config.set("family", Family::Independent.name())?)?;
    filter.insert_batch(&keys(random, n));
    Ok(filter)
}

/// The measured rate of such filters.
pub(super) fn standard_rate(lab: &Lab, (m, n, k): (u64, u64, u32), rounds: u64, queries: u64) -> Result<Mean> {
    let rounds = lab.try_play(&format!("standard {m} {n} {k}"), rounds, |random| {
        let filter = standard(random, (m, n, k))?;
        Ok(false_positives(&filter, random, queries))
    })?;
    Ok(Mean::of_shares(&rounds))
}

/// An empty filter of any kind, with a seed of its own.
pub(super) fn any(random: &mut SplitMix, kind: &str, settings: &[(&str, &str)]) -> Result<AnyFilter> {
    let config = Config::new(registry::find(kind)?.facts()).hashed(Hashing::seeded(random.next_u64()));
    Ok(AnyFilter::new(&settings.iter().try_fold(config, |config, (name, value)| config.set(name, value))?)?)
}

/// Inserts keys.
pub(super) fn insert(filter: &mut AnyFilter, keys: &[u64]) -> Result<()> {
    for key in keys {
        filter.insert()?.insert(Item::from(key.to_le_bytes().as_slice()))?;
    }
    Ok(())
}

/// How many of this many new keys the filter takes for members, and how many there were.
pub(super) fn any_false_positives(filter: &AnyFilter, random: &mut SplitMix, queries: u64) -> Result<(u64, u64)> {
    let contains = filter.contains()?;
    Ok((keys(random, queries).iter().filter(|key| contains.contains(&key.to_le_bytes())).count() as u64, queries))
}
