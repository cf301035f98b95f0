//! Counters inside words: columns of ones that share a word with the bits that answer queries.
//!
//! A key has kk distinct places in the first level of each of g words out of l. A word of w bits has b1 of them in its first
//! level; every key that arrives takes kk of the others, so (w - b1)/kk arrivals fit and a word that gets more is given up
//! and accepts everything. With the law of arrivals Binomial(n, g/l), nearly Poisson(gn/l):
//!
//! ```text
//! f = ( sum_j P(j) E_j )^g,    E_j = sum_i (-1)^i C(kk,i) (C(b1-i,kk)/C(b1,kk))^j   while j arrivals fit, then 1
//! ```
//!
//! E_j, by inclusion and exclusion over the places that no arrival has hit, is exact for distinct places; the published form
//! (1 - (1 - 1/b1)^(j kk))^kk treats them as independent and is up to a fifth too high.
//!
//! Source: K. Huang, J. Zhang, D. Zhang, G. Xie, K. Salamatian, A. Liu, W. Li, *A multi-partitioning approach to building fast
//! and accurate counting Bloom filters*, 2013.

use super::special::{binomial, binomial_tail, poisson, power, probability};
use super::{MAX_BITS, check_positive, check_rate};
use crate::{Error, Result};

/// More places per word than this are not computed: the alternating sum would lose its digits.
pub const MAX_PLACES: u32 = 16;

/// Longer words are not computed, and are no words.
const MAX_WORD_BITS: u32 = 4096;

/// The rate of one word below which the sum is noise.
const LEAST_RATE: f64 = 1e-9;

/// A filter of words with counters inside.
///
/// ```
/// use bouquet_theory::hierarchy::Shape;
///
/// let shape = Shape { word_bits: 64, words: 62_500, words_per_key: 2, places: 2, first: 38 };
/// assert_eq!(shape.most_arrivals(), 13);
/// assert!((shape.rate(100_000) - 7.45e-4).abs() < 1e-6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// w, the bits of a word.
    pub word_bits: u32,
    /// l, the number of words.
    pub words: u64,
    /// g, the words of a key, each in another g-th of the filter; 0 is read as 1.
    pub words_per_key: u32,
    /// kk, the places of a key in each of its words.
    pub places: u32,
    /// b1, the bits of the first level.
    pub first: u32,
}

/// E_0, E_1, ...: the chance that the places of a stranger are all hit by this many arrivals.
fn covered(first: u32, places: u32) -> impl Iterator<Item = f64> {
    let (b, kk) = (f64::from(first), f64::from(places));
    // For each i: (-1)^i C(kk,i), and the chance that one arrival misses i given places.
    let mut signed_choices = 1.0;
    let terms: Vec<(f64, f64)> = (0..=places)
        .map(|i| {
            let i = f64::from(i);
            let missed = (0..places).map(f64::from).map(|t| ((b - i - t) / (b - t)).max(0.0)).product();
            let term = (signed_choices, missed);
            signed_choices *= -(kk - i) / (i + 1.0);
            term
        })
        .collect();
    let mut powers = vec![1.0; terms.len()];
    std::iter::repeat_with(move || {
        let sum: f64 = terms.iter().zip(&powers).map(|((choices, _), power)| choices * power).sum();
        powers.iter_mut().zip(&terms).for_each(|(power, (_, missed))| *power *= missed);
        probability(sum)
    })
}

impl Shape {
    /// Whether the numbers make sense: a first level with room for the places, and room beside it for one arrival.
    fn is_sound(&self) -> bool {
        (1..=MAX_PLACES).contains(&self.places)
            && self.places <= self.first
            && self.word_bits <= MAX_WORD_BITS
            && self.first.checked_add(self.places).is_some_and(|used| used <= self.word_bits)
            && self.words > 0
    }

    fn arrival_chance(&self) -> f64 {
        probability(f64::from(self.words_per_key.max(1)) / self.words as f64)
    }

