//! The search for the least memory in which some choice of the other parameters is enough.

use super::MAX_BITS;
use crate::{Error, Result};

/// The least power of two times `unit` in which any choice is enough, then halved to a thousandth; and the choices that are
/// enough there, in their order.
///
/// Every choice that is enough in some memory must be so in more. Powers below `too_few` are known not to be enough for any. All
/// choices are looked at but once, in the least memory that is enough for one of them, that at `guess`: those that are not enough there
/// cannot do with less.
pub(crate) fn least_memory<C: Copy>(
    unit: u64,
    too_few: u64,
    choices: Vec<C>,
    guess: usize,
    enough: impl Fn(u64, C) -> bool,
) -> Result<(u64, Vec<C>)> {
    let able = |bits: u64, choices: &[C]| -> Vec<C> { choices.iter().copied().filter(|c| enough(bits, *c)).collect() };
    let mut first = unit;
    while first < too_few && first < MAX_BITS {
        first *= 2;
    }
    let witness = choices.get(guess).copied();
    let mut power = first;
    while power < MAX_BITS && !witness.is_some_and(|witness| enough(power, witness)) {
        power *= 2;
    }
    let halve = |power: u64, enough: &mut dyn FnMut(u64) -> bool| {
        let (mut low, mut high) = (if power > unit { power / 2 } else { 0 }, power);
        while high - low > 1 + high / 1024 {
            let middle = low + (high - low) / 2;
            if enough(middle) { high = middle } else { low = middle }
        }
        high
    };
    // How far the witness leads. If not even the largest memory is enough for it, it may be for another.
    let mut least = match witness {
        Some(witness) if power < MAX_BITS || enough(power, witness) => halve(power, &mut |bits| enough(bits, witness)),
        _ => power,
    };
    // What is not enough there is not in less.
    let mut left = able(least, &choices);
    if left.is_empty() {
        return Err(Error::TooLarge { what: "the filter".into(), bytes: u128::from(power) / 8 });
    }
    while power > first {
        let here = able(power / 2, &left);
        if here.is_empty() {
            break;
        }
        (left, power) = (here, power / 2);
        least = power;
    }
    let bits = halve(power, &mut |bits| {
        if bits >= least {
            return true;
        }
        let here = able(bits, &left);
        let any = !here.is_empty();
        if any {
            (left, least) = (here, bits);
        }
        any
    });
    Ok((bits, left))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    #[test]
    fn witnesses_lead_to_what_a_look_at_every_choice_finds() {
        let mut random = SplitMix::new(1);
        for round in 0..1_000 {
            // Each choice needs some memory.
            let spread = 1 << random.below(30);
            let needs: Vec<u64> =
                (0..1 + random.below(20)).map(|_| 1 + random.below(8) + random.below(spread)).collect();
            let any = |bits: u64| needs.iter().any(|need| *need <= bits);
            let (mut low, mut high) = (0, 8);
            while !any(high) {
                (low, high) = (high, 2 * high);
            }
            while high - low > 1 + high / 1024 {
                let middle = low + (high - low) / 2;
                if any(middle) { high = middle } else { low = middle }
            }
            let least = *needs.iter().min().unwrap();
            let guess = random.below(needs.len() as u64 + 1) as usize;
            let found = least_memory(8, least / 2, needs.clone(), guess, |bits, need| need <= bits).unwrap();
            let able = needs.iter().copied().filter(|need| *need <= high).collect::<Vec<_>>();
            assert_eq!(found, (high, able), "round {round}");
        }
        assert!(least_memory(8, 0, vec![1], 0, |_, _: u32| false).is_err());
        assert!(least_memory(8, 0, Vec::<u32>::new(), 0, |_, _| true).is_err());
    }
}
