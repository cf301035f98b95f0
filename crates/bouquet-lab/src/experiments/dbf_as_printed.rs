//! The chain of the paper with `Merge()` as it is printed, to see what its slip does to Table 1.

use bouquet::hash::Positions;

use super::dbf::BASE;

/// A component of the paper: its counters, and the n_r that its algorithms know.
struct Component {
    counters: Vec<u16>,
    items: i64,
}

/// The chain of the paper with `Merge()` as printed: line 6 replaces n_r of the first component by that of the second, where
/// the text adds the two. So a component seems to have room for a third, and ends with more than c items.
pub(super) struct AsPrinted(Vec<Component>);

/// The counters of an item, each once for each function that has it, in insertion as in removal.
fn cells(item: &Positions) -> impl Iterator<Item = usize> {
    item.iter().map(|&at| at as usize)
}

impl AsPrinted {
    /// A chain of full components.
    pub(super) fn filled(members: &[Positions]) -> Self {
        let component = |items: &[Positions]| {
            let mut counters = vec![0; BASE.bits as usize];
            items.iter().for_each(|item| cells(item).for_each(|at| counters[at] += 1));
            Component { counters, items: items.len() as i64 }
        };
        AsPrinted(members.chunks(BASE.capacity as usize).map(component).collect())
    }

    /// Algorithm 3. Tells whether the item could be removed.
    pub(super) fn delete(&mut self, item: &Positions) -> bool {
        let mut matching = self.0.iter_mut().filter(|one| cells(item).all(|at| one.counters[at] > 0));
        let (Some(only), None) = (matching.next(), matching.next()) else { return false };
        cells(item).for_each(|at| only.counters[at] -= 1);
        only.items -= 1;
        self.merge();
        true
    }

    fn merge(&mut self) {
        let c = BASE.capacity as i64;
        let mut pairs = (0..self.0.len()).flat_map(|j| (j + 1..self.0.len()).map(move |k| (j, k)));
        if let Some((j, k)) = pairs.find(|&(j, k)| self.0[j].items < c && self.0[j].items + self.0[k].items < c) {
            let second = self.0.remove(k);
            self.0[j].counters.iter_mut().zip(second.counters).for_each(|(sum, more)| *sum += more);
            self.0[j].items = second.items;
        }
    }
}

#[cfg(test)]
mod tests {
    use bouquet::hash::SplitMix;

    use super::*;

    fn members(components: u64) -> Vec<Positions> {
        let mut random = SplitMix::new(1);
        let mut item = || (0..BASE.hashes).map(|_| random.below(BASE.bits)).collect();
        (0..components * BASE.capacity).map(|_| item()).collect()
    }

    #[test]
    fn one_component_gives_up_every_item() {
        let items = members(1);
        let mut chain = AsPrinted::filled(&items);
        assert!(items.iter().all(|item| chain.delete(item)));
        assert!(chain.0[0].items == 0 && chain.0[0].counters.iter().all(|&counter| counter == 0));
    }

    #[test]
    fn a_united_component_holds_more_than_it_counts() {
        let items = members(2);
        let mut chain = AsPrinted::filled(&items);
        let mut held = items.len() as i64;
        for (one, other) in items.iter().zip(&items[BASE.capacity as usize..]) {
            held -= i64::from(chain.delete(one)) + i64::from(chain.delete(other));
            if chain.0.len() == 1 {
                break;
            }
        }
        assert_eq!(chain.0.len(), 1);
        assert!(chain.0[0].items < 2 * held / 3, "{} of {held}", chain.0[0].items);
        let counted: u64 = chain.0[0].counters.iter().map(|&counter| u64::from(counter)).sum();
        assert_eq!(counted, u64::from(BASE.hashes) * held as u64);
    }
}
