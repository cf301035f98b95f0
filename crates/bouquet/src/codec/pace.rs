//! The clock of a filter that forgets, as its frame remembers it. FORMAT.md has its bytes.

use super::StateReader;
use crate::error::{Error, Result};

/// Bytes of a pace.
pub(super) const PACE: usize = 16;

/// How ticks of a filter that forgets go with time: when the last one was, and how long they are. Whoever has a clock says how late it
/// is; the library has none.
///
/// ```
/// use bouquet::codec::Pace;
/// let pace = Pace { second: 1_000, seconds: 60 };
/// assert_eq!(pace.due(1_059), (0, pace));
/// assert_eq!(pace.due(1_130), (2, Pace { second: 1_120, seconds: 60 }));
/// assert_eq!(pace.due(500), (0, pace), "a clock that was set back makes nothing younger");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// When the last tick was, in seconds since 1970.
    pub second: u64,
    /// The seconds between two ticks.
    pub seconds: u64,
}

impl Pace {
    /// The ticks that have passed when it is `now`, and the pace after them.
    #[must_use]
    pub fn due(self, now: u64) -> (u64, Self) {
        let ticks = now.saturating_sub(self.second) / self.seconds.max(1);
        (ticks, Pace { second: self.second + ticks * self.seconds, ..self })
    }

    pub(super) fn to_bytes(self) -> [u8; PACE] {
        let mut bytes = [0; PACE];
        bytes[..8].copy_from_slice(&self.second.to_le_bytes());
        bytes[8..].copy_from_slice(&self.seconds.to_le_bytes());
        bytes
    }

    /// The pace at the end of a state.
    pub(super) fn read(state: &[u8]) -> Result<Self> {
        let short = || Error::corrupt("state of a frame with a pace", format!("at least {PACE} bytes"), state.len());
        let mut reader = StateReader::new(state.last_chunk::<PACE>().ok_or_else(short)?, "pace");
        let pace = Pace { second: reader.u64()?, seconds: reader.u64()? };
        if pace.seconds == 0 {
            return Err(Error::corrupt("seconds of a tick", "at least 1", 0));
        }
        Ok(pace)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FLAGS, HAS_PACE, Header, seal};
    use super::*;
    use crate::hash::{Hashing, Secret};
    use crate::kind::{Config, Verb};
    use crate::{AnyFilter, OpenOptions, registry};

    const NOON: Pace = Pace { second: 1_700_000_000, seconds: 60 };

    /// The kinds that forget, each with some keys.
    fn filters() -> impl Iterator<Item = AnyFilter> {
        registry::kinds().filter(|kind| kind.can(Verb::Advance)).map(|kind| {
            let config = Config::new(kind.facts()).set("items", "50").unwrap();
            let mut filter = AnyFilter::new(&config).unwrap();
            for key in [b"rose".as_slice(), b"lily"] {
                filter.insert().unwrap().insert(key.into()).unwrap();
            }
            filter
        })
    }

    fn sealed(mut frame: Vec<u8>, header: usize) -> Vec<u8> {
        seal(&mut frame[..header]);
        frame
    }

    #[test]
    fn frames_remember_the_pace_and_are_as_before_without() {
        for mut filter in filters() {
            let before = filter.to_bytes();
            filter.set_pace(Some(NOON)).unwrap();
            let frame = filter.to_bytes();
            let mut again = AnyFilter::from_bytes(&frame).unwrap();
            assert!(again.pace() == Some(NOON) && again.to_bytes() == frame, "{filter:?}");
            if filter.can(Verb::Compress) {
                assert!(AnyFilter::from_bytes(&filter.to_compressed_bytes()).unwrap().to_bytes() == frame);
            }
            assert_eq!(again.clone().pace(), Some(NOON));
            again.set_pace(None).unwrap();
            assert!(again.to_bytes() == before, "{filter:?}");
        }
    }

    #[test]
    fn a_filter_that_was_left_alone_is_as_one_that_was_watched() {
        for mut filter in filters() {
            let mut watched = filter.clone();
            filter.set_pace(Some(NOON)).unwrap();
            assert_eq!(filter.catch_up(NOON.second + 59).unwrap(), 0);
            let mut opened = AnyFilter::from_bytes(&filter.to_bytes()).unwrap();
            assert_eq!(opened.catch_up(NOON.second + 3_630).unwrap(), 60);
            assert_eq!(opened.pace(), Some(Pace { second: NOON.second + 3_600, seconds: 60 }));
            watched.advance().unwrap().advance(60);
            opened.set_pace(None).unwrap();
            assert!(opened.to_bytes() == watched.to_bytes(), "{watched:?}");
        }
    }

    #[test]
    fn a_flag_that_is_wrong_and_a_tick_without_length_are_refused() {
        for mut filter in filters() {
            let mut frame = filter.to_bytes();
            let header = Header::read(&frame).unwrap().len();
            frame[FLAGS] |= HAS_PACE;
            assert!(AnyFilter::from_bytes(&sealed(frame, header)).is_err(), "{filter:?}");
            filter.set_pace(Some(NOON)).unwrap();
            let mut frame = filter.to_bytes();
            let state = Header::read(&frame).unwrap().state;
            let header = Header::read(&frame).unwrap().len();
            frame[FLAGS] &= !HAS_PACE;
            assert!(AnyFilter::from_bytes(&sealed(frame.clone(), header)).is_err(), "{filter:?}");
            frame[FLAGS] |= HAS_PACE;
            frame[state.end - 8..state.end].fill(0);
            assert!(AnyFilter::from_bytes(&sealed(frame, header)).is_err(), "{filter:?}");
            assert!(filter.set_pace(Some(Pace { seconds: 0, ..NOON })).is_err());
        }
    }

    #[test]
    fn a_kind_that_does_not_forget_has_no_pace() {
        let config = Config::new(registry::find("standard").unwrap().facts()).set("items", "50").unwrap();
        assert!(AnyFilter::new(&config).unwrap().set_pace(Some(NOON)).is_err());
    }

    #[test]
    fn the_authentication_code_covers_the_pace() {
        let secret = Secret::new(&[7; 32]).unwrap();
        let config = Config::new(registry::find("stable").unwrap().facts()).set("items", "50").unwrap();
        let mut filter = AnyFilter::new(&config.hashed(Hashing::keyed(secret.clone()))).unwrap();
        filter.set_pace(Some(NOON)).unwrap();
        let mut frame = filter.to_bytes();
        let options = OpenOptions { secret: Some(secret), ..OpenOptions::default() };
        assert_eq!(AnyFilter::from_bytes_with(&frame, &options).unwrap().pace(), Some(NOON));
        let (header, state) = (Header::read(&frame).unwrap().len(), Header::read(&frame).unwrap().state);
        frame[state.end - PACE] ^= 1;
        let refused = AnyFilter::from_bytes_with(&sealed(frame, header), &options);
        assert!(matches!(refused, Err(Error::NotAuthentic { .. })));
    }
}