    /// The arrivals that fit in a word.
    ///
    /// ```
    /// use bouquet_theory::hierarchy::Shape;
    /// // The word of 16 bits with 8 in its first level takes two keys of three places.
    /// assert_eq!(Shape { word_bits: 16, words: 1, words_per_key: 1, places: 3, first: 8 }.most_arrivals(), 2);
    /// ```
    pub fn most_arrivals(&self) -> u32 {
        self.word_bits.saturating_sub(self.first) / self.places.max(1)
    }

    /// The chance that a word is given up after n keys.
    ///
    /// ```
    /// use bouquet_theory::hierarchy::Shape;
    /// let shape = Shape { word_bits: 64, words: 62_500, words_per_key: 2, places: 2, first: 38 };
    /// assert!(shape.given_up(100_000) * 62_500.0 <= 1.0, "not one word is expected to be");
    /// ```
    pub fn given_up(&self, n: u64) -> f64 {
        if !self.is_sound() {
            return 1.0;
        }
        binomial_tail(u64::from(self.most_arrivals()) + 1, n as f64, self.arrival_chance())
    }

    /// The rate of false positives after n keys; 1 for a shape that cannot be.
    ///
    /// ```
    /// use bouquet_theory::hierarchy::Shape;
    /// let shape = Shape { word_bits: 512, words: 5_000, words_per_key: 1, places: 5, first: 327 };
    /// assert!(shape.rate(100_000) < 0.01 && shape.rate(150_000) > 0.05);
    /// assert_eq!(shape.rate(0), 0.0);
    /// ```
    pub fn rate(&self, n: u64) -> f64 {
        if !self.is_sound() {
            return 1.0;
        }
        let chance = self.arrival_chance();
        let terms = (0..=self.most_arrivals()).zip(covered(self.first, self.places));
        let sum: f64 = terms.map(|(j, covered)| binomial(j.into(), n as f64, chance) * covered).sum();
        power(probability(sum + self.given_up(n)), self.words_per_key.max(1).into())
    }

    /// The rate if no word were ever given up, with arrivals by Poisson's law: what the design promises before the few full
    /// words are counted.
    ///
    /// ```
    /// use bouquet_theory::hierarchy::Shape;
    /// let shape = Shape { word_bits: 256, words: 11_719, words_per_key: 1, places: 4, first: 172 };
    /// // One word in 11,719 is expected to be given up, which adds a twentieth to the rate.
    /// assert!((shape.ideal_rate(100_000) - 1.52e-3).abs() < 5e-6);
    /// assert!((shape.rate(100_000) - 1.60e-3).abs() < 6e-6);
    /// ```
    pub fn ideal_rate(&self, n: u64) -> f64 {
        if self.is_sound() { self.poisson_rate(n, covered(self.first, self.places)) } else { 1.0 }
    }

    /// The chance that the count of one of n keys is too large: the others have hit all its places in every word that is not
    /// given up, and there is such a word.
    ///
    /// ```
    /// use bouquet_theory::hierarchy::Shape;
    /// let shape = Shape { word_bits: 64, words: 62_500, words_per_key: 2, places: 2, first: 38 };
    /// assert!((shape.over_count(100_000) / shape.rate(100_000) - 1.0).abs() < 0.01);
    /// ```
    pub fn over_count(&self, n: u64) -> f64 {
        if !self.is_sound() || n == 0 {
            return 0.0;
        }
        let (others, chance, g) = ((n - 1) as f64, self.arrival_chance(), self.words_per_key.max(1).into());
        // The key itself takes one of the arrivals that fit.
        let terms = (0..self.most_arrivals()).zip(covered(self.first, self.places));
        let hit: f64 = terms.map(|(j, covered)| binomial(j.into(), others, chance) * covered).sum();
        let given_up = binomial_tail(self.most_arrivals().into(), others, chance);
        probability(power(probability(given_up + hit), g) - power(given_up, g))
    }

