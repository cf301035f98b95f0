//! Unknown whole numbers from sums: the decoder that passes bounds along the edges of a graph.
//!
//! ```text
//! low[i,a] = least                                                 what i tells a of itself, without a's own knowledge
//! repeat   high[i,a] = min over b != a of max(least, total_b - sum over j != i of low[j,b])
//!          low[i,a]  = max over b != a of max(least, total_b - sum over j != i of high[j,b])
//! until    min over b = max over b for every i, or nothing changes any more
//! ```
//!
//! If the totals are right, every `high` is an upper and every `low` a lower bound of the unknown, by induction: a
//! sum less lower bounds of all others is at least what is left. Totals that are only known within bounds give the
//! same with their ends.

use crate::parts::peel::Hypergraph;

/// A number within bounds, both included.
///
/// ```
/// use bouquet::counting::counter_braids::Bounds;
/// let size = Bounds { lower: 3, upper: 5 };
/// assert!(size.lower <= 4 && size.upper >= 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// It is not less.
    pub lower: u64,
    /// It is not more.
    pub upper: u64,
}

impl Bounds {
    pub(super) fn exactly(number: u64) -> Self {
        Bounds { lower: number, upper: number }
    }
}

/// The end, if the bounds do not meet before.
const MAX_ROUNDS: u32 = 200;

pub(super) struct Solved {
    pub(super) sizes: Vec<Bounds>,
    /// Whether sizes within the bounds can add up to the totals.
    pub(super) consistent: bool,
    pub(super) rounds: u32,
}

/// The sums of all messages into each counter; more than 64 bits, as messages may be forged.
fn sums(graph: &Hypergraph<'_>, messages: &[u64], counters: usize) -> Vec<u128> {
    let mut sums = vec![0; counters];
    let mut messages = messages.iter();
    for edge in 0..graph.edge_count() {
        for (&at, &message) in graph.edge(edge).iter().zip(&mut messages) {
            sums[at as usize] += u128::from(message);
        }
    }
    sums
}

/// One round: new messages from `messages`, and the new bound of each unknown. `pick` is min for upper and max for
/// lower bounds, `total` the end of a total that goes with it. Says whether a message has changed.
fn round(
    graph: &Hypergraph<'_>,
    (messages, out): (&[u64], &mut [u64]),
    bounds: &mut [u64],
    total: impl Fn(usize) -> u64,
    (counters, least): (usize, u64),
    pick: impl Fn(u64, u64) -> u64,
) -> bool {
    let sums = sums(graph, messages, counters);
    let mut changed = false;
    for (i, bound) in bounds.iter_mut().enumerate() {
        let edge = graph.edge(i);
        let first = i * edge.len();
        // What each counter leaves for this unknown.
        let left = |slot: usize| {
            let at = edge[slot] as usize;
            let others = sums[at] - u128::from(messages[first + slot]);
            u128::from(total(at)).saturating_sub(others).min(u64::MAX.into()) as u64
        };
        let left: [u64; 8] = std::array::from_fn(|slot| if slot < edge.len() { left(slot).max(least) } else { 0 });
        for slot in 0..edge.len() {
            let others = (0..edge.len()).filter(|&other| other != slot).map(|other| left[other]);
            let message = others.reduce(&pick).unwrap_or(left[slot]);
            changed |= out[first + slot] != message;
            out[first + slot] = message;
        }
        *bound = left[..edge.len()].iter().copied().reduce(&pick).map_or(*bound, |found| pick(*bound, found));
    }
    changed
}

/// The unknowns of the edges of `graph`, of which none is below `least`, from the totals of its cells.
pub(super) fn solve(graph: &Hypergraph<'_>, totals: &[Bounds], least: u64) -> Solved {
    let (unknowns, counters) = (graph.edge_count(), totals.len());
    let messages = (0..unknowns).map(|i| graph.edge(i).len()).sum();
    let (mut low, mut high) = (vec![least; messages], vec![u64::MAX; messages]);
    let (mut lower, mut upper) = (vec![least; unknowns], vec![u64::MAX; unknowns]);
    let mut rounds = 0;
    while rounds < MAX_ROUNDS {
        let sides = (counters, least);
        let higher = round(graph, (&low, &mut high), &mut upper, |at| totals[at].upper, sides, u64::min);
        let lowered = round(graph, (&high, &mut low), &mut lower, |at| totals[at].lower, sides, u64::max);
        rounds += 2;
        if lower == upper || !(higher || lowered) {
            break;
        }
    }
    let sizes: Vec<Bounds> = lower.into_iter().zip(upper).map(|(lower, upper)| Bounds { lower, upper }).collect();
    Solved { consistent: add_up(graph, &sizes, totals), sizes, rounds }
}

