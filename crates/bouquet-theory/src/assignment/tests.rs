use super::super::random::SplitMix;
use super::*;

/// Classes with random weights, and a budget in which clamps bind now and then.
fn instance(random: &mut SplitMix, classes: usize, most: u32) -> (Vec<Class>, f64) {
    let classes: Vec<_> =
        (0..classes).map(|_| Class { queries: random.unit().powi(3), members: random.unit() + 0.01 }).collect();
    let budget = members(&classes) * f64::from(most) * (0.2 + 0.6 * random.unit());
    (classes, budget)
}

#[test]
fn a_thousand_instances_keep_their_guarantees() {
    let mut random = SplitMix::new(2008);
    let (mut floor_worst, mut greedy_worst, mut dp_worst, mut step_worst) = (1.0f64, 1.0f64, 1.0f64, 1.0f64);
    for _ in 0..1_000 {
        let (n, most) = (3 + random.below(3) as usize, 4 + random.below(3) as u32);
        let (classes, budget) = instance(&mut random, n, most);
        let best = cost(&classes, &solve(&classes, budget, most, Solver::Exact).unwrap());
        let relaxed = relax(&classes, budget, most);
        // The real optimum is a lower bound of every whole one.
        assert!(cost(&classes, &relaxed) <= best * (1.0 + 1e-9));
        let down = floored(relaxed);
        assert!(load(&classes, &down) <= budget * (1.0 + 1e-6));
        floor_worst = floor_worst.max(cost(&classes, &down) / best);
        let of = |solver| {
            let probes = solve(&classes, budget, most, solver).unwrap();
            assert!(load(&classes, &probes) <= budget * (1.0 + 1e-6), "{solver:?}");
            assert!(probes.iter().all(|k| k.fract() == 0.0 && *k <= f64::from(most)));
            cost(&classes, &probes) / best
        };
        greedy_worst = greedy_worst.max(of(Solver::Relax));
        dp_worst = dp_worst.max(of(Solver::Dp(0.1)));
        step_worst = step_worst.max(of(Solver::Threshold));
    }
    println!("floor {floor_worst} greedy {greedy_worst} dp {dp_worst} threshold {step_worst}");
    assert!(floor_worst <= 2.0 && floor_worst > 1.2);
    assert!(greedy_worst <= 1.1, "{greedy_worst}");
    assert!(dp_worst <= 1.1 && step_worst <= 2.0);
}

#[test]
fn more_important_classes_get_at_least_as_many_probes() {
    let mut random = SplitMix::new(3);
    for _ in 0..200 {
        let mut classes: Vec<_> = (0..6).map(|_| Class { queries: random.unit(), members: 1.0 }).collect();
        classes.sort_by(|a, b| b.queries.total_cmp(&a.queries));
        let budget = 30.0 * random.unit();
        for solver in [Solver::Relax, Solver::Threshold, Solver::Dp(0.2), Solver::Exact] {
            let probes = solve(&classes, budget, 6, solver).unwrap();
            let sorted = probes.windows(2).all(|two| two[0] >= two[1]);
            // Rounded costs may swap two that are nearly alike.
            assert!(sorted || solver == Solver::Dp(0.2), "{solver:?}: {probes:?} of {classes:?}");
        }
    }
}