    /// The rate as published: as [`ideal_rate`](Self::ideal_rate), but places independent.
    ///
    /// ```
    /// use bouquet_theory::hierarchy::Shape;
    /// let shape = Shape { word_bits: 64, words: 62_500, words_per_key: 2, places: 2, first: 38 };
    /// assert!((1.0..1.2).contains(&(shape.published_rate(100_000) / shape.ideal_rate(100_000))));
    /// ```
    pub fn published_rate(&self, n: u64) -> f64 {
        if !self.is_sound() {
            return 1.0;
        }
        let (first, places) = (f64::from(self.first), f64::from(self.places));
        let missed = power(probability(1.0 - 1.0 / first), places);
        self.poisson_rate(n, (0u32..).map(|j| power(1.0 - power(missed, j.into()), places)))
    }

    /// The g-th power of the mean of what a word with 0, 1, ... arrivals answers.
    fn poisson_rate(&self, n: u64, inner: impl Iterator<Item = f64>) -> f64 {
        let mean = n as f64 * self.arrival_chance();
        // Beyond 40 standard deviations nothing is left. Words of this many arrivals are full.
        let last = (mean + 40.0 * mean.sqrt() + 40.0).min(1e5) as u32;
        let sum: f64 =
            if mean > 9e4 { 1.0 } else { (0..=last).zip(inner).map(|(j, e)| poisson(j.into(), mean) * e).sum() };
        power(probability(sum), self.words_per_key.max(1).into())
    }
}

/// The best first level for n keys: it leaves room for at least as many arrivals as not one word is expected to exceed, the
/// least j with P(arrivals > j) <= 1/l, and for more where the rate is lower so, which is in small filters. `None` when
/// there is no such first level.
///
/// ```
/// use bouquet_theory::hierarchy::best_first;
/// assert_eq!(best_first(64, 62_500, 2, 2, 100_000), Some(38));
/// assert_eq!(best_first(256, 11_719, 1, 4, 100_000), Some(172));
/// assert_eq!(best_first(64, 1, 1, 2, 1_000), None, "a thousand keys in one word");
/// ```
pub fn best_first(word_bits: u32, words: u64, words_per_key: u32, places: u32, n: u64) -> Option<u32> {
    best_first_and_rate(word_bits, words, words_per_key, places, n, 1.0).map(|(first, _)| first)
}

/// The same with its rate, and with at most this chance that a word is given up.
fn best_first_and_rate(word_bits: u32, words: u64, g: u32, places: u32, n: u64, given_up: f64) -> Option<(u32, f64)> {
    if words == 0 || !(1..=MAX_PLACES).contains(&places) || word_bits > MAX_WORD_BITS {
        return None;
    }
    let mean = n as f64 * probability(f64::from(g.max(1)) / words as f64);
    let mut beyond = 1.0;
    let mut best: Option<(u32, f64)> = None;
    for arrivals in 0.. {
        let Some(first) = word_bits.checked_sub(places * arrivals).filter(|&first| first >= places) else {
            return best;
        };
        beyond -= poisson(arrivals.into(), mean);
        // One word in l, with the rounding of the sum. Below the mean a filter of one word has no chance.
        if arrivals == 0 || f64::from(arrivals) < mean || beyond > given_up.min(1.0 / words as f64) + 1e-15 {
            continue;
        }
        let rate = Shape { word_bits, words, words_per_key: g, places, first }.rate(n);
        match best {
            // The fewer bits a first level has the fuller it is, and ever fewer words are given up.
            Some((_, least)) if rate >= least => return best,
            _ => best = Some((first, rate)),
        }
    }
    best
}

