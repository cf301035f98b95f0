//! Peeling: taking a system of overlapping items apart, one cell at a time.
//!
//! Every item sits in `k` of `m` cells. A cell that holds one item only gives it away; taking the item out of its other
//! cells leaves, with luck, other cells with one item. This undoes an invertible lookup table, orders the keys of a
//! perfect hash or a Bloomier filter so that each has a cell of its own, and solves most of a sparse system over GF(2).
//!
//! With random cells it is a matter of load. For `m > c_k * n` all `n` items come out, for less a *core* stays in which
//! every cell holds two or more; `c_k` is 1.222, 1.295, 1.425, 1.570, 1.721 for `k` = 3 to 7, and `2+` for `k` = 2.
//! Below the threshold a share `x^k` stays, `x` being the largest root of `x = 1 - exp(-k x^(k-1) n/m)`.
//!
//! | what is known | use | time |
//! |---|---|---|
//! | the cells reveal the items | [`peel_cells`] on what implements [`Cells`] | `O(m + k n)` |
//! | the cells of each item | [`Hypergraph::peel`] | `O(m + k n)`, 8 bytes per cell and per item |
//! | those, and what each item's cells add up to | [`Hypergraph::solve_xor`] | the same, and the cube of the core / 64 |
//!
//! An item may have a cell twice (layouts that give each of the `k` functions its own part of the table avoid it). Such a
//! cell is never the item's own, so that an order holds for sums in any group; in [`Hypergraph::solve_xor`] the two
//! cancel, as XOR has it.

use std::ops::ControlFlow;

use crate::error::{Error, Result};

/// A table of cells that can be peeled.
///
/// Law: after [`take`](Self::take) of an item, no cell gives that item away again. A table from an untrusted source may
/// break it, which is why [`peel_cells`] has a limit.
///
/// ```
/// use std::ops::ControlFlow;
/// use bouquet::parts::peel::{Cells, peel_cells};
///
/// struct Boxes(Vec<Vec<char>>);
/// impl Cells for Boxes {
///     type Item = char;
///     fn cell_count(&self) -> usize { self.0.len() }
///     fn sole_item(&self, cell: usize) -> Option<char> { if let [item] = self.0[cell][..] { Some(item) } else { None } }
///     fn take(&mut self, item: &char, touched: &mut Vec<usize>) {
///         touched.extend((0..self.0.len()).filter(|&cell| self.0[cell].contains(item)));
///         touched.iter().for_each(|&cell| self.0[cell].retain(|held| held != item));
///     }
/// }
///
/// let (mut boxes, mut order) = (Boxes(vec![vec!['a', 'b'], vec!['b', 'c'], vec!['c']]), Vec::new());
/// let _ = peel_cells(&mut boxes, 3, |item, cell| { order.push((item, cell)); ControlFlow::Continue(()) });
/// assert_eq!(order, [('c', 2), ('b', 1), ('a', 0)]);
/// ```
pub trait Cells {
    /// What a cell gives away.
    type Item;

    /// The number of cells.
    fn cell_count(&self) -> usize;

    /// The item of a cell that holds exactly one. `cell` is below the cell count, or one that `take` has named.
    fn sole_item(&self, cell: usize) -> Option<Self::Item>;

    /// Takes an item out of all its cells and names these in `touched`.
    fn take(&mut self, item: &Self::Item, touched: &mut Vec<usize>);
}