/// Whether numbers within these bounds can add up to the totals.
fn add_up(graph: &Hypergraph<'_>, sizes: &[Bounds], totals: &[Bounds]) -> bool {
    let mut least = vec![0u128; totals.len()];
    let mut most = least.clone();
    for (i, size) in sizes.iter().enumerate() {
        for &at in graph.edge(i) {
            least[at as usize] += u128::from(size.lower);
            most[at as usize] += u128::from(size.upper);
        }
    }
    let fits = |(total, (least, most)): (&Bounds, (&u128, &u128))| {
        *least <= u128::from(total.upper) && *most >= u128::from(total.lower)
    };
    sizes.iter().all(|size| size.lower <= size.upper) && totals.iter().zip(least.iter().zip(&most)).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn bounds_hold_and_meet_where_a_search_finds_one_solution_by_them() {
        // Small systems with sizes 1 to 3: the truth lies within the bounds, whatever the graph.
        let mut random = SplitMix::new(1);
        let mut exact = 0;
        for _ in 0..2_000 {
            let (unknowns, counters) = (1 + random.below(6) as usize, 6);
            let edges: Vec<u32> = (0..unknowns * 3).map(|i| (i % 3 * 2) as u32 + random.below(2) as u32).collect();
            let graph = Hypergraph::new(&edges, 3, counters).unwrap();
            let truth: Vec<u64> = (0..unknowns).map(|_| 1 + random.below(3)).collect();
            let mut totals = vec![Bounds::exactly(0); counters];
            for (i, size) in truth.iter().enumerate() {
                graph
                    .edge(i)
                    .iter()
                    .for_each(|&at| totals[at as usize] = Bounds::exactly(totals[at as usize].lower + size));
            }
            for least in [0, 1] {
                let solved = solve(&graph, &totals, least);
                assert!(solved.consistent && solved.rounds <= MAX_ROUNDS);
                for (size, &truth) in solved.sizes.iter().zip(&truth) {
                    assert!(size.lower <= truth && truth <= size.upper, "{size:?} {truth}");
                }
                exact += usize::from(solved.sizes.iter().all(|size| size.lower == size.upper));
            }
            // Totals within bounds give wider bounds that still hold.
            let loose: Vec<Bounds> =
                totals.iter().map(|t| Bounds { lower: t.lower.saturating_sub(1), upper: t.upper + 2 }).collect();
            let solved = solve(&graph, &loose, 1);
            assert!(solved.consistent);
            assert!(solved.sizes.iter().zip(&truth).all(|(size, &truth)| size.lower <= truth && truth <= size.upper));
        }
        assert!(exact > 1_000, "{exact}");
    }

    #[test]
    fn totals_that_no_sizes_make_are_found_out() {
        let graph = Hypergraph::new(&[0, 2, 4, 1, 3, 5], 3, 6).unwrap();
        let totals = |numbers: [u64; 6]| numbers.map(Bounds::exactly);
        assert!(solve(&graph, &totals([7, 4, 7, 4, 7, 4]), 1).consistent);
        assert!(!solve(&graph, &totals([7, 4, 7, 4, 8, 4]), 1).consistent);
        assert!(!solve(&graph, &totals([0, 4, 0, 4, 0, 4]), 1).consistent);
        assert!(solve(&graph, &totals([0, 4, 0, 4, 0, 4]), 0).consistent);
        let forged = solve(&graph, &totals([u64::MAX; 6]), 1);
        assert!(forged.consistent && forged.sizes == [Bounds::exactly(u64::MAX); 2]);
        let none = Hypergraph::new(&[], 3, 6).unwrap();
        assert!(
            solve(&none, &totals([0; 6]), 1).consistent && !solve(&none, &totals([0, 0, 0, 0, 0, 1]), 1).consistent
        );
    }
}
