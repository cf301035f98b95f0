use bouquet::hash::SplitMix;
use bouquet::theory::hierarchy::Shape;

use super::papers::LUO;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "survey003-fig6",
    paper: &LUO,
    place: "Figure 6",
    title: "counters inside a word of 16 bits, k = 3, eight bits in the first level",
    run,
};

const WORD: usize = 16;
const FIRST: usize = 8;
const HASHES: usize = 3;

/// The word by the letter of the text: levels of bits; every one of a level has a bit in the next.
#[derive(Clone, Debug, PartialEq)]
struct Word {
    levels: Vec<Vec<bool>>,
}

impl Word {
    fn new() -> Self {
        Word { levels: vec![vec![false; FIRST]] }
    }

    fn bits(&self) -> usize {
        self.levels.iter().map(Vec::len).sum()
    }

    /// popcount(i): the ones before position i of a level.
    fn ones_before(&self, level: usize, position: usize) -> usize {
        self.levels[level][..position].iter().filter(|bit| **bit).count()
    }

    fn increment(&mut self, mut position: usize) {
        let mut level = 0;
        while self.levels[level][position] {
            position = self.ones_before(level, position);
            level += 1;
        }
        self.levels[level][position] = true;
        let below = self.ones_before(level, position);
        if self.levels.len() == level + 1 {
            self.levels.push(Vec::new());
        }
        self.levels[level + 1].insert(below, false);
    }

    fn decrement(&mut self, mut position: usize) {
        let mut level = 0;
        let mut path = vec![position];
        while self.levels[level][position] {
            position = self.ones_before(level, position);
            level += 1;
            path.push(position);
        }
        // The last one of the column and the empty bit below it.
        self.levels[level].remove(path[level]);
        self.levels[level - 1][path[level - 1]] = false;
        while self.levels.last().is_some_and(Vec::is_empty) {
            self.levels.pop();
        }
    }

    fn count(&self, mut position: usize) -> usize {
        let mut level = 0;
        while self.levels[level][position] {
            position = self.ones_before(level, position);
            level += 1;
        }
        level
    }
}

/// Three different places of the first level.
fn draw(random: &mut SplitMix, among: u64) -> [usize; HASHES] {
    let mut places = [usize::MAX; HASHES];
    for i in 0..HASHES {
        places[i] = loop {
            let place = random.below(among) as usize;
            if !places[..i].contains(&place) {
                break place;
            }
        };
    }
    places
}

/// Whether a word that got this many elements answers for a stranger, and whether its columns are true counts and can be taken back.
fn trial(random: &mut SplitMix, elements: usize) -> (bool, bool) {
    let (mut word, mut counts) = (Word::new(), [0; FIRST]);
    let inserted: Vec<[usize; HASHES]> = (0..elements).map(|_| draw(random, FIRST as u64)).collect();
    for &place in inserted.iter().flatten() {
        word.increment(place);
        counts[place] += 1;
    }
    let mut sound = (0..FIRST).all(|place| word.count(place) == counts[place]);
    sound &= word.bits() == FIRST + HASHES * elements;
    let stranger = draw(random, FIRST as u64).iter().all(|&place| word.count(place) > 0);
    for &place in inserted.iter().flatten().rev() {
        word.decrement(place);
    }
    (stranger, sound && word == Word::new())
}

/// The same for four counters of four bits, which is what the word would hold otherwise.
fn four_counters(random: &mut SplitMix, elements: usize) -> bool {
    let mut hit = [false; 4];
    (0..elements).flat_map(|_| draw(random, 4)).for_each(|place| hit[place] = true);
    draw(random, 4).iter().all(|&place| hit[place])
}

fn run(lab: &Lab) -> Result<Report> {
    let rounds = lab.rounds(400_000, 40_000);
    let shape =
        Shape { word_bits: WORD as u32, words: 1, words_per_key: 1, places: HASHES as u32, first: FIRST as u32 };
    let (mut points, mut pairs, mut plain, mut sound) = (Vec::new(), Vec::new(), Vec::new(), true);
    for elements in 1..=2_usize {
        let found = lab.play(&format!("{elements} elements"), rounds, |random| trial(random, elements));
        sound &= found.iter().all(|(_, sound)| *sound);
        let mean = Mean::of_shares(&found.iter().map(|(hit, _)| (u64::from(*hit), 1)).collect::<Vec<_>>());
        points.push((elements as f64, mean));
        pairs.push((shape.rate(elements as u64), mean));
        let counters =
            lab.play(&format!("{elements} elements, counters"), rounds, |random| four_counters(random, elements));
        plain.push((
            elements as f64,
            Mean::of_shares(&counters.iter().map(|hit| (u64::from(*hit), 1)).collect::<Vec<_>>()),
        ));
    }
    let (ours, theirs) = (points[1].1.value, plain[1].1.value);
    Ok(Report::new()
        .plot(
            Plot::new(Axis::linear("elements in the word"), Axis::linear("rate of false positives").range(0.0, 1.0))
                .line("hierarchy", [1, 2].map(|n| (n as f64, shape.rate(n))))
                .points("hierarchy", points)
                .points("four counters of four bits", plain),
        )
        .claim(Claim::holds(
            "elements that fit",
            "8 + 3 n ≤ 16 bits",
            shape.most_arrivals().to_string(),
            shape.most_arrivals() == 2,
        ))
        .claim(Claim::holds(
            "bits that an element adds",
            "one for each bit that is set from 0 to 1",
            format!("3 in all {} words; the columns are the counts, and go when they are taken back", 2 * rounds),
            sound,
        ))
        .claim(Claim::curve("rate of a stranger with one and two elements, exact", pairs))
        .claim(Claim::holds(
            "8 bits instead of 4 cells",
            "the rate is significantly lower",
            format!("{ours:.3} instead of {theirs:.3} with two elements"),
            ours < theirs / 2.0,
        ))
        .note("The places of an element are different. The library's own words have 64 to 512 bits and the same code."))
}