/// Takes out every item that can be had and hands it to `emit` with the cell that gave it away.
///
/// A cell is tested again when its turn comes, since its item may be gone by then. Breaks off if `emit` does, or before
/// item number `max_items + 1`: a table of `m` cells gives away at most `m` items if it is what it claims to be.
///
/// ```
/// use std::ops::ControlFlow;
/// use bouquet::parts::peel::{Cells, peel_cells};
///
/// /// Numbers below 100; number x is in the cells x / 10 and 10 + x % 10. A cell has their count and sum.
/// struct Digits([(u32, u32); 20]);
/// impl Cells for Digits {
///     type Item = u32;
///     fn cell_count(&self) -> usize { 20 }
///     fn sole_item(&self, cell: usize) -> Option<u32> { (self.0[cell].0 == 1).then_some(self.0[cell].1) }
///     fn take(&mut self, x: &u32, touched: &mut Vec<usize>) {
///         for cell in [(x / 10) as usize, (10 + x % 10) as usize] {
///             self.0[cell] = (self.0[cell].0 - 1, self.0[cell].1 - x);
///             touched.push(cell);
///         }
///     }
/// }
///
/// let mut table = Digits([(0, 0); 20]);
/// for x in [42u32, 47, 99, 92] {
///     for cell in [(x / 10) as usize, (10 + x % 10) as usize] {
///         table.0[cell] = (table.0[cell].0 + 1, table.0[cell].1 + x);
///     }
/// }
/// let mut found = Vec::new();
/// let end = peel_cells(&mut table, 20, |x, _| { found.push(x); ControlFlow::Continue(()) });
/// assert!(end.is_continue());
/// found.sort();
/// assert_eq!(found, [42, 47, 92, 99]);
/// ```
pub fn peel_cells<C: Cells>(
    table: &mut C,
    max_items: usize,
    mut emit: impl FnMut(C::Item, usize) -> ControlFlow<()>,
) -> ControlFlow<()> {
    // What each cell of the table sets free is peeled before the next: the stack stays short.
    let mut waiting = Vec::new();
    let mut touched = Vec::new();
    let mut items = 0;
    for start in 0..table.cell_count() {
        let mut next = Some(start);
        while let Some(cell) = next {
            if let Some(item) = table.sole_item(cell) {
                if items == max_items {
                    return ControlFlow::Break(());
                }
                items += 1;
                touched.clear();
                table.take(&item, &mut touched);
                emit(item, cell)?;
                for &cell in &touched {
                    if table.sole_item(cell).is_some() {
                        waiting.push(cell);
                    }
                }
            }
            next = waiting.pop();
        }
    }
    ControlFlow::Continue(())
}

/// Items that are known by their cells: edges of `k` vertices, in the language of graphs.
///
/// ```
/// use bouquet::parts::peel::Hypergraph;
/// // Edge 0 has the cells 0, 1, 2, edge 1 the cells 1, 2, 3.
/// let graph = Hypergraph::new(&[0, 1, 2, 1, 2, 3], 3, 4)?;
/// assert_eq!((graph.edge_count(), graph.edge(1)), (2, &[1, 2, 3][..]));
/// assert!(Hypergraph::new(&[0, 1, 4], 3, 4).is_err()); // there is no cell 4
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Hypergraph<'a> {
    /// `k` cells of each edge, all below `cell_count`.
    cells: &'a [u32],
    k: usize,
    cell_count: usize,
}

/// What peeling a [`Hypergraph`] has found.
///
/// The law of `order`: the own cell of an entry occurs once in its edge, and not at all in the edges *behind* it or in
/// the core. So whoever goes through `order` backwards and sets each edge's own cell such that the edge comes out right
/// never disturbs an edge that was set before.
///
/// ```
/// use bouquet::parts::peel::Hypergraph;
/// let peeling = Hypergraph::new(&[0, 1, 1, 2, 2, 0], 2, 3)?.peel()?;
/// assert_eq!((peeling.order.len(), peeling.core.len()), (0, 3)); // a ring has no end to begin with
/// assert!(!peeling.is_complete());
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peeling {
    /// The peeled edges, each with its own cell, in the order of peeling. Own cells are all different.
    pub order: Vec<(u32, u32)>,
    /// The edges that stay, in increasing order. None of their cells is hit by one core edge only once.
    pub core: Vec<u32>,
}

