use super::*;
use crate::accuracy::tabled::testing::{built, config, contains, figure, probes};
use crate::capability::Note;
use crate::hash::SplitMix;
use crate::theory::{assignment, standard};

/// Ranks 1 to n in random order.
fn ranks(n: u64, random: &mut SplitMix) -> Vec<u64> {
    let mut ranks: Vec<u64> = (1..=n).collect();
    for at in (1..n as usize).rev() {
        ranks.swap(at, random.below(at as u64 + 1) as usize);
    }
    ranks
}

#[test]
fn zipf_popularities_gain_what_the_divergence_says() {
    // 2,000 popularities, membership by Zipf 0.6, queries by Zipf 1.0, uncorrelated, 8 bits per member; 20 objects have each of them, so
    // that none is a member with a probability above 1.
    let (mut seen, mut asked, mut expected) = (0.0, 0.0, 0.0);
    let (mut gains, rounds) = (0.0, 6);
    for seed in 0..rounds {
        let mut random = SplitMix::new(seed);
        let (by_members, by_queries) = (ranks(2_000, &mut random), ranks(2_000, &mut random));
        let popularity: Vec<_> = by_members.iter().map(|rank| (*rank as f64).powf(-0.6)).collect();
        let all: f64 = popularity.iter().sum();
        let (mut members, mut absent) = (Vec::new(), Vec::new());
        for object in 0..40_000u64 {
            let at = (object / 20) as usize;
            let queries = 1.0 / by_queries[at] as f64;
            let note = Note::Weights(queries, popularity[at]);
            let is_member = random.unit() < 50.0 * popularity[at] / all;
            if is_member { &mut members } else { &mut absent }.push((object, note));
        }
        let bits = 8 * members.len() as u64;
        let filter = built(&config(&KIND, &[("bits", &bits.to_string())], seed), &members, &absent).unwrap();
        assert!(members.iter().all(|(object, _)| contains(&filter, *object)));
        let fill = filter.stats().fill.unwrap();
        for (object, note) in &absent {
            let Note::Weights(queries, _) = *note else { unreachable!() };
            let rate = assignment::acceptance(fill, probes(&filter, *object) as f64);
            asked += queries * queries * rate * (1.0 - rate);
            expected += queries * rate;
            seen += queries * f64::from(u8::from(contains(&filter, *object)));
        }
        let plain = standard::for_bits(bits, members.len() as u64).unwrap();
        gains += standard::rate(bits, members.len() as u64, plain.hashes)
            / figure(&filter, "rate over the declared queries")
            / f64::from(rounds as u32);
    }
    assert!((seen - expected).abs() < 5.0 * f64::sqrt(asked), "{seen} of {expected}");
    // Real numbers gain exp(KL) = 4.83, whole ones 4.7, on average over orders; members scatter around what is expected of them.
    assert!((4.4..5.0).contains(&gains), "{gains}");
}

#[test]
fn every_solver_is_reached_and_keeps_the_order_of_scores() {
    let objects: Vec<_> = (0..8u64).map(|object| (object, Note::Weights(f64::from(1 << object as u32), 1.0))).collect();
    let (members, absent) = objects.split_at(4);
    let mut rates = Vec::new();
    for solver in ["relax", "threshold", "dp", "exact"] {
        let settings = [("bits", "24"), ("items", "4"), ("solver", solver), ("most", "5")];
        let filter = built(&config(&KIND, &settings, 1), members, absent).unwrap();
        let positions: Vec<_> = (0..8).map(|object| probes(&filter, object)).collect();
        assert!(positions.is_sorted(), "{solver}: {positions:?}");
        assert!(positions.iter().all(|k| *k <= 5) && (0..4).all(|object| contains(&filter, object)));
        rates.push(figure(&filter, "rate over the declared queries"));
    }
    let many: Vec<_> = (0..5_000u64).map(|object| (object, Note::Weights(object as f64, 1.0))).collect();
    for solver in ["threshold", "exact"] {
        assert!(built(&config(&KIND, &[("bits", "40000"), ("solver", solver)], 1), &many, &[]).is_err());
    }
}

#[test]
fn the_cap_binds() {
    let objects: Vec<_> =
        (0..200u64).map(|object| (object, Note::Weights((object as f64).exp2().min(1e30), 1.0))).collect();
    let (members, absent) = objects.split_at(100);
    let filter = built(&config(&KIND, &[("bits", "1500"), ("most", "9")], 1), members, absent).unwrap();
    assert_eq!((0..200).map(|object| probes(&filter, object)).max(), Some(9));
    assert!(built(&config(&KIND, &[("bits", "1500")], 1), &[(1, Note::Weights(-1.0, 1.0))], &[]).is_err());
}
