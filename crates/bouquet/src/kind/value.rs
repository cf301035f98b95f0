//! Values of Rust as settings.

use super::Setting;

/// What a field of a settings struct can hold.
///
/// ```
/// use bouquet::kind::{Setting, Value};
/// assert_eq!(7u32.to_setting(), Setting::Count(7));
/// assert_eq!(u32::from_setting(Setting::Count(1 << 40)), None, "too large for the field");
/// ```
pub trait Value: Copy {
    /// The value as front ends and frames have it.
    fn to_setting(self) -> Setting;

    /// The value of a setting; `None` for one of another type.
    fn from_setting(setting: Setting) -> Option<Self>;
}

macro_rules! counts {
    ($($integer:ty),*) => {$(
        impl Value for $integer {
            fn to_setting(self) -> Setting {
                Setting::Count(self.into())
            }

            fn from_setting(setting: Setting) -> Option<Self> {
                match setting {
                    Setting::Count(value) => value.try_into().ok(),
                    _ => None,
                }
            }
        }
    )*};
}

counts!(u8, u16, u32, u64);

impl Value for f64 {
    fn to_setting(self) -> Setting {
        Setting::Real(self)
    }

    fn from_setting(setting: Setting) -> Option<Self> {
        match setting {
            Setting::Real(value) => Some(value),
            _ => None,
        }
    }
}

impl Value for bool {
    fn to_setting(self) -> Setting {
        Setting::Flag(self)
    }

    fn from_setting(setting: Setting) -> Option<Self> {
        match setting {
            Setting::Flag(value) => Some(value),
            _ => None,
        }
    }
}