impl Peeling {
    /// Whether every edge has its own cell.
    ///
    /// ```
    /// use bouquet::parts::peel::Hypergraph;
    /// assert!(Hypergraph::new(&[0, 1, 1, 2], 2, 3)?.peel()?.is_complete());
    /// assert!(!Hypergraph::new(&[0, 1, 1, 0], 2, 3)?.peel()?.is_complete(), "two edges share both cells");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.core.is_empty()
    }
}

/// The most cells that an edge can have.
const MAX_K: usize = 8;

/// The largest core that elimination takes on: at most 32 MiB; about a tenth of a second for 4 cells per edge.
const MAX_CORE: usize = 8_192;

impl<'a> Hypergraph<'a> {
    /// Edges of `k` cells (2 to 8) each, one after the other, over `cell_count` cells.
    ///
    /// Refuses a cell that is not there, a last edge that is cut, and more than `2^32 - 1` cells or entries in `cells`.
    ///
    /// ```
    /// use bouquet::parts::peel::Hypergraph;
    /// assert!(Hypergraph::new(&[0, 1, 2, 3], 2, 4).is_ok());
    /// assert!(Hypergraph::new(&[0, 1, 2], 2, 4).is_err(), "the last edge is cut");
    /// assert!(Hypergraph::new(&[0, 1, 2, 3], 1, 4).is_err(), "edges of one cell");
    /// ```
    pub fn new(cells: &'a [u32], k: usize, cell_count: usize) -> Result<Self> {
        if !(2..=MAX_K).contains(&k) {
            return Err(Error::parameter("k", format!("from 2 to {MAX_K}"), k));
        }
        if !cells.len().is_multiple_of(k) || u32::try_from(cells.len()).is_err() {
            return Err(Error::parameter("cells", format!("a multiple of k = {k} below 2^32"), cells.len()));
        }
        if u32::try_from(cell_count).is_err() {
            return Err(Error::parameter("cell_count", "below 2^32", cell_count));
        }
        if let Some(cell) = cells.iter().find(|&&cell| cell as usize >= cell_count) {
            return Err(Error::parameter("cells", format!("numbers below the cell count {cell_count}"), cell));
        }
        Ok(Hypergraph { cells, k, cell_count })
    }

