use bouquet::hash::SplitMix;

use super::papers::TARKOMA;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey000-fig6",
    paper: &TARKOMA,
    place: "Figure 6",
    title: "three elements in a deletable filter of 32 bits, k = 3, r = 4",
    run,
};

const BITS: u64 = 32;
const HASHES: usize = 3;
const ELEMENTS: usize = 3;
/// r, the bits of the bitmap; the figure has 4.
const REGIONS: [u64; 5] = [1, 2, 4, 7, 14];

/// The region of a position among this many places.
fn region(position: usize, regions: u64, places: usize) -> usize {
    position * regions as usize / places
}

/// The chance that none of the places of one element in some regions, which have `size` places in all and hold `own` of the
/// element's, is hit by a second or third element, and that these do not meet there either.
fn untouched(size: usize, own: usize, places: usize) -> f64 {
    let [all, free, own] = [places, size - own, own].map(|count| count as f64);
    let outside = all - size as f64;
    // c of the second element's three draws fall on free places there, b of them different.
    let draws = [outside.powi(3), 3.0 * outside.powi(2) * free, 3.0 * outside * free.powi(2), free.powi(3)];
    let different = |b: f64| (1.0 - (own + b) / all).powi(3);
    let meet = if free > 0.0 { 1.0 / free } else { 0.0 };
    let apart = [1.0 - meet, (1.0 - 2.0 * meet).max(0.0)];
    let third = [
        different(0.0),
        different(1.0),
        apart[0] * different(2.0) + meet * different(1.0),
        apart[0] * apart[1] * different(3.0)
            + meet * meet * different(1.0)
            + (1.0 - apart[0] * apart[1] - meet * meet) * different(2.0),
    ];
    draws.iter().zip(third).map(|(draws, third)| draws / all.powi(3) * third).sum()
}

/// The share of elements that can be removed, exactly: over all draws of one element, by inclusion and exclusion over the sets of its
/// regions that are free of collisions.
fn expected(regions: u64) -> f64 {
    let places = (BITS - regions) as usize;
    let sizes = (0..places).fold([0; 32], |mut sizes, position| {
        sizes[region(position, regions, places)] += 1;
        sizes
    });
    let mut kept = 0.0;
    for draw in 0..places.pow(3) {
        let mut own = vec![draw % places, draw / places % places, draw / places / places];
        own.sort_unstable();
        own.dedup();
        let mut of: Vec<usize> = own.iter().map(|&position| region(position, regions, places)).collect();
        of.dedup();
        for set in 1_u32..1 << of.len() {
            let chosen: Vec<usize> = (0..of.len()).filter(|i| set >> i & 1 == 1).map(|i| of[i]).collect();
            let size = chosen.iter().map(|&region| sizes[region]).sum();
            let inside = own.iter().filter(|&&position| chosen.contains(&region(position, regions, places))).count();
            let sign = if set.count_ones() % 2 == 1 { 1.0 } else { -1.0 };
            kept += sign * untouched(size, inside, places);
        }
    }
    kept / places.pow(3) as f64
}

/// A filter by the letter of the text: the first r bits are the bitmap, the others are split into r regions.
struct Filter {
    regions: u64,
    bits: Vec<bool>,
    collided: Vec<bool>,
}

impl Filter {
    fn new(regions: u64) -> Self {
        let places = (BITS - regions) as usize;
        Filter { regions, bits: vec![false; places], collided: vec![false; regions as usize] }
    }

    fn region(&self, position: usize) -> usize {
        region(position, self.regions, self.bits.len())
    }

    fn insert(&mut self, positions: &[usize]) {
        for &position in positions {
            let region = self.region(position);
            self.collided[region] |= self.bits[position];
            self.bits[position] = true;
        }
    }

    fn contains(&self, positions: &[usize]) -> bool {
        positions.iter().all(|&position| self.bits[position])
    }

    /// Resets the bits in regions without collision, and says whether there was one.
    fn remove(&mut self, positions: &[usize]) -> bool {
        let free: Vec<usize> =
            positions.iter().copied().filter(|&position| !self.collided[self.region(position)]).collect();
        free.iter().for_each(|&position| self.bits[position] = false);
        !free.is_empty()
    }
}

/// The different positions of an element.
fn draw(random: &mut SplitMix, places: u64) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..HASHES).map(|_| random.below(places) as usize).collect();
    positions.sort_unstable();
    positions.dedup();
    positions
}

/// How many of the three elements can be removed, and whether removing them all, each while the others are asked for, lost none.
fn fill(random: &mut SplitMix, regions: u64) -> (usize, bool) {
    let mut filter = Filter::new(regions);
    let elements: Vec<Vec<usize>> = (0..ELEMENTS).map(|_| draw(random, BITS - regions)).collect();
    elements.iter().for_each(|element| filter.insert(element));
    let (mut removed, mut kept) = (0, true);
    for (i, element) in elements.iter().enumerate() {
        let gone = filter.remove(element);
        removed += usize::from(gone);
        kept &= !gone || !filter.contains(element);
        kept &= elements[i + 1..].iter().all(|other| filter.contains(other));
    }
    (removed, kept)
}

fn run(lab: &Lab) -> Result<Report> {
    let rounds = lab.rounds(200_000, 20_000);
    let (mut points, mut all_points, mut safe) = (Vec::new(), Vec::new(), true);
    let mut at_four = (0.0, 0.0);
    for regions in REGIONS {
        let found = lab.play(&format!("{regions} regions"), rounds, |random| fill(random, regions));
        let one = Mean::of_shares(&found.iter().map(|(n, _)| (*n as u64, ELEMENTS as u64)).collect::<Vec<_>>());
        let all = Mean::of_shares(&found.iter().map(|(n, _)| (u64::from(*n == ELEMENTS), 1)).collect::<Vec<_>>());
        safe &= found.iter().all(|(_, kept)| *kept);
        points.push((regions as f64, one));
        all_points.push((regions as f64, all));
        if regions == 4 {
            at_four = (one.value, all.value);
        }
    }
    Ok(Report::new()
        .plot(
            Plot::new(Axis::linear("r, bits of the bitmap"), Axis::linear("share").range(0.0, 1.0))
                .line("an element can be removed", REGIONS.map(|regions| (regions as f64, expected(regions))))
                .points("an element can be removed", points.clone())
                .points("all three can", all_points),
        )
        .claim(Claim::holds(
            "\"all elements are deletable\", as drawn",
            "the usual case",
            format!("in {:.0} % of all fillings; one element in {:.0} %", 100.0 * at_four.1, 100.0 * at_four.0),
            at_four.1 > 0.5,
        ))
        .claim(Claim::curve(
            "share of elements that can be removed, counted over all draws",
            REGIONS.map(expected).into_iter().zip(points.iter().map(|point| point.1)),
        ))
        .claim(Claim::holds(
            "removal leaves no false negatives, and the element is gone",
            "yes",
            format!("in all {} fillings", 5 * rounds),
            safe,
        ))
        .note(
            "The positions that the figure draws are not in its text, so this draws them at random, many times. With only 28 bits \
             behind the bitmap the estimate of Figure 7 would be far off: here the share is counted exactly.",
        ))
}
