//! What nodes of the tape are called: by the operator that the program called, whatever it is made of.

use super::node::present_seq;
use super::tensor::{Payload, Tensor};

/// The class of nodes of the operator at a path, by PyTorch's rule: `linalg.inv_ex` is `LinalgInvExBackward0` and
/// `log1p` is `Log1PBackward0`. Classes themselves end in `Backward` and a number; several with `|` between them are those
/// of results of 0, 1, … dimensions, and the last one of all others.
pub fn class_of(path: &str, rank: usize) -> String {
    if path.contains("Backward") || (path.starts_with(char::is_uppercase) && !path.contains('.')) {
        let classes = path.split('|');
        return classes.take(rank.saturating_add(1)).last().unwrap_or_default().into();
    }
    let path = ["nn.functional.", "Tensor."].iter().find_map(|place| path.strip_prefix(place)).unwrap_or(path);
    let mut name = String::new();
    let mut capital = true;
    for c in path.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(if capital { c.to_ascii_uppercase() } else { c });
        }
        capital = !c.is_ascii_lowercase();
    }
    format!("{name}Backward0")
}

/// The nodes made from now on can be told from others.
#[derive(Clone, Copy)]
pub struct Since(u64);

impl Since {
    #[inline(always)]
    pub fn now() -> Since {
        Since(present_seq())
    }
    /// The result, after [`Since::name`].
    #[inline(always)]
    pub fn named(self, out: Tensor, called: &'static &'static str) -> Tensor {
        self.name(&out, called);
        out
    }
    /// Names the node that a result comes from after what the program called, if it is new.
    #[inline(always)]
    pub fn name(self, out: &Tensor, called: &'static &'static str) {
        if let Some(Payload::Taped { node, .. }) = out.payload()
            && node.seq >= self.0
        {
            node.set_called(called);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::class_of;

    #[test]
    fn classes_follow_paths() {
        let cases = [
            ("mul", "MulBackward0"),
            ("nn.functional.mse_loss", "MseLossBackward0"),
            ("linalg.inv_ex", "LinalgInvExBackward0"),
            ("log1p", "Log1PBackward0"),
            ("nn.functional.avg_pool2d", "AvgPool2DBackward0"),
            ("special.i0e", "SpecialI0EBackward0"),
            ("deg2rad", "Deg2RadBackward0"),
            ("Tensor.unfold", "UnfoldBackward0"),
            ("MeanBackward1", "MeanBackward1"),
            ("DotBackward0|MvBackward0|MmBackward0|BmmBackward0", "MmBackward0"),
            ("DotBackward0|MvBackward0", "MvBackward0"),
        ];
        for (path, class) in cases {
            assert_eq!(class_of(path, 2), class);
        }
    }
}
