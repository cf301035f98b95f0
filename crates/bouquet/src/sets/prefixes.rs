//! Longest matching prefix: a filter bank with one set per length.
//!
//! A forwarding table holds prefixes of addresses and wants the longest one that an address begins with. The bank holds the
//! prefixes of length L in set L; an address is cut to each length that occurs, longest first, and the exact table is asked
//! only where the set says "maybe". Without false positives that is one look-up, with them (1 + sum of the rates of the
//! longer lengths) on average (Dharmapurikar, Krishnamurthy, Taylor, Longest prefix matching using Bloom filters, 2003).

use std::net::IpAddr;

use crate::error::{Error, Result};
use crate::sets::filter_bank::FilterBank;

/// The prefixes of addresses of one length, by their own lengths in bits.
///
/// ```
/// use bouquet::sets::Prefixes;
/// let mut lengths = [0; 33];
/// (lengths[8], lengths[24]) = (10, 100);
/// let mut prefixes = Prefixes::with_rate(&lengths, 0.001)?;
/// prefixes.insert(&[10, 0, 0, 0], 8)?;
/// prefixes.insert(&[10, 1, 2, 0], 24)?;
/// assert_eq!(prefixes.candidates(&[10, 1, 2, 3]).collect::<Vec<_>>(), [24, 8]);
/// assert_eq!(prefixes.candidates(&[10, 1, 3, 3]).next(), Some(8));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Prefixes {
    bank: FilterBank,
}

impl Prefixes {
    /// Room for `items[length]` prefixes of each length from 0 to `items.len() - 1` bits, each length with the rate `fpr`.
    ///
    /// ```
    /// use bouquet::sets::Prefixes;
    /// let prefixes = Prefixes::with_rate(&[100; 129], 0.01)?;
    /// assert_eq!(prefixes.bank().sets(), 129, "0 to 128 bits");
    /// assert!(Prefixes::with_rate(&[100; 33], 1.5).is_err());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn with_rate(items: &[u64], fpr: f64) -> Result<Self> {
        Ok(Prefixes { bank: FilterBank::with_sizes(items, fpr)? })
    }

    /// The bank: set L holds the prefixes of L bits.
    ///
    /// ```
    /// use bouquet::sets::Prefixes;
    /// let mut prefixes = Prefixes::with_rate(&[100; 33], 0.01)?;
    /// prefixes.insert(&[10, 0, 0, 0], 8)?;
    /// assert_eq!((prefixes.bank().items_of(8), prefixes.bank().items_of(9)), (1, 0));
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn bank(&self) -> &FilterBank {
        &self.bank
    }

    /// Inserts the first `length` bits of an address, and says whether that prefix was certainly new.
    ///
    /// ```
    /// use bouquet::sets::Prefixes;
    /// let mut prefixes = Prefixes::with_rate(&[100; 33], 0.01)?;
    /// assert!(prefixes.insert(&[10, 1, 2, 3], 24)?);
    /// assert!(!prefixes.insert(&[10, 1, 2, 99], 24)?, "the same 24 bits");
    /// assert!(prefixes.insert(&[10, 1], 24).is_err(), "only 16 bits");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn insert(&mut self, address: &[u8], length: u64) -> Result<bool> {
        insert(&mut self.bank, address, length)
    }

    /// The lengths of the prefixes of an address that may be in, longest first. Lengths that no prefix has are not asked.
    ///
    /// ```
    /// use bouquet::sets::Prefixes;
    /// let mut prefixes = Prefixes::with_rate(&[100; 33], 0.001)?;
    /// prefixes.insert(&[0, 0, 0, 0], 0)?;
    /// prefixes.insert(&[192, 168, 0, 0], 12)?;
    /// let lengths = |address: [u8; 4]| prefixes.candidates(&address).collect::<Vec<_>>();
    /// assert_eq!(lengths([192, 160, 7, 7]), [12, 0], "192.160 and 192.168 agree in 12 bits");
    /// assert_eq!(lengths([192, 192, 7, 7]), [0]);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn candidates(&self, address: &[u8]) -> impl Iterator<Item = u64> {
        candidates(&self.bank, address)
    }

    /// The longest prefix that `confirm`, the exact table, agrees to: it is asked for each candidate, longest first.
    ///
    /// ```
    /// # use bouquet::sets::Prefixes;
    /// let mut prefixes = Prefixes::with_rate(&[100; 33], 0.01)?;
    /// prefixes.insert(&[10, 0, 0, 0], 8)?;
    /// assert_eq!(prefixes.longest(&[10, 9, 9, 9], |length| length == 8), Some(8));
    /// assert_eq!(prefixes.longest(&[11, 9, 9, 9], |length| length == 8), None);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn longest(&self, address: &[u8], mut confirm: impl FnMut(u64) -> bool) -> Option<u64> {
        self.candidates(address).find(|&length| confirm(length))
    }
}

/// Inserts the first `length` bits of an address into a bank with one set per length.
pub(super) fn insert(bank: &mut FilterBank, address: &[u8], length: u64) -> Result<bool> {
    let found = || format!("one of {} bits", address.len() * 8);
    let expected = || format!("an address of at least {length} bits");
    let mut buffer = [0; MAX_BYTES];
    let prefix =
        cut(address, length, &mut buffer).ok_or_else(|| Error::Item { expected: expected(), found: found() })?;
    bank.insert(prefix, length)
}