/// The best number of places per word and first level for n keys in this many words, and the rate.
fn best_places(word_bits: u32, words: u64, g: u32, n: u64, places: Option<u32>, given_up: f64) -> Option<(Shape, f64)> {
    let range = places.map_or(1..=MAX_PLACES, |places| places..=places);
    let shapes = range.filter_map(|places| {
        let (first, rate) = best_first_and_rate(word_bits, words, g, places, n, given_up)?;
        Some((Shape { word_bits, words, words_per_key: g, places, first }, rate))
    });
    shapes.min_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// The shape of the least rate for n keys in this many words of w bits, g per key; the places per word are chosen unless
/// given.
///
/// ```
/// use bouquet_theory::hierarchy::for_words;
/// let shape = for_words(64, 62_500, 2, 100_000, None)?;
/// assert!(shape.rate(100_000) <= 7.45e-4);
/// assert!(for_words(64, 10, 1, 100_000, None).is_err(), "no room for so many");
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there are no keys, or more than the words can hold.
pub fn for_words(word_bits: u32, words: u64, words_per_key: u32, n: u64, places: Option<u32>) -> Result<Shape> {
    check_positive("items", n)?;
    best_places(word_bits, words, words_per_key, n, places, 1.0).map(|(shape, _)| shape).ok_or_else(|| {
        let bits = u128::from(words) * u128::from(word_bits);
        Error::parameter("bits", "enough that the items fit in the words, some 5 per item", bits)
    })
}

/// The smallest shape whose rate is at most the given one with n keys, and at most a hundredth of that by words that were given
/// up. Otherwise it would be the mean of many filters that are better and a few, with a full word, that are much worse.
///
/// ```
/// use bouquet_theory::hierarchy::for_rate;
/// let shape = for_rate(512, 1, 100_000, 0.01, None)?;
/// assert!(shape.rate(100_000) <= 0.01);
/// assert!(shape.words * 512 < 2_500_000, "25 bits per key; four-bit counters in one array take 38");
/// # Ok::<(), bouquet_theory::Error>(())
/// ```
///
/// # Errors
///
/// `Error::Parameter` if there are no keys or the rate is out of reach, `Error::TooLarge` if there would be too many words.
pub fn for_rate(word_bits: u32, words_per_key: u32, n: u64, rate: f64, places: Option<u32>) -> Result<Shape> {
    check_positive("items", n)?;
    check_rate("fpr", rate)?;
    let g = words_per_key.max(1);
    if rate < LEAST_RATE.powi(g.min(8) as i32) {
        return Err(Error::parameter("fpr", format!("at least {LEAST_RATE:e} for each word of a key"), rate));
    }
    let (word_bits, step) = (word_bits.max(1), u64::from(g));
    let search = Search { word_bits, g, n, rate, given_up: rate.powf(1.0 / f64::from(g)) / 100.0 };
    // Doubles from 8 bits per key until the rate is reached, then halves the interval.
    let first = ((n as f64 * 8.0 / f64::from(word_bits) / step as f64) as u64).max(1);
    if let Some(shape) = search.fast(first, places) {
        return Ok(shape);
    }
    let (mut low, mut high) = (0, first);
    let mut best = loop {
        let bits = search.bits(high);
        if bits > MAX_BITS as f64 {
            return Err(Error::TooLarge { what: "the filter".into(), bytes: (bits / 8.0) as u128 });
        }
        match search.shape(high, places) {
            Some(found) => break found,
            None => (low, high) = (high, high * 2),
        }
    };
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match search.shape(middle, places) {
            Some(found) => (high, best) = (middle, found),
            None => low = middle,
        }
    }
    Ok(best)
}

/// The search for the fewest words, counted in steps of g.
struct Search {
    word_bits: u32,
    g: u32,
    n: u64,
    rate: f64,
    given_up: f64,
}

impl Search {
    fn words(&self, steps: u64) -> u64 {
        steps.saturating_mul(self.g.into())
    }

    fn bits(&self, steps: u64) -> f64 {
        steps as f64 * f64::from(self.g) * f64::from(self.word_bits)
    }

    /// The best shape of this many words, if it reaches the rate.
    fn shape(&self, steps: u64, places: Option<u32>) -> Option<Shape> {
        let found = best_places(self.word_bits, self.words(steps), self.g, self.n, places, self.given_up);
        found.filter(|(_, rate)| *rate <= self.rate).map(|(shape, _)| shape)
    }

