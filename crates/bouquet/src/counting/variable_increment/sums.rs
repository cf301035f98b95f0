//! The sums of a B_h sequence: a set of numbers of which all sums of h differ.

/// All sums of 1 to h elements of a B_h sequence, and which elements each is made of.
#[derive(Debug, PartialEq)]
pub(super) struct Sums {
    /// Sums from 0 to this are in the table.
    pub(super) highest: u64,
    /// For each number of elements, from 1 on, and each sum: a bit for each element that is in it.
    parts: Vec<u64>,
}

impl Sums {
    /// The table; `None` if two sums of `order` elements are equal.
    ///
    /// Multisets are counted by number of elements and sum, one element after the other; taking an element again is
    /// seeing the row of one fewer, which already has it.
    pub(super) fn new(elements: &[u64], order: u32) -> Option<Self> {
        let (order, highest) = (order as usize, u64::from(order) * elements.iter().max()?);
        let width = highest as usize + 1;
        let mut ways = vec![0u8; (order + 1) * width];
        let mut parts = vec![0u64; (order + 1) * width];
        ways[0] = 1;
        for (mark, &element) in elements.iter().enumerate() {
            for count in 1..=order {
                for sum in element as usize..width {
                    let (from, to) = ((count - 1) * width + sum - element as usize, count * width + sum);
                    if ways[from] > 0 {
                        ways[to] = ways[to].saturating_add(ways[from]);
                        parts[to] |= parts[from] | 1 << mark;
                    }
                }
            }
        }
        // Sums of fewer elements differ if those of `order` do: add the same element to both.
        let unique = ways[order * width..].iter().all(|&ways| ways <= 1);
        unique.then(|| Sums { highest, parts: parts.split_off(width) })
    }

    /// The elements of a sum of `count` elements, 1 to h; none if there is no such sum.
    #[inline]
    pub(super) fn parts(&self, count: u64, sum: u64) -> u64 {
        if sum > self.highest {
            return 0;
        }
        self.parts.get(((count - 1) * (self.highest + 1) + sum) as usize).copied().unwrap_or(0)
    }
}
