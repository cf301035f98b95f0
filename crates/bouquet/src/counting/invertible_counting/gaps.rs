//! What decoding gives.

use crate::kind::Reply;

/// An element that one multiset has more of than the other.
///
/// ```
/// use bouquet::{InvertibleCounting, shell::Amount};
/// let (mut here, mut there) = (InvertibleCounting::with_capacity(10)?, InvertibleCounting::with_capacity(10)?);
/// here.insert_with("rose", Amount(3))?;
/// there.insert("rose")?;
/// let gap = &here.difference(&there)?.gaps[0];
/// assert_eq!((gap.key.as_deref(), gap.count), (Some(b"rose".as_slice()), 2));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Its id, by which the other host can be asked for it.
    pub id: u64,
    /// Its name, if it is known here.
    pub key: Option<Vec<u8>>,
    /// How many more this side has; negative if the other has more.
    pub count: i64,
}

/// What was decoded of a table, or of the difference of two.
///
/// ```
/// use bouquet::InvertibleCounting;
/// let mut table = InvertibleCounting::with_size(4, 4)?; // every element is in all four cells
/// table.insert("rose")?;
/// assert!(table.gaps().is_complete());
/// table.insert("lily")?;
/// assert_eq!((table.gaps().gaps.len(), table.gaps().undecoded), (0, 4));
/// # Ok::<(), bouquet::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// The elements, by their ids.
    pub gaps: Vec<Gap>,
    /// Cells that still hold something; zero means that nothing is missing.
    pub undecoded: u64,
}

impl Gaps {
    /// Whether everything was decoded.
    ///
    /// ```
    /// use bouquet::InvertibleCounting;
    /// let mut table = InvertibleCounting::with_capacity(10)?;
    /// (0..1_000u64).try_for_each(|key| table.insert(&key).map(drop))?;
    /// assert!(!table.gaps().is_complete(), "far more than ten");
    /// # Ok::<(), bouquet::Error>(())
    /// ```
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.undecoded == 0
    }

    /// A row for each element; what stays undecoded is a row without id.
    pub(super) fn reply(self) -> Reply {
        let row = |gap: Gap| {
            vec![gap.id.into(), Reply::Integer(gap.count.into()), gap.key.map_or(Reply::Unknown, Reply::Bytes)]
        };
        let rest = |cells: u64| vec![Reply::Unknown, cells.into(), Reply::Unknown];
        let undecoded = (self.undecoded > 0).then(|| rest(self.undecoded));
        Reply::Table(&["id", "count", "key"], self.gaps.into_iter().map(row).chain(undecoded).collect())
    }
}