    /// The number of edges.
    ///
    /// ```
    /// use bouquet::parts::peel::Hypergraph;
    /// assert_eq!(Hypergraph::new(&[0, 1, 2, 3, 4, 5], 3, 6)?.edge_count(), 2);
    /// assert_eq!(Hypergraph::new(&[0, 1, 2, 3, 4, 5], 2, 6)?.edge_count(), 3);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.cells.len() / self.k
    }

    /// The cells of an edge; none if there is no such edge.
    ///
    /// ```
    /// use bouquet::parts::peel::Hypergraph;
    /// let graph = Hypergraph::new(&[0, 1, 2, 3], 2, 4)?;
    /// assert_eq!((graph.edge(0), graph.edge(1)), (&[0, 1][..], &[2, 3][..]));
    /// assert!(graph.edge(2).is_empty());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn edge(&self, edge: usize) -> &'a [u32] {
        edge.checked_mul(self.k).and_then(|start| self.cells.get(start..)?.get(..self.k)).unwrap_or(&[])
    }

    /// Finds an order in which each edge has a cell of its own; see [`Peeling`]. The result depends on nothing but the
    /// graph. The only error is that there is no memory, of which it takes 8 bytes per cell and per edge.
    ///
    /// ```
    /// use bouquet::parts::peel::Hypergraph;
    /// let graph = Hypergraph::new(&[0, 1, 2, 1, 2, 3], 3, 4)?;
    /// let peeling = graph.peel()?;
    /// assert_eq!(peeling.order, [(0, 0), (1, 2)]); // cell 0 is only hit by edge 0; without it, cell 2 only by edge 1
    /// assert!(peeling.is_complete());
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn peel(&self) -> Result<Peeling> {
        let edge_count = self.edge_count();
        let mut table = Incidence { graph: *self, hits: zeroed(self.cell_count, "the cells of a hypergraph")? };
        for edge in 0..edge_count {
            for &cell in self.edge(edge) {
                let hits = &mut table.hits[cell as usize];
                *hits = (hits.0 + 1, hits.1 ^ edge as u32);
            }
        }
        let mut order = Vec::new();
        order.try_reserve_exact(edge_count).map_err(|_| too_large("the order of peeling", edge_count * 8))?;
        // Each edge comes out once, so that neither the limit nor a break is reached.
        let _ = peel_cells(&mut table, edge_count, |edge, cell| {
            order.push((edge, cell as u32));
            ControlFlow::Continue(())
        });
        let mut core = Vec::new();
        if order.len() < edge_count {
            let mut peeled = zeroed::<bool>(edge_count, "the peeled edges")?;
            order.iter().for_each(|&(edge, _)| peeled[edge as usize] = true);
            core.extend((0..edge_count as u32).filter(|&edge| !peeled[edge as usize]));
        }
        Ok(Peeling { order, core })
    }

    /// Gives each cell a value such that the XOR over each edge's cells is its right-hand side; `None` if there are no
    /// such values. Cells that are free get 0.
    ///
    /// Peels first; only the core is solved by Gaussian elimination, with rows of packed bits. An equation that follows
    /// from others does no harm, as long as its right-hand side follows too.
    ///
    /// Refuses right-hand sides of another number than the edges, and ([`Error::Build`]) a core above 8,192 edges.
    ///
    /// ```
    /// use bouquet::parts::peel::Hypergraph;
    /// let ring = Hypergraph::new(&[0, 1, 1, 2, 2, 0], 2, 3)?;
    /// let values = ring.solve_xor(&[5, 3, 6])?.expect("5 ^ 3 = 6");
    /// assert_eq!([values[0] ^ values[1], values[1] ^ values[2], values[2] ^ values[0]], [5, 3, 6]);
    /// assert_eq!(ring.solve_xor(&[5, 3, 7])?, None);
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    pub fn solve_xor(&self, right_hand_sides: &[u64]) -> Result<Option<Vec<u64>>> {
        if right_hand_sides.len() != self.edge_count() {
            let expected = format!("one for each of the {} edges", self.edge_count());
            return Err(Error::parameter("right_hand_sides", expected, right_hand_sides.len()));
        }
        let peeling = self.peel()?;
        let mut values = zeroed(self.cell_count, "the values of the cells")?;
        if !peeling.is_complete() && !self.solve_core(&peeling.core, right_hand_sides, &mut values)? {
            return Ok(None);
        }
        for &(edge, own) in peeling.order.iter().rev() {
            let others = self.edge(edge as usize).iter().filter(|&&cell| cell != own);
            values[own as usize] =
                others.fold(right_hand_sides[edge as usize], |sum, &cell| sum ^ values[cell as usize]);
        }
        Ok(Some(values))
    }

    /// Gaussian elimination. Rows are brought in one by one: each is reduced by those that are there, from its lowest
    /// column on, until it has a lowest column that no other row has. False if it reduces to `0 = something`.
    fn solve_core(&self, core: &[u32], right_hand_sides: &[u64], values: &mut [u64]) -> Result<bool> {
        if core.len() > MAX_CORE {
            return Err(Error::Build {
                what: format!("{} of {} equations do not peel, more than {MAX_CORE}", core.len(), self.edge_count()),
                remedy: "split the keys into smaller buckets or give them more cells".into(),
            });
        }
        let mut columns: Vec<u32> = core.iter().flat_map(|&edge| self.edge(edge as usize)).copied().collect();
        columns.sort_unstable();
        columns.dedup();
        let width = columns.len().div_ceil(64);
        let mut rows: Vec<u64> = Vec::new();
        let mut sums: Vec<u64> = Vec::new();
        let mut row_of: Vec<Option<usize>> = vec![None; columns.len()];
        let mut row = vec![0u64; width];

        'equations: for &edge in core {
            row.fill(0);
            let mut sum = right_hand_sides[edge as usize];
            for cell in self.edge(edge as usize) {
                // Every cell of the core is a column.
                let (Ok(column) | Err(column)) = columns.binary_search(cell);
                row[column / 64] ^= 1 << (column % 64);
            }
            for word in 0..width {
                while row[word] != 0 {
                    let column = word * 64 + row[word].trailing_zeros() as usize;
                    let Some(pivot) = row_of[column] else {
                        row_of[column] = Some(sums.len());
                        rows.extend_from_slice(&row);
                        sums.push(sum);
                        continue 'equations;
                    };
                    // The pivot's words before this one are zero.
                    let pivot_row = &rows[pivot * width..][word..width];
                    row[word..].iter_mut().zip(pivot_row).for_each(|(a, b)| *a ^= b);
                    sum ^= sums[pivot];
                }
            }
            if sum != 0 {
                return Ok(false);
            }
        }

        // Backwards: all columns behind the lowest of a row have their value when it is the row's turn; its own still
        // has the 0 of a free cell.
        for column in (0..columns.len()).rev() {
            let Some(pivot) = row_of[column] else { continue };
            let mut sum = sums[pivot];
            for (word, &bits) in rows[pivot * width..][..width].iter().enumerate().skip(column / 64) {
                let mut bits = bits;
                while bits != 0 {
                    sum ^= values[columns[word * 64 + bits.trailing_zeros() as usize] as usize];
                    bits &= bits - 1;
                }
            }
            values[columns[column] as usize] = sum;
        }
        Ok(true)
    }
}