#[test]
fn the_gain_over_a_standard_filter_is_the_divergence() {
    // Membership by Zipf 0.6, queries by Zipf 1.0, uncorrelated.
    let mut random = SplitMix::new(1);
    let n = 2_000;
    let mut ranks: Vec<usize> = (1..=n).collect();
    for at in (1..n).rev() {
        ranks.swap(at, random.below(at as u64 + 1) as usize);
    }
    let of = |at: usize| Class { queries: 1.0 / ranks[at] as f64, members: ((at + 1) as f64).powf(-0.6) };
    let mut classes: Vec<_> = (0..n).map(of).collect();
    let (all, bits) = (members(&classes), 8_000u64);
    classes.iter_mut().for_each(|class| class.members *= 1_000.0 / all);
    let standard = rate(&classes, &vec![6.0; n], bits).min(rate(&classes, &vec![5.0; n], bits));
    let optimum = (-8.0 * LN_2 * LN_2).exp();
    let real = optimum / (cost(&classes, &relax(&classes, bits as f64 * LN_2, 64)) / queries(&classes));
    assert!((real / divergence(&classes).exp() - 1.0).abs() < 0.02, "{real}");
    assert!((real - 4.83).abs() < 0.25, "{real}");
    let whole = standard / rate(&classes, &assign(&classes, bits, 16, Solver::Relax).unwrap(), bits);
    assert!((whole - 4.7).abs() < 0.3, "{whole}");
}

#[test]
fn equal_weights_give_the_standard_filter() {
    for (bits, n) in [(1_000, 100), (10, 100), (100, 100), (9_593, 1_000), (1 << 20, 1)] {
        let classes =
            [Class { queries: 0.3, members: 0.4 * n as f64 }, Class { queries: 0.45, members: 0.6 * n as f64 }];
        let probes = assign(&classes, bits, 64, Solver::Relax).unwrap();
        let standard = super::super::standard::for_bits(bits, n).unwrap().hashes;
        assert_eq!(probes, [f64::from(standard); 2], "{n} keys in {bits} bits");
    }
}

#[test]
fn the_fill_stays_at_one_half() {
    let mut random = SplitMix::new(9);
    for _ in 0..50 {
        let (mut classes, _) = instance(&mut random, 300, 32);
        let all = members(&classes);
        classes.iter_mut().for_each(|class| class.members *= 1_000.0 / all);
        let bits = 6_000 + random.below(8_000);
        let fill = fill(&classes, &assign(&classes, bits, 32, Solver::Relax).unwrap(), bits);
        assert!((fill - 0.5).abs() < 0.01, "{fill}");
    }
}

#[test]
fn two_classes_of_presence_gain_by_their_divergence() {
    // 10,000 elements, present with 0.5 (a tenth) and 0.01; 10 bits per expected member.
    let classes = [Class { queries: 500.0, members: 500.0 }, Class { queries: 8_910.0, members: 90.0 }];
    let gain = divergence(&classes).exp();
    assert!((gain - 7.9).abs() < 0.05, "{gain}");
    let k = relax(&classes, 5_900.0 * LN_2, 32);
    assert!((k[0] - 5.9).abs() < 0.1 && (k[1] - 12.5).abs() < 0.1, "{k:?}");
}

#[test]
fn solvers_refuse_what_would_take_too_long() {
    let many = vec![Class { queries: 1.0, members: 1.0 }; 100_000];
    for solver in [Solver::Threshold, Solver::Exact, Solver::Dp(0.01)] {
        assert!(solve(&many, 1e6, 16, solver).is_err(), "{solver:?}");
    }
    assert!(solve(&many[..3], 9.0, 4, Solver::Dp(0.0)).is_err());
}

#[test]
fn no_weights_make_it_panic() {
    let odd = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1e300, 1.0];
    let classes: Vec<_> = odd.iter().flat_map(|&queries| odd.map(|members| Class { queries, members })).collect();
    for bits in [0, 1, 1 << 40, u64::MAX] {
        for most in [0, 1, 64, u32::MAX] {
            let probes = assign(&classes, bits, most, Solver::Relax).unwrap();
            assert!(probes.iter().all(|k| (0.0..=64.0).contains(k)));
            assert!((0.0..=1.0).contains(&rate(&classes, &probes, bits)));
            assign_in_steps(&classes, bits, most, 16);
        }
    }
    assert!(assign(&[], 10, 4, Solver::Exact).unwrap().is_empty());
    let _ = needed_bits(&classes, 0.01, 32, Some(Solver::Relax), 1);
    assert_eq!(needed_bits(&[], 0.01, 32, None, 4).unwrap(), 1);
}
