//! Which false positives go into which no-filter, so that no member is covered.

/// No-filters under construction: patterns are masks of up to 64 bits.
#[derive(Clone, Debug)]
pub(super) struct Assignment {
    /// The patterns of members, none of which a filter may cover.
    members: Vec<u64>,
    /// The patterns of false positives.
    positives: Vec<u64>,
    filters: Vec<u64>,
    /// The false positives that were put into each filter.
    held: Vec<Vec<usize>>,
    /// False positives that some filter covers.
    covered: Vec<bool>,
}

impl Assignment {
    pub(super) fn new(members: Vec<u64>, positives: Vec<u64>, filters: usize) -> Self {
        let covered = vec![false; positives.len()];
        Assignment { members, positives, filters: vec![0; filters], held: vec![Vec::new(); filters], covered }
    }

    pub(super) fn filters(&self) -> &[u64] {
        &self.filters
    }

    /// False positives that are taken back.
    pub(super) fn suppressed(&self) -> usize {
        self.covered.iter().filter(|covered| **covered).count()
    }

    /// Whether a filter of these bits covers no member.
    fn spares(&self, filter: u64) -> bool {
        self.members.iter().all(|member| member & !filter != 0)
    }

    /// Takes the false positive and the filter with the best ratio of false positives that are newly covered to bits that are newly
    /// set, as long as there is one that spares every member.
    pub(super) fn fill(&mut self) {
        self.fill_without(None);
    }

    fn fill_without(&mut self, banned: Option<(usize, usize)>) {
        while let Some((positive, filter)) = self.best(banned) {
            self.filters[filter] |= self.positives[positive];
            self.held[filter].push(positive);
            self.cover();
        }
    }

    fn best(&self, banned: Option<(usize, usize)>) -> Option<(usize, usize)> {
        let mut best: Option<(usize, usize)> = None;
        let (mut most, mut fewest) = (0, 1);
        let mut seen_empty = false;
        for (filter, &bits) in self.filters.iter().enumerate() {
            // One empty filter is as good as another.
            if bits == 0 && std::mem::replace(&mut seen_empty, true) {
                continue;
            }
            for (positive, &pattern) in self.positives.iter().enumerate() {
                if self.covered[positive] || banned == Some((positive, filter)) {
                    continue;
                }
                let after = bits | pattern;
                let gain =
                    self.positives.iter().zip(&self.covered).filter(|(p, covered)| !**covered && *p & !after == 0);
                let (gain, fresh) = (gain.count(), (after ^ bits).count_ones().max(1) as usize);
                if gain * fewest > most * fresh && self.spares(after) {
                    (best, most, fewest) = (Some((positive, filter)), gain, fresh);
                }
            }
        }
        best
    }

    fn cover(&mut self) {
        for (covered, pattern) in self.covered.iter_mut().zip(&self.positives) {
            *covered = self.filters.iter().any(|filter| pattern & !filter == 0);
        }
    }

    /// Takes one false positive after the other out of its filter and fills up again without it, so that it moves to another filter or
    /// makes room for others, and keeps what covers more. Stops after a round without success or after as many tries.
    pub(super) fn exchange(&mut self, tries: u64) {
        let mut left = tries;
        loop {
            let before = self.suppressed();
            let all: Vec<(usize, usize)> = self
                .held
                .iter()
                .enumerate()
                .flat_map(|(filter, held)| held.iter().map(move |&p| (p, filter)))
                .collect();
            for (positive, filter) in all {
                if left == 0 || self.suppressed() == self.positives.len() {
                    return;
                }
                left -= 1;
                // An exchange that succeeded may have moved it.
                if !self.held[filter].contains(&positive) {
                    continue;
                }
                let mut other = self.clone();
                other.held[filter].retain(|&held| held != positive);
                other.filters[filter] = other.held[filter].iter().fold(0, |bits, &held| bits | other.positives[held]);
                other.cover();
                other.fill_without(Some((positive, filter)));
                other.fill();
                if other.suppressed() > self.suppressed() {
                    *self = other;
                }
            }
            if self.suppressed() == before {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    /// The most false positives that any assignment takes back.
    fn optimum(members: &[u64], positives: &[u64], filters: usize) -> usize {
        let all = Assignment::new(members.to_vec(), positives.to_vec(), filters);
        let choices = (filters + 1).pow(positives.len() as u32);
        let taken = |mut choice: usize| {
            let mut own = vec![0u64; filters];
            for pattern in positives {
                if let Some(filter) = own.get_mut(choice % (filters + 1)) {
                    *filter |= pattern;
                }
                choice /= filters + 1;
            }
            let spared = own.iter().all(|&filter| all.spares(filter));
            if spared { positives.iter().filter(|p| own.iter().any(|filter| *p & !filter == 0)).count() } else { 0 }
        };
        (0..choices).map(taken).max().unwrap_or(0)
    }

    #[test]
    fn the_search_is_within_a_tenth_of_the_optimum_and_spares_every_member() {
        let mut random = SplitMix::new(5);
        let mut pattern = |bits: u64, hashes: u32| (0..hashes).fold(0u64, |p, _| p | 1 << random.below(bits));
        let (mut found, mut greedy, mut best) = (0, 0, 0);
        for round in 0..200 {
            let (bits, hashes, filters) = [(16, 4, 1), (16, 3, 2), (8, 3, 2), (32, 6, 1)][round % 4];
            let members: Vec<u64> = (0..20).map(|_| pattern(bits, hashes)).collect();
            let positives: Vec<u64> = (0..7).map(|_| pattern(bits, hashes)).collect();
            let mut search = Assignment::new(members.clone(), positives.clone(), filters);
            search.fill();
            greedy += search.suppressed();
            search.exchange(100);
            assert!(search.filters().iter().all(|&filter| search.spares(filter)));
            let optimum = optimum(&members, &positives, filters);
            assert!(search.suppressed() <= optimum);
            found += search.suppressed();
            best += optimum;
        }
        assert!(best > 300 && 10 * greedy >= 9 * best && 100 * found >= 97 * best, "{greedy} {found} of {best}");
    }
}
