//! A small seeded generator, for constructions that are drawn by chance and must come out the same on every machine.

/// The multipliers of [`mix`], for code that computes it in vector registers.
///
/// ```
/// use bouquet_theory::random::{MIX, mix};
/// let product = 1u64.wrapping_mul(MIX[0]);
/// let product = (product ^ (product >> 27)).wrapping_mul(MIX[1]);
/// assert_eq!(mix(1), product ^ (product >> 31));
/// ```
pub const MIX: [u64; 2] = [0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB];

/// What the state of [`SplitMix`] grows by with each word: 2^64 divided by the golden ratio, made odd.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A bijective 64-bit mixer (Stafford's variant 13 of the MurmurHash3 finaliser, as in SplitMix64).
///
/// ```
/// assert_ne!(bouquet_theory::random::mix(1), bouquet_theory::random::mix(2));
/// ```
#[must_use]
#[inline]
pub fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(MIX[0]);
    x = (x ^ (x >> 27)).wrapping_mul(MIX[1]);
    x ^ (x >> 31)
}

/// Maps 64 hash bits to `0..n` by the high half of their product: no division, the high bits decide.
///
/// ```
/// assert_eq!(bouquet_theory::random::fastrange(u64::MAX, 10), 9);
/// ```
#[must_use]
#[inline]
pub fn fastrange(hash: u64, n: u64) -> u64 {
    ((u128::from(hash) * u128::from(n)) >> 64) as u64
}

/// A small seeded generator (SplitMix64) for the internal randomness of structures. Its state is one word, so that it
/// can be part of a frame and results replay.
///
/// ```
/// use bouquet_theory::random::SplitMix;
/// assert_eq!(SplitMix::new(5).next_u64(), SplitMix::new(5).next_u64());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix(u64);

impl SplitMix {
    /// A generator that starts from this state.
    ///
    /// ```
    /// use bouquet_theory::random::SplitMix;
    /// assert_eq!(SplitMix::new(5).state(), 5);
    /// assert_ne!(SplitMix::new(5).next_u64(), SplitMix::new(6).next_u64());
    /// ```
    #[must_use]
    #[inline]
    pub fn new(state: u64) -> Self {
        SplitMix(state)
    }

    /// The next 64 bits.
    ///
    /// ```
    /// let mut random = bouquet_theory::random::SplitMix::new(0);
    /// assert_eq!([random.next_u64(), random.next_u64()], [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4]);
    /// ```
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number in `0..n` (0 when `n` is 0), with a bias below `n / 2^64`.
    ///
    /// ```
    /// let mut dice = bouquet_theory::random::SplitMix::new(5);
    /// let sides: std::collections::BTreeSet<_> = (0..200).map(|_| dice.below(6)).collect();
    /// assert!(sides.into_iter().eq(0..6));
    /// assert_eq!(dice.below(0), 0);
    /// ```
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        fastrange(self.next_u64(), n)
    }

    /// A number in `[0, 1)` with 53 random bits.
    ///
    /// ```
    /// let mut random = bouquet_theory::random::SplitMix::new(5);
    /// let sum: f64 = (0..10_000).map(|_| random.unit()).sum();
    /// assert!((sum / 10_000.0 - 0.5).abs() < 0.015); // 5 standard deviations
    /// ```
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Goes on as if `steps` more words had been drawn.
    ///
    /// ```
    /// use bouquet_theory::random::SplitMix;
    /// let (mut drawn, mut skipped) = (SplitMix::new(5), SplitMix::new(5));
    /// (0..3).for_each(|_| { drawn.next_u64(); });
    /// skipped.skip(3);
    /// assert_eq!(drawn, skipped);
    /// ```
    #[inline]
    pub fn skip(&mut self, steps: u64) {
        self.0 = self.0.wrapping_add(steps.wrapping_mul(STEP));
    }

    /// The state, to be written to a frame.
    ///
    /// ```
    /// use bouquet_theory::random::SplitMix;
    /// let mut random = SplitMix::new(5);
    /// random.next_u64();
    /// assert_eq!(SplitMix::new(random.state()).next_u64(), random.next_u64());
    /// ```
    #[must_use]
    #[inline]
    pub fn state(&self) -> u64 {
        self.0
    }
}