/// Per cell: how often it is hit, and the XOR of the edges that hit it. If it is hit once, that is the edge.
struct Incidence<'a> {
    graph: Hypergraph<'a>,
    hits: Vec<(u32, u32)>,
}

impl Cells for Incidence<'_> {
    type Item = u32;

    fn cell_count(&self) -> usize {
        self.hits.len()
    }

    #[inline]
    fn sole_item(&self, cell: usize) -> Option<u32> {
        let (count, edges) = self.hits[cell];
        (count == 1).then_some(edges)
    }

    #[inline]
    fn take(&mut self, edge: &u32, touched: &mut Vec<usize>) {
        for &cell in self.graph.edge(*edge as usize) {
            let hits = &mut self.hits[cell as usize];
            *hits = (hits.0 - 1, hits.1 ^ edge);
            touched.push(cell as usize);
        }
    }
}

fn too_large(what: &str, bytes: usize) -> Error {
    Error::TooLarge { what: what.into(), bytes: bytes as u128 }
}

fn zeroed<T: Clone + Default>(count: usize, what: &str) -> Result<Vec<T>> {
    let mut cells = Vec::new();
    cells.try_reserve_exact(count).map_err(|_| too_large(what, count.saturating_mul(size_of::<T>())))?;
    cells.resize(count, T::default());
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hash::SplitMix;

    /// Function `j` has the cells `j*m/k..(j+1)*m/k`, as in every structure that peels.
    fn partitioned(edges: usize, k: usize, cell_count: usize, random: &mut SplitMix) -> Vec<u32> {
        let mut cells = Vec::with_capacity(edges * k);
        for _ in 0..edges {
            for j in 0..k {
                let (from, to) = (j * cell_count / k, (j + 1) * cell_count / k);
                cells.push((from as u64 + random.below((to - from) as u64)) as u32);
            }
        }
        cells
    }

    fn obeys_its_law(graph: &Hypergraph<'_>, peeling: &Peeling) {
        let mut seen = vec![0; graph.edge_count()];
        peeling
            .order
            .iter()
            .map(|&(edge, _)| edge)
            .chain(peeling.core.iter().copied())
            .for_each(|e| seen[e as usize] += 1);
        assert!(seen.iter().all(|&times| times == 1), "an edge is missing or there twice");

        // Put the edges back from the end: an own cell has not been hit by then, and is hit once by its edge.
        let mut hits = vec![0; graph.cell_count];
        let put = |edge: u32, hits: &mut Vec<u32>| {
            graph.edge(edge as usize).iter().for_each(|&cell| hits[cell as usize] += 1);
        };
        peeling.core.iter().for_each(|&edge| put(edge, &mut hits));
        assert!(hits.iter().all(|&count| count != 1), "the core can be peeled on");
        for &(edge, own) in peeling.order.iter().rev() {
            assert_eq!(hits[own as usize], 0);
            put(edge, &mut hits);
            assert_eq!(hits[own as usize], 1);
        }
    }

    fn satisfies(graph: &Hypergraph<'_>, sums: &[u64], values: &[u64]) -> bool {
        let xor = |edge: usize| graph.edge(edge).iter().fold(0, |sum, &cell| sum ^ values[cell as usize]);
        (0..graph.edge_count()).all(|edge| xor(edge) == sums[edge])
    }

    proptest! {
        /// Few cells, so that repeated cells and equal edges abound.
        #[test]
        fn any_graph_obeys_the_law_of_the_order_and_its_systems_are_solved_if_they_can_be(
            k in 2usize..=8, cell_count in 1usize..24, edges in 0usize..24, seed in any::<u64>()
        ) {
            let mut random = SplitMix::new(seed);
            let cells: Vec<u32> = (0..edges * k).map(|_| random.below(cell_count as u64) as u32).collect();
            let graph = Hypergraph::new(&cells, k, cell_count).unwrap();
            obeys_its_law(&graph, &graph.peel().unwrap());

            // Sums of hidden values always have a solution; random ones do if a plain elimination says so.
            let hidden: Vec<u64> = (0..cell_count).map(|_| random.next_u64()).collect();
            let sums: Vec<u64> =
                (0..edges).map(|e| graph.edge(e).iter().fold(0, |sum, &cell| sum ^ hidden[cell as usize])).collect();
            let values = graph.solve_xor(&sums).unwrap().expect("the hidden values are a solution");
            prop_assert!(satisfies(&graph, &sums, &values));

            let bits: Vec<u64> = (0..edges).map(|_| random.below(2)).collect();
            let solved = graph.solve_xor(&bits).unwrap();
            prop_assert_eq!(solved.is_some(), is_consistent(&graph, &bits));
            if let Some(values) = solved {
                prop_assert!(satisfies(&graph, &bits, &values));
            }
        }
    }

    /// The oracle for up to 63 cells: each equation is a word, its right-hand side the top bit.
    fn is_consistent(graph: &Hypergraph<'_>, bits: &[u64]) -> bool {
        let mut pivots: Vec<u64> = Vec::new();
        for (edge, bit) in bits.iter().enumerate() {
            let mut row = graph.edge(edge).iter().fold(bit << 63, |row, cell| row ^ 1 << cell);
            for pivot in &pivots {
                row = if row & (pivot & pivot.wrapping_neg()) != 0 { row ^ pivot } else { row };
            }
            if row == 1 << 63 {
                return false;
            }
            if row != 0 {
                pivots.push(row);
            }
        }
        true
    }

    #[test]
    fn the_order_obeys_its_law_above_and_below_the_threshold() {
        let mut random = SplitMix::new(1);
        for k in 2..=8 {
            for cell_count in [8_000, 11_000, 13_000, 25_000] {
                let cells = partitioned(10_000, k, cell_count, &mut random);
                let graph = Hypergraph::new(&cells, k, cell_count).unwrap();
                obeys_its_law(&graph, &graph.peel().unwrap());
            }
        }
    }

    /// How many of `trials` random graphs with `edges` edges peel.
    fn complete(edges: usize, cell_count: usize, trials: usize, random: &mut SplitMix) -> usize {
        let peels = |_: &usize| {
            let cells = partitioned(edges, 3, cell_count, random);
            Hypergraph::new(&cells, 3, cell_count).unwrap().peel().unwrap().is_complete()
        };
        (0..trials).filter(peels).count()
    }

    #[test]
    fn a_try_succeeds_as_often_as_retries_are_planned_for() {
        // Partitioned, k = 3, m = ceil(1.23 n) + 32. The rates are those of a separate simulation with its own standard
        // error; the worst n, near 3,000, is what a limit of 100 tries has to stand.
        let mut random = SplitMix::new(2);
        for (edges, trials, rate, error) in
            [(1_000, 3_000, 0.8993, 0.0039), (3_000, 1_000, 0.8548, 0.0070), (10_000, 300, 0.8983, 0.0123)]
        {
            let measured =
                complete(edges, (edges * 123).div_ceil(100) + 32, trials, &mut random) as f64 / trials as f64;
            let sigma = f64::hypot((rate * (1.0 - rate) / trials as f64).sqrt(), error);
            assert!((measured - rate).abs() < 5.0 * sigma, "n = {edges}: {measured}, expected {rate}");
        }
        assert_eq!(complete(100_000, 123_032, 10, &mut random), 10);
        assert_eq!(complete(100_000, 120_000, 5, &mut random), 0);
    }

    #[test]
    fn below_the_threshold_a_fixed_share_comes_out() {
        let (edges, cell_count, k) = (100_000, 120_000, 3);
        let mut x = 1.0f64;
        for _ in 0..10_000 {
            x = 1.0 - (-f64::from(k) * x.powi(k - 1) * edges as f64 / cell_count as f64).exp();
        }
        let expected = 1.0 - x.powi(k);
        assert!((expected - 0.509).abs() < 0.002);
        let mut random = SplitMix::new(3);
        for _ in 0..8 {
            let cells = partitioned(edges, 3, cell_count, &mut random);
            let peeling = Hypergraph::new(&cells, 3, cell_count).unwrap().peel().unwrap();
            let share = peeling.order.len() as f64 / edges as f64;
            assert!((share - expected).abs() < 0.02, "{share}, expected {expected}");
        }
    }

    #[test]
    fn buckets_at_load_0_95_are_solved_but_for_equal_edges() {
        // k = 4, ceil(1.05 * 1000) + 4 cells: below the solvability threshold 0.977 but far above the peeling threshold
        // 0.772. Two edges are equal with probability C(1000,2) / (m/k)^k = 1.04e-4 per bucket; hardly any other small
        // set of edges cancels.
        let (edges, cell_count, trials) = (1_000, 1_054, 1_500);
        let mut random = SplitMix::new(4);
        let (mut solved, mut core) = (0, 0);
        for _ in 0..trials {
            let cells = partitioned(edges, 4, cell_count, &mut random);
            let graph = Hypergraph::new(&cells, 4, cell_count).unwrap();
            let sums: Vec<u64> = (0..edges).map(|_| random.next_u64()).collect();
            if let Some(values) = graph.solve_xor(&sums).unwrap() {
                assert!(satisfies(&graph, &sums, &values));
                solved += 1;
            }
            core += graph.peel().unwrap().core.len();
        }
        let failures: f64 = 1.04e-4 * f64::from(trials);
        assert!(f64::from(trials - solved) <= failures + 5.0 * failures.sqrt(), "{solved} of {trials} solved");
        // Elimination did the work: peeling alone leaves most of the bucket.
        assert!(core > 800 * trials as usize);
    }

    #[test]
    fn buckets_above_the_solvability_threshold_are_singular() {
        let mut random = SplitMix::new(5);
        for _ in 0..100 {
            let cells = partitioned(1_000, 4, 1_000, &mut random);
            let graph = Hypergraph::new(&cells, 4, 1_000).unwrap();
            let sums: Vec<u64> = (0..1_000).map(|_| random.next_u64()).collect();
            assert_eq!(graph.solve_xor(&sums).unwrap(), None);
        }
    }

    #[test]
    fn a_system_that_peels_is_solved_at_any_size() {
        let (edges, cell_count, mut random) = (100_000, 123_032, SplitMix::new(6));
        let cells = partitioned(edges, 3, cell_count, &mut random);
        let graph = Hypergraph::new(&cells, 3, cell_count).unwrap();
        let sums: Vec<u64> = (0..edges).map(|_| random.next_u64()).collect();
        assert!(satisfies(&graph, &sums, &graph.solve_xor(&sums).unwrap().unwrap()));
    }

    #[test]
    fn a_core_too_large_for_elimination_is_refused() {
        let mut random = SplitMix::new(7);
        let cells = partitioned(20_000, 4, 21_000, &mut random);
        let graph = Hypergraph::new(&cells, 4, 21_000).unwrap();
        assert!(matches!(graph.solve_xor(&vec![0; 20_000]), Err(Error::Build { .. })));
    }

    #[test]
    fn cells_that_repeat_within_an_edge_cancel_and_are_never_its_own() {
        // 0 ^ 0 ^ 1 = 5 says that cell 1 holds 5; 2 ^ 2 ^ 2 that cell 2 holds 9; 3 ^ 3 is nothing.
        let graph = Hypergraph::new(&[0, 0, 1, 2, 2, 2], 3, 3).unwrap();
        assert_eq!(graph.peel().unwrap(), Peeling { order: vec![(0, 1)], core: vec![1] });
        assert_eq!(graph.solve_xor(&[5, 9]).unwrap(), Some(vec![0, 5, 9]));
        let nothing = Hypergraph::new(&[3, 3], 2, 4).unwrap();
        assert_eq!(nothing.solve_xor(&[0]).unwrap(), Some(vec![0; 4]));
        assert_eq!(nothing.solve_xor(&[1]).unwrap(), None);
    }

    #[test]
    fn equal_edges_agree_or_have_no_solution() {
        let graph = Hypergraph::new(&[0, 1, 2, 0, 1, 2], 3, 3).unwrap();
        let values = graph.solve_xor(&[7, 7]).unwrap().unwrap();
        assert_eq!(values[0] ^ values[1] ^ values[2], 7);
        assert_eq!(graph.solve_xor(&[7, 8]).unwrap(), None);
    }

    #[test]
    fn graphs_that_cannot_be_are_refused() {
        for (cells, k, cell_count) in [
            (&[0, 1][..], 1, 2),
            (&[0; 9], 9, 1),
            (&[0, 1, 2], 2, 3),
            (&[0, 2], 2, 2),
            (&[0, u32::MAX], 2, 2),
            (&[0, 0], 2, 0),
        ] {
            assert!(matches!(Hypergraph::new(cells, k, cell_count), Err(Error::Parameter { .. })), "{cells:?} {k}");
        }
        assert!(Hypergraph::new(&[], 3, usize::MAX).is_err());
        let empty = Hypergraph::new(&[], 3, 0).unwrap();
        assert_eq!(empty.peel().unwrap(), Peeling { order: vec![], core: vec![] });
        assert_eq!(empty.solve_xor(&[]).unwrap(), Some(vec![]));
        assert!(empty.solve_xor(&[1]).is_err());
        assert!(empty.edge(0).is_empty() && empty.edge(usize::MAX).is_empty());
    }

    #[test]
    fn a_table_that_breaks_the_law_is_left_at_the_limit() {
        struct Endless;
        impl Cells for Endless {
            type Item = ();
            fn cell_count(&self) -> usize {
                4
            }
            fn sole_item(&self, _: usize) -> Option<()> {
                Some(())
            }
            fn take(&mut self, _: &(), touched: &mut Vec<usize>) {
                touched.extend([0, 1]);
            }
        }
        let mut items = 0;
        let mut count = |limit| {
            let end = peel_cells(&mut Endless, 1_000, |(), _| {
                items += 1;
                if items == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            assert!(end.is_break());
            items
        };
        assert_eq!(count(usize::MAX), 1_000);
        assert_eq!(count(1_010), 1_010);
    }
}