    /// The result of doubling from `first` and halving, without looking at every number of places at every size: the fewest
    /// words for one number of places, then whether any other does with fewer. `None` where that cannot be told for certain.
    fn fast(&self, first: u64, places: Option<u32>) -> Option<Shape> {
        // About the best number of places where few words are given up.
        let guess = (0.5 * -self.rate.log2() / f64::from(self.g) + 1.5) as u32;
        let mut witness = places.unwrap_or(guess.clamp(1, MAX_PLACES));
        let mut able: Vec<u32> = places.map_or_else(|| (1..=MAX_PLACES).collect(), |places| vec![places]);
        let mut high = first;
        let mut at_high = self.crowd(high)?.distance(witness, self.rate)?;
        let (mut low, mut at_low) = (high, at_high);
        loop {
            while at_high > 0.0 {
                (low, at_low) = (high, at_high);
                high *= 2;
                if self.bits(high) > MAX_BITS as f64 {
                    return None;
                }
                at_high = self.crowd(high)?.distance(witness, self.rate)?;
            }
            let mut stride = 1 + high / 64;
            while at_low <= 0.0 && low > 1 {
                (high, at_high) = (low, at_low);
                low = low.saturating_sub(stride).max(1);
                at_low = self.crowd(low)?.distance(witness, self.rate)?;
                stride *= 4;
            }
            high = if at_low <= 0.0 { 1 } else { self.close_in([(low, at_low), (high, at_high)], witness)? };
            if places.is_some() || high == 1 {
                break;
            }
            // What cannot reach the rate here cannot with fewer words.
            let crowd = self.crowd(high)?;
            able.retain(|places| crowd.may_reach(*places, self.rate));
            let fewer = self.crowd(high - 1)?;
            let mut better = (witness, 0.0);
            for &places in &able {
                let distance = fewer.distance(places, self.rate)?;
                if distance < better.1 {
                    better = (places, distance);
                }
            }
            if better.1 == 0.0 {
                break;
            }
            (witness, at_high) = better;
            (high, low, at_low) = (high - 1, high - 1, at_high);
        }
        let crowd = self.crowd(high)?;
        let mut found: Option<(Shape, Quick)> = None;
        for places in able {
            let Some((first, quick)) = crowd.best_first(places)? else { continue };
            if found.is_some_and(|(_, least)| !least.is_apart_from(quick.rate)) {
                return None;
            }
            if found.is_none_or(|(_, least)| quick.rate < least.rate) {
                let (words, words_per_key) = (crowd.words, self.g);
                found = Some((Shape { word_bits: self.word_bits, words, words_per_key, places, first }, quick));
            }
        }
        found.map(|(shape, _)| shape)
    }

    fn crowd(&self, steps: u64) -> Option<Crowd> {
        Crowd::new(self.word_bits, self.words(steps), self.g, self.n, self.given_up)
    }

    /// The fewest steps between one that are too few and one that are enough, by the secant of logarithms.
    fn close_in(&self, ends: [(u64, f64); 2], places: u32) -> Option<u64> {
        let [(mut low, mut above), (mut high, mut below)] = ends;
        let mut stayed = 0i32;
        while high - low > 1 {
            let (from, to) = ((low as f64).ln(), (high as f64).ln());
            let secant = (from + (to - from) * (above / (above - below))).exp();
            let middle = low + (high - low) / 2;
            let x =
                if secant.is_finite() && above.is_finite() { secant as u64 } else { middle }.clamp(low + 1, high - 1);
            let distance = self.crowd(x)?.distance(places, self.rate)?;
            if distance > 0.0 {
                (low, above) = (x, distance);
                stayed = stayed.max(0) + 1;
                if stayed > 1 {
                    below /= 2.0;
                }
            } else {
                (high, below) = (x, distance);
                stayed = stayed.min(0) - 1;
                if stayed < -1 {
                    above /= 2.0;
                }
            }
        }
        Some(high)
    }
}

/// A rate and how far it may be off.
#[derive(Clone, Copy)]
struct Quick {
    rate: f64,
    error: f64,
}

impl Quick {
    fn is_apart_from(self, other: f64) -> bool {
        (self.rate - other).abs() > 2.0 * self.error + 1e-12 * other
    }
}

