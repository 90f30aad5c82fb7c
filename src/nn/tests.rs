//! Each function against numbers that are easily checked by hand.

use super::functional as f;
use super::{
    AttentionOptions, BatchNormOptions, ConvOptions, Interpolation, LossOptions, Outside, PadMode, Reduction, Window,
};
use crate::prelude::*;
use std::f64::consts::LN_2;

fn ramp(shape: &[i64]) -> Tensor {
    Tensor::arange(0, shape.iter().product::<i64>(), 1).unwrap().to_dtype(DType::F64).unwrap().reshape(shape).unwrap()
}

#[track_caller]
fn same(found: Result<Tensor>, wanted: &[f64]) {
    let found = found.unwrap().to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
    let near = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-4);
    assert!(found.len() == wanted.len() && near, "{found:?} is not {wanted:?}");
}

#[test]
fn activations() {
    let x = Tensor::from([-2.0, 0.0, 8.0]);
    same(f::relu(&x), &[0.0, 0.0, 8.0]);
    same(f::relu6(&x), &[0.0, 0.0, 6.0]);
    same(f::silu(&x), &[-0.23841, 0.0, 7.99732]);
    same(f::gelu(&x), &[-0.0455, 0.0, 8.0]);
    same(f::gelu_tanh(&x), &[-0.0454, 0.0, 8.0]);
    same(f::mish(&x), &[-0.25250, 0.0, 8.0]);
    same(f::softsign(&x), &[-2.0 / 3.0, 0.0, 8.0 / 9.0]);
    same(f::logsigmoid(&x), &[-2.12693, -LN_2, -0.00034]);
    same(f::softplus(&x, 2.0, 10.0), &[0.00907, 0.34657, 8.0]);
    same(f::leaky_relu(&x, 0.5), &[-1.0, 0.0, 8.0]);
    same(f::elu(&x, 2.0), &[-1.72933, 0.0, 8.0]);
    same(f::hardtanh(&x, -1.0, 3.0), &[-1.0, 0.0, 3.0]);
    same(f::glu(&ramp(&[4]), 0), &[0.0, 0.95257]);
    assert_eq!(f::hardtanh(&x, 3.0, -1.0).unwrap_err().kind(), ErrorKind::Value);
}

#[test]
fn tables_and_products() {
    let w = ramp(&[3, 2]);
    same(f::linear(&Tensor::from([1.0, 2.0]), &w, Some(&Tensor::from([0.0, 0.0, 1.0]))), &[2.0, 8.0, 15.0]);
    same(f::embedding(&Tensor::from([2_i64, 0]), &w), &[4.0, 5.0, 0.0, 1.0]);
    same(f::one_hot(&Tensor::from([1_i64, 0]), 2), &[0.0, 1.0, 1.0, 0.0]);
    same(f::dropout(&w, 1.0), &[0.0; 6]);
    let o = AttentionOptions::default();
    let (q, v) = (Tensor::zeros([2, 1], DType::F64).unwrap(), ramp(&[2, 1]));
    same(f::scaled_dot_product_attention(&q, &q, &v, &o), &[0.5, 0.5]);
    same(f::scaled_dot_product_attention(&q, &q, &v, &o.clone().causal(true)), &[0.0, 0.5]);
    let sees_last = Tensor::from([[false, true], [false, true]]);
    same(f::scaled_dot_product_attention(&q, &q, &v, &o.clone().mask(&sees_last)), &[1.0, 1.0]);
    same(f::scaled_dot_product_attention(&v, &v, &v, &o.scale(0.0)), &[0.5, 0.5]);
}

#[test]
fn convolutions() {
    let o = ConvOptions::default();
    let wide = o.clone().stride(&[2]).padding(&[1]);
    let ones = |shape: &[usize]| Tensor::ones(shape, DType::F64).unwrap();
    let bias = Tensor::from([10.0]);
    same(f::conv1d(&ramp(&[1, 4]), &ones(&[1, 1, 2]), Some(&bias), &o), &[11.0, 13.0, 15.0]);
    same(f::conv1d(&ramp(&[1, 4]), &ones(&[1, 1, 2]), None, &wide), &[0.0, 3.0, 3.0]);
    same(f::conv1d(&ramp(&[1, 4]), &ones(&[1, 1, 2]), None, &o.clone().dilation(&[3])), &[3.0]);
    same(f::conv1d(&ramp(&[2, 2]), &ones(&[2, 1, 2]), None, &o.clone().groups(2)), &[1.0, 5.0]);
    same(f::conv2d(&ramp(&[1, 2, 2]), &ones(&[1, 1, 2, 2]), None, &o), &[6.0]);
    same(f::conv3d(&ramp(&[1, 1, 2, 2]), &ones(&[1, 1, 1, 2, 2]), None, &o), &[6.0]);
    same(f::conv_transpose1d(&ramp(&[1, 2]), &ones(&[1, 1, 2]), None, &o), &[0.0, 1.0, 1.0]);
    let longer = o.clone().stride(&[2]).output_padding(&[1]);
    same(f::conv_transpose1d(&ramp(&[1, 2]), &ones(&[1, 1, 2]), None, &longer), &[0.0, 0.0, 1.0, 1.0, 0.0]);
    same(f::conv_transpose2d(&ramp(&[1, 1, 2]), &ones(&[1, 1, 1, 2]), None, &o), &[0.0, 1.0, 1.0]);
    same(f::conv_transpose3d(&ramp(&[1, 1, 1, 2]), &ones(&[1, 1, 1, 1, 2]), None, &o), &[0.0, 1.0, 1.0]);
    let slope = grad(|w| f::conv1d(&ramp(&[1, 4]), w, None, &o)?.sum_all(), &ones(&[1, 1, 2]));
    same(slope, &[3.0, 6.0]);
}

