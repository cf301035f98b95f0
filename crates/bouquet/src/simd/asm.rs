//! What the assembly of single calls has in common.
//!
//! Builds for every x86-64 run single calls as assembly: the compiler inlines no code that only some machines have into code for
//! all, and a call costs as much as what it does. Each function equals one beside it that is written with intrinsics, which says
//! what it computes and why; builds for a machine with AVX2 take those.

use std::arch::asm;

/// AVX2 assembly whose vector registers are `xmm0` to `xmm3` by number. It ends with upper halves of zeros, as code without AVX
/// expects them. It may be inlined into a caller's function with AVX, too, which keeps values in the registers: so it takes all of
/// them, and whatever lies in one is saved before.
macro_rules! assembly {
    ([$($instruction:expr),* $(,)?], $($operand:tt)*) => {
        std::arch::asm!(
            $($instruction,)*
            "vzeroupper",
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            $($operand)*
        )
    };
}
pub(super) use assembly;

/// The same address, of which the compiler knows nothing: what is read there is read anew, since another thread may have changed it.
#[inline(always)]
pub(super) fn anew<T>(at: *const T) -> *const T {
    let same;
    // SAFETY: there is no instruction.
    unsafe { asm!("/* {0} */", inlateout(reg) at => same, options(readonly, nostack, preserves_flags)) };
    same
}

/// What assembly reads, eight numbers for eight lanes each.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Eights<const N: usize>(pub(super) [[u32; 8]; N]);
