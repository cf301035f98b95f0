//! The experiments, one file each. A new one is a file and two lines here: its module and its place in the list.

mod dbf;
mod dbf_as_printed;
mod gbf;
pub(crate) mod papers;
mod shared;

mod dbf_fig1;
mod dbf_fig10;
mod dbf_fig11;
mod dbf_fig12;
mod dbf_fig13;
mod dbf_fig14;
mod dbf_fig15;
mod dbf_fig16;
mod dbf_fig2;
mod dbf_fig3;
mod dbf_fig4;
mod dbf_fig5;
mod dbf_fig6;
mod dbf_fig7;
mod dbf_fig8;
mod dbf_fig9;
mod dbf_limits;
mod dbf_multi;
mod dbf_table1;
mod gbf_attack;
mod gbf_fig10;
mod gbf_fig11;
mod gbf_fig12;
mod gbf_fig13;
mod gbf_fig14;
mod gbf_fig2;
mod gbf_fig3;
mod gbf_fig4;
mod gbf_fig6;
mod gbf_fig7;
mod gbf_fig8;
mod gbf_fig9;
mod survey000_block_decay;
mod survey000_eq10;
mod survey000_eq12;
mod survey000_eq18;
mod survey000_fig2;
mod survey000_fig3;
mod survey000_fig5;
mod survey000_fig6;
mod survey000_fig7;
mod survey000_loads;
mod survey000_lpm;
mod survey000_table2;
mod survey000_theorem2;
mod survey001_bound;
mod survey001_concentration;
mod survey001_counters;
mod survey001_inner_product;
mod survey001_p2p;
mod survey001_rate;
mod survey001_table1;
mod survey003_dleft;
mod survey003_eq3;
mod survey003_eq4;
mod survey003_eq5;
mod survey003_eq67;
mod survey003_fig6;
mod survey003_fig7;
mod survey003_forgetting;
mod survey003_table3;
mod survey003_table4;

use crate::experiment::Experiment;

/// All experiments, in the order of the gallery.
pub(crate) const ALL: &[Experiment] = &[
    survey000_fig2::EXPERIMENT,
    survey000_fig3::EXPERIMENT,
    survey000_fig5::EXPERIMENT,
    survey000_fig6::EXPERIMENT,
    survey000_fig7::EXPERIMENT,
    survey000_theorem2::EXPERIMENT,
    survey000_eq10::EXPERIMENT,
    survey000_eq12::EXPERIMENT,
    survey000_eq18::EXPERIMENT,
    survey000_table2::EXPERIMENT,
    survey000_loads::EXPERIMENT,
    survey000_lpm::EXPERIMENT,
    survey000_block_decay::EXPERIMENT,
    survey001_rate::EXPERIMENT,
    survey001_concentration::EXPERIMENT,
    survey001_bound::EXPERIMENT,
    survey001_inner_product::EXPERIMENT,
    survey001_counters::EXPERIMENT,
    survey001_table1::EXPERIMENT,
    survey001_p2p::EXPERIMENT,
    gbf_fig2::EXPERIMENT,
    gbf_fig3::EXPERIMENT,
    gbf_fig4::EXPERIMENT,
    gbf_fig6::EXPERIMENT,
    gbf_fig7::EXPERIMENT,
    gbf_fig8::EXPERIMENT,
    gbf_fig9::EXPERIMENT,
    gbf_fig10::EXPERIMENT,
    gbf_fig11::EXPERIMENT,
    gbf_fig12::EXPERIMENT,
    gbf_fig13::EXPERIMENT,
    gbf_fig14::EXPERIMENT,
    gbf_attack::EXPERIMENT,
    dbf_fig1::EXPERIMENT,
    dbf_fig2::EXPERIMENT,
    dbf_fig3::EXPERIMENT,
    dbf_fig4::EXPERIMENT,
    dbf_fig5::EXPERIMENT,
    dbf_table1::EXPERIMENT,
    dbf_fig6::EXPERIMENT,
    dbf_fig7::EXPERIMENT,
    dbf_fig8::EXPERIMENT,
    dbf_fig9::EXPERIMENT,
    dbf_fig10::EXPERIMENT,
    dbf_fig11::EXPERIMENT,
    dbf_fig12::EXPERIMENT,
    dbf_fig13::EXPERIMENT,
    dbf_fig14::EXPERIMENT,
    dbf_fig15::EXPERIMENT,
    dbf_fig16::EXPERIMENT,
    dbf_limits::EXPERIMENT,
    dbf_multi::EXPERIMENT,
    survey003_eq3::EXPERIMENT,
    survey003_eq4::EXPERIMENT,
    survey003_eq5::EXPERIMENT,
    survey003_eq67::EXPERIMENT,
    survey003_table3::EXPERIMENT,
    survey003_table4::EXPERIMENT,
    survey003_fig6::EXPERIMENT,
    survey003_fig7::EXPERIMENT,
    survey003_dleft::EXPERIMENT,
    survey003_forgetting::EXPERIMENT,
];
