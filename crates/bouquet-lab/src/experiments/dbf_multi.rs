use bouquet::dynamic::dynamic::Dynamic;
use bouquet::hash::SplitMix;

use super::dbf::{BASE, chain};
use super::papers::GUO;
use crate::simulate::keys;
use crate::{Axis, Claim, Experiment, Lab, Mean, Plot, Report, Result};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "dbf-multi",
    paper: &GUO,
    place: "Section 3.5.2",
    title: "items of several attributes: a chain for each (MDDBF)",
    run,
};

/// Two attributes.
struct Multi {
    chains: [Dynamic; 2],
}

impl Multi {
    fn new(random: &mut SplitMix) -> Result<Self> {
        Ok(Multi { chains: [chain(random, BASE)?, chain(random, BASE)?] })
    }

    fn insert(&mut self, item: [u64; 2]) -> Result<()> {
        for (chain, attribute) in self.chains.iter_mut().zip(item) {
            chain.add(&attribute)?;
        }
        Ok(())
    }

    fn contains(&self, item: [u64; 2]) -> bool {
        self.chains.iter().zip(item).all(|(chain, attribute)| chain.contains(&attribute))
    }
}

/// What is asked for beside the items.
const QUERIES: u64 = 2_000;

/// Of n items: those that are missed, strangers that pass, strangers with one known attribute that pass, and pairs of attributes of
/// two different items that pass; all but the first of [`QUERIES`].
fn trial(random: &mut SplitMix, n: u64) -> Result<[u64; 4]> {
    let mut filter = Multi::new(random)?;
    let items: Vec<[u64; 2]> = keys(random, 2 * n).chunks(2).map(|pair| [pair[0], pair[1]]).collect();
    for item in &items {
        filter.insert(*item)?;
    }
    let missed = items.iter().filter(|item| !filter.contains(**item)).count() as u64;
    let mut counts = [missed, 0, 0, 0];
    for _ in 0..QUERIES {
        let [a, b] = [random.next_u64(), random.next_u64()];
        let one = random.below(n) as usize;
        let other = (one + 1 + random.below(n - 1) as usize) % n as usize;
        counts[1] += u64::from(filter.contains([a, b]));
        counts[2] += u64::from(filter.contains([items[one][0], b]));
        counts[3] += u64::from(filter.contains([items[one][0], items[other][1]]));
    }
    Ok(counts)
}

fn run(lab: &Lab) -> Result<Report> {
    let (mut plot, mut claims) =
        (Plot::new(Axis::linear("items n"), Axis::log("share that passes")), [Vec::new(), Vec::new(), Vec::new()]);
    let (mut missed, mut points) = (0, [Vec::new(), Vec::new()]);
    for s in [1_u64, 2, 5, 10] {
        let n = s * BASE.capacity;
        let found = lab.try_play(&format!("{n} items"), lab.rounds(200, 30), |random| trial(random, n))?;
        missed += found.iter().map(|counts| counts[0]).sum::<u64>();
        let rate = BASE.rate(n);
        for (i, expected) in [rate * rate, rate, 1.0].into_iter().enumerate() {
            let mean = Mean::of_shares(&found.iter().map(|counts| (counts[i + 1], QUERIES)).collect::<Vec<_>>());
            claims[i].push((expected, mean));
            if i < 2 {
                points[i].push((n as f64, mean));
            }
        }
    }
    let sizes = || (1..=100).map(|i| i * BASE.capacity / 10);
    let [strangers, half] = points;
    plot = plot
        .line("both attributes unknown: F²", sizes().map(|n| (n as f64, BASE.rate(n).powi(2))))
        .points("both attributes unknown: F²", strangers)
        .line("one unknown: F", sizes().map(|n| (n as f64, BASE.rate(n))))
        .points("one unknown: F", half);
    let [both, one, mixed] = claims;
    let always = mixed.iter().all(|(_, mean)| mean.value == 1.0);
    Ok(Report::new()
        .plot(plot)
        .claim(Claim::holds("items that are missed", "none", missed.to_string(), missed == 0))
        .claim(Claim::near("an item of two unknown attributes passes with F(n)²", 0.001, both))
        .claim(Claim::near("an item with one known attribute passes with F(n)", 0.002, one))
        .note(format!(
            "Attributes of two different items, put together, {} pass, of which the paper does not speak: the chains do not know \
             which values belong together.",
            if always { "always" } else { "do not always" }
        ))
        .note(
            "The paper names these filters once, as compressible like chains, and gives no numbers; these are what follows from its \
             equation (3) for each attribute. F is the limit of large filters, which m = 1280 misses by half a percent.",
        ))
}