/// The words of a filter of one size, whatever the places of a key: rates in closed form.
///
/// ```text
/// sum_j P(j) E_j = sum_i (-1)^i C(kk,i) (1 - chance (1 - missed_i))^n,    missed_i = C(b1-i,kk)/C(b1,kk)
/// ```
///
/// would be the rate if no word were ever given up; those that are given up add P(j) (1 - E_j) for the few j that do not fit.
struct Crowd {
    word_bits: u32,
    words: u64,
    g: f64,
    n: f64,
    chance: f64,
    /// The least number of arrivals that must fit.
    least: u32,
}

impl Crowd {
    fn new(word_bits: u32, words: u64, g: u32, n: u64, given_up: f64) -> Option<Self> {
        let (n, chance) = (n as f64, probability(f64::from(g) / words as f64));
        let mean = n * chance;
        // Beyond, the first share of Poisson's law would vanish.
        if words == 0 || word_bits > MAX_WORD_BITS || mean > 600.0 {
            return None;
        }
        let bound = given_up.min(1.0 / words as f64) + 1e-15;
        let (mut beyond, mut share, mut arrivals) = (1.0, (-mean).exp(), 0);
        while arrivals <= word_bits {
            beyond -= share;
            if arrivals > 0 && f64::from(arrivals) >= mean {
                // Another order of the sum may tell otherwise.
                if (beyond - bound).abs() < 5e-15 {
                    return None;
                }
                if beyond <= bound {
                    break;
                }
            }
            arrivals += 1;
            share *= mean / f64::from(arrivals);
        }
        Some(Crowd { word_bits, words, g: g.into(), n, chance, least: arrivals })
    }

    fn first(&self, places: u32, arrivals: u32) -> Option<u32> {
        self.word_bits.checked_sub(places.checked_mul(arrivals)?).filter(|&first| first >= places)
    }

    /// Coefficients, chances to be missed by an arrival, and by all: the terms of the sum.
    fn terms(&self, first: u32, places: u32) -> Terms {
        let (b, kk) = (f64::from(first), f64::from(places));
        let mean = self.n * self.chance;
        let mut terms = Terms { count: places as usize + 1, ..Terms::default() };
        let mut signed_choices = 1.0;
        for i in 0..=places as usize {
            let hidden = i as f64;
            let missed = (0..places).map(f64::from).map(|t| ((b - hidden - t) / (b - t)).max(0.0)).product::<f64>();
            let exponent = self.n * (-self.chance * (1.0 - missed)).ln_1p();
            let term = signed_choices * exponent.exp();
            terms.choices[i] = signed_choices;
            terms.missed[i] = missed;
            if term != 0.0 {
                terms.sum += term;
                // Exponents, and powers that are multiplied up, lose digits as they grow.
                terms.noise += 8.0 * f64::EPSILON * term.abs() * (2.0 + mean - exponent);
            }
            signed_choices *= -(kk - hidden) / (hidden + 1.0);
        }
        terms
    }

    /// Whether this many places may reach a rate: with the largest first level that can be, and no word given up.
    fn may_reach(&self, places: u32, rate: f64) -> bool {
        self.first(places, self.least).is_some_and(|first| {
            let terms = self.terms(first, places);
            power(probability(terms.sum - 2.0 * terms.noise), self.g) <= rate
        })
    }

    fn rate(&self, first: u32, places: u32, arrivals: u32) -> Quick {
        if self.chance >= 1.0 && self.n > arrivals.into() {
            // All keys are in every word, and do not fit.
            return Quick { rate: 1.0, error: 0.0 };
        }
        let Terms { choices, missed, count, sum, noise } = self.terms(first, places);
        let mut powers = [0.0; MAX_PLACES as usize + 1];
        for (power, missed) in powers.iter_mut().zip(&missed).take(count) {
            *power = missed.powi(arrivals as i32 + 1);
        }
        let mut sum = sum;
        let mut j = f64::from(arrivals) + 1.0;
        let mut share = if j > self.n || self.chance >= 1.0 { 0.0 } else { binomial(j, self.n, self.chance) };
        while share > 1e-17 * sum && share > 0.0 {
            let covered: f64 = choices.iter().zip(&powers).map(|(choices, power)| choices * power).sum();
            sum += share * (1.0 - probability(covered));
            powers.iter_mut().zip(&missed).for_each(|(power, missed)| *power *= missed);
            share *= (self.n - j).max(0.0) / (j + 1.0) * (self.chance / (1.0 - self.chance));
            j += 1.0;
        }
        let rate = power(probability(sum), self.g);
        Quick { rate, error: power(probability(sum + noise), self.g) - rate }
    }