#[test]
fn windows() {
    let (x, two) = (ramp(&[1, 4]), Window::of(&[2]));
    same(f::max_pool1d(&x, &two), &[1.0, 3.0]);
    same(f::max_pool1d(&x, &two.clone().stride(&[1])), &[1.0, 2.0, 3.0]);
    same(f::max_pool1d(&x, &two.clone().stride(&[1]).dilation(&[2])), &[2.0, 3.0]);
    same(f::avg_pool1d(&x, &two), &[0.5, 2.5]);
    same(f::avg_pool1d(&x, &two.clone().padding(&[1])), &[0.0, 1.5, 1.5]);
    same(f::avg_pool1d(&x, &two.clone().padding(&[1]).count_include_pad(false)), &[0.0, 1.5, 3.0]);
    same(f::avg_pool1d(&x, &Window::of(&[3]).ceil_mode(true)), &[1.0, 3.0]);
    let plane = ramp(&[1, 2, 4]);
    same(f::max_pool2d(&plane, &two), &[5.0, 7.0]);
    same(f::avg_pool2d(&plane, &two), &[2.5, 4.5]);
    same(f::max_pool3d(&ramp(&[1, 1, 2, 4]), &Window::of(&[1, 2, 2])), &[5.0, 7.0]);
    same(f::avg_pool3d(&ramp(&[1, 1, 2, 4]), &Window::of(&[1, 2, 2])), &[2.5, 4.5]);
    same(f::adaptive_avg_pool1d(&x, &[1]), &[1.5]);
    same(f::adaptive_avg_pool2d(&plane, &[1, 2]), &[2.5, 4.5]);
    same(f::adaptive_avg_pool3d(&ramp(&[1, 1, 2, 4]), &[1, 1, 1]), &[3.5]);
    same(f::adaptive_max_pool1d(&x, &[2]).map(|(_, at)| at), &[1.0, 3.0]);
    same(f::adaptive_max_pool2d(&plane, &[1, 1]).map(|(values, _)| values), &[7.0]);
    same(f::adaptive_max_pool3d(&ramp(&[1, 1, 2, 4]), &[1, 1, 1]).map(|(_, at)| at), &[7.0]);
    let (values, at) = f::max_pool1d_with_indices(&x, &two).unwrap();
    same(f::max_unpool1d(&values, &at, &two, None), &[0.0, 1.0, 0.0, 3.0]);
    same(f::max_unpool1d(&values, &at, &two, Some(&[5])), &[0.0, 1.0, 0.0, 3.0, 0.0]);
    let (values, at) = f::max_pool2d_with_indices(&plane, &two).unwrap();
    same(f::max_unpool2d(&values, &at, &two, None), &[0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0, 7.0]);
    let (flat, deep) = (Window::of(&[1, 2, 2]), ramp(&[1, 1, 2, 4]));
    let (values, at) = f::max_pool3d_with_indices(&deep, &flat).unwrap();
    same(f::max_unpool3d(&values, &at, &flat, None), &[0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0, 7.0]);
    let columns = f::unfold(&plane, &two).unwrap();
    assert_eq!(columns.shape(), &[4, 3]);
    same(f::fold(&columns, &[2, 4], &two), &[0.0, 2.0, 4.0, 3.0, 4.0, 10.0, 12.0, 7.0]);
}

