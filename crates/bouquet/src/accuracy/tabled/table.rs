//! The frozen table: how many positions the listed keys have, if not the usual number.

use crate::codec::{Decoder, Encoder};
use crate::error::{Error, Result, same};
use crate::hash::{Digest, MAX_HASHES, mix};
use crate::parts::class_map::ClassMap;
use crate::theory::assignment::Class;

/// Positions are kept in sixteenths: of a key with 6 + 5/16 positions, a hash of its own decides whether it has 6 or 7.
pub(super) const STEPS: u32 = 16;

/// The stream of the digest that decides.
const ROUNDING: u64 = 0x726f_756e_6400;

/// Different numbers of positions, at most.
const MOST_SHARES: usize = (MAX_HASHES * STEPS) as usize + 1;

/// All keys with the same number of positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share {
    /// That number, in sixteenths.
    pub(super) sixteenths: u16,
    /// Their share of the queries for absent keys.
    pub(super) queries: f64,
    /// How many of them are expected to be members.
    pub(super) members: f64,
}

/// Who gets how many positions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    /// Sixteenths of a position that keys have more than usual.
    fraction: u8,
    /// By number of positions, ascending.
    shares: Vec<Share>,
    /// The keys whose number is not the usual one, with the number of their share.
    map: ClassMap,
    fingerprint: u64,
}

impl Table {
    /// The table of keys with their positions in sixteenths, the classes of which have these, and with the weighted rate that they make.
    pub(super) fn new(
        usual: u16,
        keys: impl Iterator<Item = (Digest, u16)>,
        classes: &[(Class, u16)],
        rate: f64,
    ) -> Result<Self> {
        let all: f64 = classes.iter().map(|(class, _)| class.queries).sum();
        let mut shares: Vec<Share> = Vec::new();
        let mut sorted: Vec<_> = classes.to_vec();
        sorted.sort_by_key(|(_, sixteenths)| *sixteenths);
        for (class, sixteenths) in sorted {
            if shares.last().is_none_or(|last| last.sixteenths != sixteenths) {
                shares.push(Share { sixteenths, queries: 0.0, members: 0.0 });
            }
            if let Some(share) = shares.last_mut() {
                share.queries += if all > 0.0 { class.queries / all } else { 0.0 };
                share.members += class.members;
            }
        }
        let number =
            |sixteenths| shares.binary_search_by_key(&sixteenths, |share| share.sixteenths).unwrap_or(0) as u64;
        let listed: Vec<_> = keys.filter(|(_, own)| *own != usual).map(|(digest, own)| (digest, number(own))).collect();
        let map = ClassMap::new(&listed, shares.len().saturating_sub(1) as u64, rate)?;
        let fraction = (usual % STEPS as u16) as u8;
        let mut table = Table { fraction, shares, map, fingerprint: 0 };
        table.fingerprint = table.digest();
        Ok(table)
    }

    /// The positions of keys that are not listed, in sixteenths.
    #[inline]
    pub(super) fn usual(&self, whole: u32) -> u16 {
        whole as u16 * STEPS as u16 + u16::from(self.fraction)
    }

    /// How many positions a key has.
    #[inline]
    pub(super) fn probes(&self, digest: Digest, usual: u32) -> u32 {
        if self.is_plain() {
            return usual;
        }
        let share = self.map.get(digest).and_then(|number| self.shares.get(number));
        let sixteenths = u32::from(share.map_or_else(|| self.usual(usual), |share| share.sixteenths));
        let (whole, fraction) = (sixteenths / STEPS, u64::from(sixteenths % STEPS));
        let more = fraction > 0 && digest.derive(ROUNDING).h1 % u64::from(STEPS) < fraction;
        (whole + u32::from(more)).min(MAX_HASHES)
    }