    /// As [`best_first_and_rate`]: the first level, `Some(None)` if there is none, `None` if two are too close to tell.
    fn best_first(&self, places: u32) -> Option<Option<(u32, Quick)>> {
        let mut best: Option<(u32, Quick)> = None;
        for arrivals in self.least.. {
            let Some(first) = self.first(places, arrivals) else { break };
            let found = self.rate(first, places, arrivals);
            match best {
                Some((_, least)) if !least.is_apart_from(found.rate) => return None,
                Some((_, least)) if found.rate >= least.rate => break,
                _ => best = Some((first, found)),
            }
        }
        Some(best)
    }

    /// The logarithm of the best rate over the one that is wanted; `None` if they are too close to tell.
    fn distance(&self, places: u32, rate: f64) -> Option<f64> {
        match self.best_first(places)? {
            None => Some(f64::INFINITY),
            Some((_, found)) if found.is_apart_from(rate) => Some((found.rate / rate).ln()),
            Some(_) => None,
        }
    }
}

#[derive(Default)]
struct Terms {
    choices: [f64; MAX_PLACES as usize + 1],
    missed: [f64; MAX_PLACES as usize + 1],
    count: usize,
    sum: f64,
    noise: f64,
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, assert_prints};
    use super::*;

    const SMALL: Shape = Shape { word_bits: 64, words: 62_500, words_per_key: 2, places: 2, first: 38 };
    const LARGE: Shape = Shape { word_bits: 256, words: 11_719, words_per_key: 1, places: 4, first: 172 };

    #[test]
    fn rates_and_first_levels_are_the_printed_ones() {
        assert_prints(SMALL.ideal_rate(100_000), "7.44e-4");
        assert_prints(LARGE.ideal_rate(100_000), "1.52e-3");
        for (shape, arrivals) in [(SMALL, 13), (LARGE, 21)] {
            let Shape { word_bits, words, words_per_key, places, first } = shape;
            assert_eq!(best_first(word_bits, words, words_per_key, places, 100_000), Some(first));
            assert_eq!(shape.most_arrivals(), arrivals);
            assert!(shape.given_up(100_000) * words as f64 <= 1.0);
            let published = shape.published_rate(100_000) / shape.ideal_rate(100_000);
            assert!((1.0..1.2).contains(&published), "{published}");
            // The rate is the ideal one and the words that are given up, which are crowded and so in part in the ideal one.
            let root = 1.0 / f64::from(words_per_key);
            let with_lost = shape.ideal_rate(100_000).powf(root) + shape.given_up(100_000);
            assert_close(shape.rate(100_000).powf(root), with_lost, 2e-3);
        }
    }

    #[test]
    fn covering_agrees_with_counting_all_subsets() {
        // Walks through the number of distinct hit places: arrivals are uniform subsets.
        for (first, places) in [(5u32, 2u32), (8, 3), (38, 2), (12, 5)] {
            let choose =
                |n: u32, k: u32| (0..k).map(f64::from).map(|t| (f64::from(n) - t) / (t + 1.0)).product::<f64>();
            let mut hit = vec![0.0; first as usize + 1];
            hit[0] = 1.0;
            for expected in covered(first, places).take(12) {
                let found: f64 = (0..=first).map(|r| hit[r as usize] * choose(r, places) / choose(first, places)).sum();
                assert!((found - expected).abs() < 1e-12, "{first} {places}: {found} {expected}");
                let mut next = vec![0.0; hit.len()];
                for r in 0..=first {
                    for new in 0..=places.min(first - r) {
                        let ways = choose(first - r, new) * choose(r, places - new) / choose(first, places);
                        next[(r + new) as usize] += hit[r as usize] * ways;
                    }
                }
                hit = next;
            }
        }
    }

    #[test]
    fn the_best_shape_is_no_worse_than_its_neighbours() {
        let best = for_words(256, 11_719, 1, 100_000, None).unwrap();
        for places in 1..=MAX_PLACES {
            // Very many places leave no room for a first level.
            let other = for_words(256, 11_719, 1, 100_000, Some(places));
            assert!(other.map_or(1.0, |other| other.rate(100_000)) >= best.rate(100_000));
        }
        for n in [1, 7, 100, 2_000, 1_000_000] {
            for rate in [0.5, 0.1, 0.01, 1e-4] {
                for (word_bits, g) in [(512, 1), (64, 2)] {
                    let shape = for_rate(word_bits, g, n, rate, None).unwrap();
                    assert!(shape.rate(n) <= rate && shape.words.is_multiple_of(g.into()));
                    assert!(shape.given_up(n) <= rate.powf(1.0 / f64::from(g)) / 100.0);
                    // No room is wasted: in three fifths of the words the rate is out of reach, whatever is given up.
                    let fewer = shape.words * 3 / 5 / u64::from(g) * u64::from(g);
                    if fewer >= 10 {
                        let less = for_words(word_bits, fewer, g, n, None);
                        assert!(less.map_or(1.0, |less| less.rate(n)) > rate);
                    }
                }
            }
        }
    }

    /// Every number of places at every size.
    fn slow_for_rate(word_bits: u32, g: u32, n: u64, rate: f64, places: Option<u32>) -> Option<Shape> {
        let search = Search { word_bits, g, n, rate, given_up: rate.powf(1.0 / f64::from(g)) / 100.0 };
        let first = ((n as f64 * 8.0 / f64::from(word_bits) / f64::from(g)) as u64).max(1);
        let (mut low, mut high) = (0, first);
        let mut best = loop {
            match search.shape(high, places) {
                _ if search.bits(high) > MAX_BITS as f64 => return None,
                Some(found) => break found,
                None => (low, high) = (high, high * 2),
            }
        };
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match search.shape(middle, places) {
                Some(found) => (high, best) = (middle, found),
                None => low = middle,
            }
        }
        Some(best)
    }

    #[test]
    fn fast_sizing_finds_what_a_look_at_every_number_of_places_finds() {
        let mut fast = 0;
        for (word_bits, g) in [(512, 1), (256, 1), (128, 2), (64, 1), (64, 2), (64, 4), (512, 4)] {
            for n in [1, 2, 10, 100, 321, 1_000, 10_000, 123_456, 1_000_000, 100_000_000] {
                for rate in [0.5, 0.2, 0.1, 0.03, 0.01, 2e-3, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8] {
                    for places in [None, Some(3)] {
                        let expected = slow_for_rate(word_bits, g, n, rate, places);
                        let found = for_rate(word_bits, g, n, rate, places).ok();
                        assert_eq!(found, expected, "{n} keys at {rate} in words of {word_bits}, {g} each");
                        let search = Search { word_bits, g, n, rate, given_up: rate.powf(1.0 / f64::from(g)) / 100.0 };
                        let first = ((n as f64 * 8.0 / f64::from(word_bits) / f64::from(g)) as u64).max(1);
                        fast += u32::from(search.fast(first, places).is_some());
                    }
                }
            }
        }
        assert!(fast > 1_000, "{fast} of 1540 without a look at everything");
    }

    #[test]
    fn one_word_of_one_key_has_its_closed_form() {
        let shape = Shape { word_bits: 64, words: 1, words_per_key: 1, places: 2, first: 10 };
        assert_close(shape.rate(1), 1.0 / 45.0, 1e-12);
        assert_eq!(shape.over_count(1), 0.0);
        assert_eq!(shape.rate(28), 1.0, "27 arrivals fit");
    }
}