#[test]
fn borders_and_samples() {
    let x = Tensor::from([1.0, 2.0, 3.0]);
    same(f::pad(&x, &[1, 0], PadMode::Zeros), &[0.0, 1.0, 2.0, 3.0]);
    same(f::pad(&x, &[0, 1], PadMode::Constant(9.0)), &[1.0, 2.0, 3.0, 9.0]);
    let row = x.reshape(&[1, 3]).unwrap();
    same(f::pad(&row, &[1, 0], PadMode::Reflect), &[2.0, 1.0, 2.0, 3.0]);
    same(f::pad(&row, &[1, 0], PadMode::Replicate), &[1.0, 1.0, 2.0, 3.0]);
    same(f::pad(&row, &[1, 0], PadMode::Circular), &[3.0, 1.0, 2.0, 3.0]);
    let image = Tensor::from([[1.0, 2.0], [3.0, 4.0]]).reshape(&[1, 1, 2, 2]).unwrap();
    let at = |x: f64, y: f64| Tensor::from([x, y]).reshape(&[1, 1, 1, 2]).unwrap();
    let sample = |at, mode, outside, aligned| f::grid_sample(&image, &at, mode, outside, aligned);
    same(sample(at(0.0, 0.0), Interpolation::Linear, Outside::Zeros, false), &[2.5]);
    same(sample(at(1.0, 1.0), Interpolation::Linear, Outside::Zeros, false), &[1.0]);
    same(sample(at(1.0, 1.0), Interpolation::Linear, Outside::Zeros, true), &[4.0]);
    same(sample(at(3.0, -3.0), Interpolation::Nearest, Outside::Border, false), &[2.0]);
    same(sample(at(0.0, 0.0), Interpolation::Cubic, Outside::Reflection, true), &[2.5]);
}

#[test]
fn normalised() {
    let x = Tensor::from([[1.0, 3.0], [5.0, 9.0]]);
    let (two, one) = (Tensor::from([2.0, 2.0]), Tensor::from([1.0, 1.0]));
    same(f::layer_norm(&x, &[2], Some(&two), Some(&one), 0.0), &[-1.0, 3.0, -1.0, 3.0]);
    same(f::rms_norm(&Tensor::from([3.0, 3.0]), &[2], Some(&two), Some(0.0)), &[2.0, 2.0]);
    same(f::group_norm(&x, 2, Some(&two), Some(&one), 1.0), &[1.0; 4]);
    let o = BatchNormOptions::default().eps(0.0);
    let running = Some((&one, &two));
    let (y, new) = f::batch_norm(&x, running, None, Some(&one), &o).unwrap();
    same(Ok(y), &[1.0, 1.0 + 2.0 / 2f64.sqrt(), 1.0 + 4.0 / 2f64.sqrt(), 1.0 + 8.0 / 2f64.sqrt()]);
    assert!(new.is_none());
    let (y, new) = f::batch_norm(&x, running, None, None, &o.clone().training(true).momentum(0.5)).unwrap();
    same(Ok(y), &[-1.0, -1.0, 1.0, 1.0]);
    let (mean, variance) = new.unwrap();
    same(Ok(mean), &[2.0, 3.5]);
    same(Ok(variance), &[5.0, 10.0]);
    assert!(f::batch_norm(&x, None, None, None, &o).is_err());
}

#[test]
fn losses() {
    let (x, y) = (Tensor::from([1.0, 3.0]), Tensor::from([1.0, 1.0]));
    same(f::mse_loss(&x, &y, Reduction::Mean), &[2.0]);
    same(f::mse_loss(&x, &y, Reduction::None), &[0.0, 4.0]);
    same(f::l1_loss(&x, &y, Reduction::Sum), &[2.0]);
    same(f::huber_loss(&x, &y, 1.0, Reduction::Sum), &[1.5]);
    let (even, sure) = (Tensor::from([[0.5, 0.5]]), Tensor::from([[1.0, 0.0]]));
    same(f::kl_div(&even.log().unwrap(), &sure, false, Reduction::BatchMean), &[LN_2]);
    same(f::kl_div(&even.log().unwrap(), &even.log().unwrap(), true, Reduction::Sum), &[0.0]);
    let (scores, classes) = (Tensor::zeros([2, 2], DType::F64).unwrap(), Tensor::from([0_i64, 1]));
    let o = LossOptions::default();
    let weighted = o.clone().weight(&Tensor::from([3.0, 1.0])).reduction(Reduction::None);
    same(f::cross_entropy(&scores, &classes, &o), &[LN_2]);
    same(f::cross_entropy(&scores, &classes, &weighted), &[3.0 * LN_2, LN_2]);
    let one = o.clone().ignore_index(1).reduction(Reduction::Sum);
    same(f::cross_entropy(&scores, &classes, &one), &[LN_2]);
    let score = Tensor::from([[0.0, 3f64.ln()]]);
    let smooth = o.clone().label_smoothing(1.0);
    same(f::cross_entropy(&score, &Tensor::from([0_i64]), &smooth), &[(4f64.ln() + (4f64 / 3.0).ln()) / 2.0]);
    same(f::nll_loss(&Tensor::from([[-0.5, -1.5]]), &Tensor::from([1_i64]), &o), &[1.5]);
    same(f::binary_cross_entropy(&even, &sure, &o), &[LN_2]);
    let twice = o.reduction(Reduction::Sum).pos_weight(&Tensor::from([2.0]));
    same(f::binary_cross_entropy_with_logits(&Tensor::from([0.0]), &Tensor::from([1.0]), &twice), &[2.0 * LN_2]);
}
