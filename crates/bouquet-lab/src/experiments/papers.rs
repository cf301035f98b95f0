//! The papers whose results are reproduced.

use crate::experiment::Paper;

/// `survey000-..`.
pub(crate) const TARKOMA: Paper = Paper {
    title: "Theory and Practice of Bloom Filters for Distributed Systems",
    authors: "Tarkoma, Rothenberg, Lagerspetz",
    year: 2012,
};

/// `survey001-..`.
pub(crate) const BRODER: Paper =
    Paper { title: "Network Applications of Bloom Filters: A Survey", authors: "Broder, Mitzenmacher", year: 2004 };

/// `gbf-..`.
pub(crate) const LAUFER: Paper =
    Paper { title: "Generalized Bloom Filters", authors: "Laufer, Velloso, Duarte", year: 2005 };

/// `dbf-..`.
pub(crate) const GUO: Paper =
    Paper { title: "The Dynamic Bloom Filters", authors: "Guo, Wu, Chen, Yuan, Luo", year: 2010 };

/// `survey003-..`.
pub(crate) const LUO: Paper = Paper {
    title: "Optimizing Bloom Filter: Challenges, Solutions, and Comparisons",
    authors: "Luo, Guo, Ma, Rottenstreich, Luo",
    year: 2019,
};
