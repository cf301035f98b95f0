//! From "these sets may hold the key" to the one answer that a caller wants.

/// What to do with the sets that a structure reports.
///
/// ```
/// use bouquet::{FilterBank, sets::{Policy, Resolution}};
/// let mut bank = FilterBank::with_rate(3, 1_000, 0.001)?;
/// bank.insert("rose", 0)?;
/// bank.insert("rose", 1)?;
/// assert_eq!(bank.resolve("rose", Policy::All), Resolution::Sets(vec![0, 1]));
/// assert_eq!(bank.resolve("rose", Policy::Score(&[0.2, 0.7, 0.9])), Resolution::Set(1));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy<'a> {
    /// All of them.
    All,
    /// The set, if it is the only one; several are reported as ambiguous, so that the caller can look closer.
    ExactlyOneElseMiss,
    /// The set with the lowest number.
    LowestId,
    /// The set with the highest number.
    HighestId,
    /// The set with the greatest weight, `weights[set]`; the lowest number among equals. A set without a weight, or with
    /// one that is no number, is taken last.
    Score(&'a [f64]),
}

/// The answer.
///
/// ```
/// use bouquet::sets::{Policy, Resolution};
/// let action = |sets| match Policy::ExactlyOneElseMiss.resolve(sets) {
///     Resolution::Set(set) => format!("go to {set}"),
///     Resolution::Ambiguous(sets) => format!("look into {sets:?}"),
///     Resolution::Absent | Resolution::Sets(_) => "drop".into(),
/// };
/// assert_eq!([vec![2], vec![2, 5], vec![]].map(action), ["go to 2", "look into [2, 5]", "drop"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// No set holds the key.
    Absent,
    /// This set.
    Set(u64),
    /// These sets.
    Sets(Vec<u64>),
    /// One of these sets, but the policy cannot say which.
    Ambiguous(Vec<u64>),
}

impl Policy<'_> {
    /// The answer for these sets, which are in ascending order.
    ///
    /// ```
    /// use bouquet::sets::{Policy, Resolution};
    /// assert_eq!(Policy::LowestId.resolve(vec![2, 5]), Resolution::Set(2));
    /// assert_eq!(Policy::Score(&[0.0, 0.0, 1.0, 0.0, 0.0, 3.0]).resolve(vec![2, 5]), Resolution::Set(5));
    /// assert_eq!(Policy::ExactlyOneElseMiss.resolve(vec![2, 5]), Resolution::Ambiguous(vec![2, 5]));
    /// assert_eq!(Policy::All.resolve(vec![]), Resolution::Absent);
    /// ```
    #[must_use]
    pub fn resolve(self, sets: Vec<u64>) -> Resolution {
        let (Some(&first), Some(&last)) = (sets.first(), sets.last()) else { return Resolution::Absent };
        match self {
            Policy::All => Resolution::Sets(sets),
            Policy::ExactlyOneElseMiss if sets.len() == 1 => Resolution::Set(first),
            Policy::ExactlyOneElseMiss => Resolution::Ambiguous(sets),
            Policy::LowestId => Resolution::Set(first),
            Policy::HighestId => Resolution::Set(last),
            Policy::Score(weights) => {
                let weight = |set: u64| {
                    let weight = usize::try_from(set).ok().and_then(|set| weights.get(set).copied());
                    weight.filter(|weight| !weight.is_nan()).unwrap_or(f64::NEG_INFINITY)
                };
                let better = |best: u64, &set: &u64| if weight(set) > weight(best) { set } else { best };
                Resolution::Set(sets.iter().fold(first, better))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_set_is_the_answer_of_every_policy() {
        let single = [Policy::ExactlyOneElseMiss, Policy::LowestId, Policy::HighestId, Policy::Score(&[])];
        for policy in single {
            assert_eq!(policy.resolve(vec![7]), Resolution::Set(7));
            assert_eq!(policy.resolve(vec![]), Resolution::Absent);
        }
        assert_eq!(Policy::All.resolve(vec![7]), Resolution::Sets(vec![7]));
    }

    #[test]
    fn scores_take_the_greatest_weight_then_the_lowest_number() {
        assert_eq!(Policy::Score(&[1.0, 2.0, 2.0]).resolve(vec![0, 1, 2]), Resolution::Set(1));
        assert_eq!(Policy::Score(&[f64::NAN, -5.0]).resolve(vec![0, 1, 9]), Resolution::Set(1));
        assert_eq!(Policy::HighestId.resolve(vec![0, 1, 2]), Resolution::Set(2));
    }
}