/// The lengths whose sets accept the prefix of an address, longest first.
pub(super) fn candidates(bank: &FilterBank, address: &[u8]) -> impl Iterator<Item = u64> {
    (0..bank.sets()).rev().filter(move |&length| {
        let mut buffer = [0; MAX_BYTES];
        bank.items_of(length) > 0
            && cut(address, length, &mut buffer).is_some_and(|prefix| bank.contains_in(prefix, length))
    })
}

/// The bytes of an IP address in its usual notation. A bank should hold addresses of one version: prefixes of both with
/// the same bits are the same to it.
pub(super) fn address(text: &[u8]) -> Result<Vec<u8>> {
    let parsed = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
    match parsed {
        Some(IpAddr::V4(address)) => Ok(address.octets().to_vec()),
        Some(IpAddr::V6(address)) => Ok(address.octets().to_vec()),
        None => Err(Error::Item {
            expected: "an IP address such as 10.1.2.3 or 2001:db8::7".into(),
            found: format!("`{}`", text.escape_ascii()),
        }),
    }
}

/// The address and the length of a prefix such as 10.1.0.0/16.
pub(super) fn prefix(text: &[u8]) -> Result<(Vec<u8>, u64)> {
    let slash = text.iter().rposition(|&byte| byte == b'/');
    let length = slash.and_then(|slash| std::str::from_utf8(&text[slash + 1..]).ok()?.trim().parse().ok());
    match (slash, length) {
        (Some(slash), Some(length)) => Ok((address(&text[..slash])?, length)),
        _ => Err(Error::Item {
            expected: "a prefix such as 10.1.0.0/16".into(),
            found: format!("`{}`", text.escape_ascii()),
        }),
    }
}

/// The longest prefixes that are cut: names and addresses of any kind are shorter.
const MAX_BYTES: usize = 512;

/// The first `length` bits of an address, the rest of the last byte zero; `None` when the address is shorter.
fn cut<'a>(address: &[u8], length: u64, buffer: &'a mut [u8; MAX_BYTES]) -> Option<&'a [u8]> {
    let bytes = usize::try_from(length.div_ceil(8)).ok()?;
    let prefix = buffer.get_mut(..bytes)?;
    prefix.copy_from_slice(address.get(..bytes)?);
    if let (Some(last), 1..) = (prefix.last_mut(), length % 8) {
        *last &= u8::MAX << (8 - length % 8);
    }
    Some(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn the_longest_prefix_is_that_of_an_exact_table() {
        let mut random = SplitMix::new(3);
        let mut table = std::collections::HashSet::new();
        let mut lengths = [0; 33];
        while table.len() < 5_000 {
            let length = [8, 16, 19, 22, 24, 32][random.below(6) as usize];
            // Few networks, so that prefixes nest.
            let address = (random.below(64) << 24 | random.below(1 << 24)) as u32;
            let prefix = address & (u32::MAX << (32 - length));
            lengths[length as usize] += u64::from(table.insert((prefix, length)));
        }
        let mut prefixes = Prefixes::with_rate(&lengths, 0.01).unwrap();
        for &(prefix, length) in &table {
            prefixes.insert(&prefix.to_be_bytes(), length).unwrap();
        }
        let (mut asked, mut matched) = (0, 0);
        for _ in 0..20_000 {
            let address = (random.below(64) << 24 | random.below(1 << 24)) as u32;
            let exact = |length: u64| table.contains(&(address & (u32::MAX << (32 - length)), length));
            let expected = [32, 24, 22, 19, 16, 8].into_iter().find(|&length| exact(length));
            let confirm = |length| {
                asked += 1;
                exact(length)
            };
            assert_eq!(prefixes.longest(&address.to_be_bytes(), confirm), expected);
            matched += u32::from(expected.is_some());
        }
        // Six lengths at one percent: five spurious candidates in a hundred addresses at most.
        assert!(asked - matched < 20_000 * 6 / 100 && matched > 1_000, "{asked} {matched}");
    }

    #[test]
    fn cutting_clears_the_bits_behind_the_prefix_and_refuses_short_addresses() {
        let mut buffer = [0; MAX_BYTES];
        assert_eq!(cut(&[0xFF, 0xFF], 11, &mut buffer), Some([0xFF, 0xE0].as_slice()));
        assert_eq!(cut(&[0xFF, 0xFF], 8, &mut buffer), Some([0xFF].as_slice()));
        assert_eq!(cut(&[0xFF, 0xFF], 0, &mut buffer), Some([].as_slice()));
        assert_eq!(cut(&[0xFF, 0xFF], 17, &mut buffer), None);
        assert_eq!(cut(&[0; 600], 513 * 8, &mut buffer), None);
        assert!(Prefixes::with_rate(&[1; 9], 0.01).unwrap().insert(&[], 8).is_err());
        assert!(Prefixes::with_rate(&[1; 9], 0.01).unwrap().insert(&[1, 2], 16).is_err());
    }
}