    /// The share of keys that are wrongly taken for listed ones, and the positions that they then have, each equally often: `None` for
    /// the usual ones.
    pub(super) fn mistaken(&self) -> (f64, impl ExactSizeIterator<Item = Option<u16>>) {
        let of = |number: usize| self.shares.get(number).map(|share| share.sixteenths);
        (self.map.mistaken(), (0..self.map.numbers()).map(of))
    }

    /// Whether all keys have the same whole number of positions.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.fraction == 0 && self.map.listed() == 0
    }

    pub(super) fn shares(&self) -> &[Share] {
        &self.shares
    }

    pub(super) fn listed(&self) -> u64 {
        self.map.listed()
    }

    pub(super) fn bits(&self) -> u64 {
        self.map.bits()
    }

    /// The mean over the declared queries of what `rate` says of a number of positions.
    pub(super) fn rate(&self, rate: impl Fn(f64) -> f64) -> Option<f64> {
        let of = |share: &Share| share.queries * rate(f64::from(share.sixteenths) / f64::from(STEPS));
        (!self.shares.is_empty()).then(|| self.shares.iter().map(of).sum())
    }

    /// The positions of a member, on average.
    pub(super) fn mean_probes(&self) -> Option<f64> {
        let members: f64 = self.shares.iter().map(|share| share.members).sum();
        let thrown: f64 = self.shares.iter().map(|share| share.members * f64::from(share.sixteenths)).sum();
        (members > 0.0).then(|| thrown / members / f64::from(STEPS))
    }

    /// Refuses another table.
    pub(super) fn same(&self, other: &Self) -> Result<()> {
        same("table of classes", format!("{:016x}", self.fingerprint), format!("{:016x}", other.fingerprint))
    }

    /// What two tables are told apart by; 0 if all keys have the same number.
    fn digest(&self) -> u64 {
        if self.is_plain() {
            return 0;
        }
        let shares = self.shares.iter().map(|share| u64::from(share.sixteenths));
        shares.chain([self.fraction.into()]).fold(self.map.fingerprint(), |sum, word| mix(sum ^ word).wrapping_add(sum))
    }

    /// State: fraction, fingerprint, shares with their positions, queries and members; then the map of listed keys.
    pub(super) fn encode<'a>(&'a self, encoder: &mut Encoder<'a>) {
        let state = encoder.state();
        state.u8(self.fraction);
        state.u64(self.fingerprint);
        state.u32(self.shares.len() as u32);
        for share in &self.shares {
            state.u32(share.sixteenths.into());
            state.f64(share.queries);
            state.f64(share.members);
        }
        self.map.encode(encoder);
    }

    pub(super) fn decode(decoder: &mut Decoder<'_>) -> Result<Self> {
        let state = decoder.state();
        let (fraction, fingerprint, count) = (state.u8()?, state.u64()?, state.u32()? as usize);
        if u32::from(fraction) >= STEPS || count > MOST_SHARES {
            return Err(Error::corrupt("table of classes", "at most 15 sixteenths and 1025 classes", count));
        }
        let mut shares: Vec<Share> = Vec::new();
        for _ in 0..count {
            let (sixteenths, queries, members) = (state.u32()?, state.f64()?, state.f64()?);
            let ascends = shares.last().is_none_or(|last| u32::from(last.sixteenths) < sixteenths);
            let sound = (0.0..=1.001).contains(&queries) && (0.0..=1e100).contains(&members);
            if sixteenths > MAX_HASHES * STEPS || !ascends || !sound {
                let expected = "ascending positions up to 64, and what is expected of them";
                return Err(Error::corrupt("a class", expected, format!("{sixteenths} sixteenths")));
            }
            shares.push(Share { sixteenths: sixteenths as u16, queries, members });
        }
        let table = Table { fraction, shares, map: ClassMap::decode(decoder)?, fingerprint };
        let read = if decoder.reads_stores() { table.digest() } else { fingerprint };
        if read != fingerprint {
            let [expected, found] = [fingerprint, read].map(|print| format!("the fingerprint {print:016x}"));
            return Err(Error::corrupt("table of classes", expected, found));
        }
        Ok(table)
    }
}
