//! Sizing as the formulas say it: the law of all ones of a block, every share of arrivals by itself, halving, and every number of
//! probes near the optimum of a flat array. A thousand times slower than what it is compared with.

use super::*;
use crate::occupancy::hit_weights;

pub(super) fn for_rate(layout: Layout, n: u64, rate: f64, hashes: Option<u32>) -> Result<Size> {
    check_positive("items", n)?;
    check_rate("fpr", rate)?;
    check_positive("block_bits", layout.block_bits)?;
    let (k, c) = match hashes {
        Some(k) => {
            check_positive("hashes", u64::from(k))?;
            (k, Mixture::new(layout, k).bits_per_key(rate))
        }
        None => best_for_rate(layout, rate),
    };
    let mut mixture = Mixture::new(layout, k);
    if c > MAX_BITS_PER_KEY {
        check_reached("fpr", rate, mixture.limit_rate(MAX_BITS_PER_KEY))?;
    }
    let bits = check_bits(c * n as f64)?;
    // The Poisson limit is off by a few blocks for few keys: settle on the least number with the binomial law.
    let most = u64::MAX / layout.block_bits;
    let mut enough = |blocks: u64| mixture.rate(blocks.min(most), n) <= rate;
    let mut high = bits.div_ceil(layout.block_bits).max(1);
    let mut low = 0;
    while !enough(high) {
        low = high;
        high = high.saturating_mul(2);
        check_bits(high as f64 * layout.block_bits as f64)?;
    }
    // The answer is close below `high` unless the limit was too small: probe downwards with doubling steps.
    let mut step = 1;
    while low == 0 && high > step && enough(high - step) {
        high -= step;
        step *= 2;
    }
    if low == 0 {
        low = high.saturating_sub(step);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    let bits = high.checked_mul(layout.block_bits).ok_or_else(|| {
        Error::parameter("block_bits", "such that the filter has fewer than 2^64 bits", layout.block_bits)
    })?;
    Ok(Size { bits, hashes: k })
}

fn best_for_rate(layout: Layout, rate: f64) -> (u32, f64) {
    best_over_hashes(layout, -probability(rate).log2(), |k, least| {
        let mut mixture = Mixture::new(layout, k);
        // One evaluation tells that k needs more bits than the best so far; how many more does not matter.
        if least.is_finite() && mixture.limit_rate(least) > probability(rate) {
            return f64::INFINITY;
        }
        mixture.bits_per_key(rate)
    })
}

fn best_over_hashes(layout: Layout, flat_optimum: f64, cost: impl Fn(u32, f64) -> f64) -> (u32, f64) {
    let start = match layout.inner {
        Inner::Bits => (flat_optimum as u32).clamp(1, MAX_HASHES),
        Inner::Slices => 1,
    };
    let (mut best, mut least) = (start, cost(start, f64::INFINITY));
    for k in (1..start).rev() {
        let found = cost(k, least);
        if found <= least {
            (best, least) = (k, found);
        } else if k + 3 < best && least.is_finite() {
            break;
        }
    }
    for k in start + 1..=MAX_HASHES {
        if k > best + 4 && least.is_finite() {
            break;
        }
        let found = cost(k, least);
        if found < least {
            (best, least) = (k, found);
        }
    }
    (best, least)
}

struct Mixture {
    layout: Layout,
    /// g, at least 1.
    words: u32,
    /// The probes in a block; `extra` of the g blocks get one more.
    base: u32,
    extra: u32,
    /// `None` for blocks whose inner rates are not walked through.
    walk: Option<Walk>,
}

impl Mixture {
    fn new(layout: Layout, k: u32) -> Self {
        let words = layout.blocks_per_key.max(1);
        let (base, extra) = (k / words, k % words);
        let exact = layout.inner == Inner::Bits && (1..=EXACT_BLOCK).contains(&layout.block_bits);
        let extra_share = f64::from(extra) / f64::from(words);
        let walk = exact.then(|| Walk::new(layout.block_bits, base, extra_share));
        Mixture { layout, words, base, extra, walk }
    }

    fn rate(&mut self, blocks: u64, n: u64) -> f64 {
        if self.is_void() || blocks == 0 {
            return 1.0;
        }
        let trials = n as f64 * f64::from(self.words);
        self.over(Arrivals::Binomial { trials, success: 1.0 / blocks as f64 })
    }

    fn limit_rate(&mut self, bits_per_key: f64) -> f64 {
        let c = positive(bits_per_key);
        if self.is_void() || c == 0.0 {
            return 1.0;
        }
        let mean = amount(self.layout.block_bits as f64 * f64::from(self.words) / c);
        self.over(Arrivals::Poisson { mean })
    }

    fn bits_per_key(&mut self, rate: f64) -> f64 {
        let rate = probability(rate);
        if rate == 1.0 {
            return 0.0;
        }
        if self.is_void() {
            return f64::INFINITY;
        }
        // The bracket is the power of two that suffices and its half. The search starts at the size of a flat array, because
        // much smaller filters have long walks.
        let k = f64::from(self.base) * f64::from(self.words) + f64::from(self.extra);
        let flat = -k / (-power(rate, 1.0 / k)).ln_1p();
        let mut high = flat.clamp(1.0, MAX_BITS_PER_KEY).log2().ceil().exp2();
        while self.limit_rate(high) > rate {
            if high > MAX_BITS_PER_KEY {
                return f64::INFINITY;
            }
            high *= 2.0;
        }
        while high > 1.0 && self.limit_rate(high / 2.0) <= rate {
            high /= 2.0;
        }
        let mut low = if high > 1.0 { high / 2.0 } else { 0.0 };
        while high - low > 1e-9 * high {
            let middle = (low + high) / 2.0;
            if self.limit_rate(middle) <= rate {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }

    /// True without probes or bits: such a filter lets everything pass.
    fn is_void(&self) -> bool {
        (self.base == 0 && self.extra == 0) || self.layout.block_bits == 0
    }

    fn over(&mut self, arrivals: Arrivals) -> f64 {
        let (mean, deviation) = arrivals.mean_and_deviation();
        if mean == 0.0 {
            return 0.0;
        }
        let mut first = (mean - 12.0 * deviation - 12.0).floor().max(0.0);
        let last = (mean + 12.0 * deviation + 40.0).ceil();
        let mut walk = self.walk.as_mut().filter(|_| last <= WALKED_ARRIVALS);
        let mut stride = 1.0;
        if walk.is_some() {
            first = 0.0;
        } else {
            stride = ((last - first) / SAMPLES).ceil().max(1.0);
        }
        let extra_share = f64::from(self.extra) / f64::from(self.words);
        let (layout, base) = (self.layout, self.base);
        let mut inside = |x: f64| match &mut walk {
            Some(walk) => walk.rates(x as usize),
            None => inner_rates(layout, x, base, extra_share),
        };

        let (mut weight, mut plain, mut longer) = (0.0, 0.0, 0.0_f64);
        for step in 0..=((last - first) / stride) as u64 {
            let x = first + step as f64 * stride;
            let share = arrivals.probability(x);
            // Past the mean the shares fall, and rates are at most 1: no later term changes a digit of the sums.
            let least_sum = if self.extra > 0 { longer.min(plain) } else { plain };
            if x > mean && share < 1e-17 * least_sum {
                break;
            }
            let (p, l) = inside(x);
            weight += share;
            plain += share * p;
            longer += share * l;
        }
        if weight <= 0.0 {
            // The law is narrower than the sampling or than the spacing of floating-point numbers: all mass is at the mean.
            (plain, longer) = inner_rates(layout, mean, base, extra_share);
            weight = 1.0;
        }
        let per_plain = probability(plain / weight);
        let per_longer = probability(longer / weight);
        power(per_plain, f64::from(self.words - self.extra)) * power(per_longer, f64::from(self.extra))
    }
}

/// The exact rates inside a block after 0, 1, 2, ... arrivals, as far as they were asked for.
struct Walk {
    /// The law of the ones after `known.len()` arrivals.
    block: Occupancy,
    base: u32,
    extra_share: f64,
    plain_hits: Vec<f64>,
    /// Empty if no block gets a probe more.
    longer_hits: Vec<f64>,
    known: Vec<(f64, f64)>,
}

impl Walk {
    fn new(block_bits: u64, base: u32, extra_share: f64) -> Self {
        let longer_hits = if extra_share > 0.0 { hit_weights(block_bits, base.saturating_add(1)) } else { Vec::new() };
        let plain_hits = hit_weights(block_bits, base);
        Walk { block: Occupancy::new(block_bits, 1e-40), base, extra_share, plain_hits, longer_hits, known: Vec::new() }
    }

    /// The exact form of [`inner_rates`]; the second rate is 0 if no block gets a probe more.
    fn rates(&mut self, x: usize) -> (f64, f64) {
        while self.known.len() <= x {
            self.known.push((self.block.mean_of(&self.plain_hits), self.block.mean_of(&self.longer_hits)));
            self.block.throw_many(u128::from(self.base));
            if self.extra_share > 0.0 {
                self.block.throw(self.extra_share);
            }
        }
        self.known[x]
    }
}
