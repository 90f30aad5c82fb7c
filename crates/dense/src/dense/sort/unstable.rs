//! Orders in which equal elements lie as PyTorch's CPU kernels leave them: it sorts and selects by the algorithms of
//! libstdc++ (introsort, introselect, heaps) and a quickselect of its own, whose steps are followed here. Only keys are
//! compared, so that the places of equal elements follow from the exchanges.

use super::key::Packed;

/// Up to here a range is sorted by insertion, which is stable.
pub(super) const SHORT: usize = 16;

#[inline(always)]
fn less<P: Packed>(a: P, b: P) -> bool {
    a.key() < b.key()
}

fn depth(n: usize) -> u32 {
    2 * n.checked_ilog2().unwrap_or(0)
}

/// Exchanges the first element with the median of the second, the middle and the last one, and parts the others by it:
/// where the second part begins.
fn part<P: Packed>(a: &mut [P]) -> usize {
    let (x, y, z) = (1, a.len() / 2, a.len() - 1);
    let median = match (less(a[x], a[y]), less(a[y], a[z]), less(a[x], a[z])) {
        (true, true, _) => y,
        (true, false, true) => z,
        (true, false, false) => x,
        (false, _, true) => x,
        (false, true, false) => z,
        (false, false, false) => y,
    };
    a.swap(0, median);
    let (mut low, mut high) = (1, a.len());
    loop {
        while less(a[low], a[0]) {
            low += 1;
        }
        high -= 1;
        while less(a[0], a[high]) {
            high -= 1;
        }
        if low >= high {
            return low;
        }
        a.swap(low, high);
        low += 1;
    }
}

/// Moves the hole at the top of a heap down to a leaf, and `value` up from there.
fn sift<P: Packed>(heap: &mut [P], top: usize, value: P) {
    let (n, mut hole) = (heap.len(), top);
    let mut child = top;
    while child < (n - 1) / 2 {
        child = 2 * (child + 1);
        if less(heap[child], heap[child - 1]) {
            child -= 1;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    if n.is_multiple_of(2) && child == (n - 2) / 2 {
        child = 2 * child + 1;
        heap[hole] = heap[child];
        hole = child;
    }
    while hole > top {
        let parent = (hole - 1) / 2;
        if !less(heap[parent], value) {
            break;
        }
        heap[hole] = heap[parent];
        hole = parent;
    }
    heap[hole] = value;
}

/// Leaves the `k` least elements at the front, as a heap.
fn select_by_heap<P: Packed>(a: &mut [P], k: usize) {
    for top in (0..k / 2).rev() {
        let value = a[top];
        sift(&mut a[..k], top, value);
    }
    for i in k..a.len() {
        if less(a[i], a[0]) {
            let value = a[i];
            a[i] = a[0];
            sift(&mut a[..k], 0, value);
        }
    }
}

/// The `k` least elements in order at the front.
fn sort_part<P: Packed>(a: &mut [P], k: usize) {
    select_by_heap(a, k);
    for end in (1..k).rev() {
        let value = a[end];
        a[end] = a[0];
        sift(&mut a[..end], 0, value);
    }
}

fn insert<P: Packed>(a: &mut [P], from: usize) {
    for i in from..a.len() {
        let value = a[i];
        let mut at = i;
        while at > 0 && less(value, a[at - 1]) {
            a[at] = a[at - 1];
            at -= 1;
        }
        a[at] = value;
    }
}

fn sort_loop<P: Packed>(mut a: &mut [P], mut depth: u32) {
    while a.len() > SHORT {
        if depth == 0 {
            let n = a.len();
            return sort_part(a, n);
        }
        depth -= 1;
        let cut = part(a);
        let (front, back) = a.split_at_mut(cut);
        sort_loop(back, depth);
        a = front;
    }
}

/// All in order.
pub(super) fn sort<P: Packed>(a: &mut [P]) {
    let depth = depth(a.len());
    sort_loop(a, depth);
    insert(a, 1);
}

/// The `k` least at the front; in order if `sorted`.
pub(super) fn smallest<P: Packed>(a: &mut [P], k: usize, sorted: bool) {
    if k == 0 {
        return;
    }
    if k.saturating_mul(64) <= a.len() {
        return sort_part(a, k);
    }
    select(a, k - 1);
    if sorted {
        sort(&mut a[..k - 1]);
    }
}

/// The element at place `k` of the order at that place, no greater ones before it.
fn select<P: Packed>(a: &mut [P], k: usize) {
    let (mut first, mut last, mut depth) = (0, a.len(), depth(a.len()));
    while last - first > 3 {
        if depth == 0 {
            select_by_heap(&mut a[first..last], k + 1 - first);
            return a.swap(first, k);
        }
        depth -= 1;
        let cut = first + part(&mut a[first..last]);
        if cut <= k {
            first = cut;
        } else {
            last = cut;
        }
    }
    insert(&mut a[first..last], 1);
}

/// The element at place `k` of the order by quickselect.
pub(super) fn nth<P: Packed>(a: &mut [P], k: usize) -> P {
    let (mut left, mut right) = (0, a.len() - 1);
    while left < right {
        if right == left + 1 {
            if less(a[right], a[left]) {
                a.swap(left, right);
            }
            break;
        }
        a.swap(left + (right - left) / 2, left + 1);
        for (x, y) in [(left + 1, right), (left, right), (left + 1, left)] {
            if less(a[y], a[x]) {
                a.swap(x, y);
            }
        }
        let (mut i, mut j, pivot) = (left + 1, right, a[left]);
        loop {
            i += 1;
            while less(a[i], pivot) {
                i += 1;
            }
            j -= 1;
            while less(pivot, a[j]) {
                j -= 1;
            }
            if j < i {
                break;
            }
            a.swap(i, j);
        }
        a.swap(left, j);
        (left, right) = (if j <= k { i } else { left }, if j >= k { j - 1 } else { right });
    }
    a[k]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(keys: impl Iterator<Item = u64>) -> Vec<u64> {
        keys.enumerate().map(|(i, k)| u64::new(k, i)).collect()
    }

    #[test]
    fn equal_elements_lie_where_pytorch_leaves_them() {
        let indices = |a: &[u64]| a.iter().map(|p| p.index()).collect::<Vec<_>>();
        let mut a = packed((0..20).map(|_| 0));
        sort(&mut a);
        assert_eq!(indices(&a), [10, 19, 18, 17, 16, 15, 14, 13, 12, 11, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
        let mut a = packed((0..20).map(|i| i % 3));
        smallest(&mut a, 5, true);
        assert_eq!(indices(&a[..5]), [9, 6, 12, 15, 0]);
        let mut a = packed((0..20).map(|i| i % 3));
        assert_eq!(nth(&mut a, 9).index(), 4);
    }

    #[test]
    fn the_order_is_one() {
        for n in (0..300).chain([5000]) {
            for values in [1, 2, 7, 1000] {
                let keys = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                let start = packed((0..n as u64).map(|i| keys(i) % values));
                let mut want = start.clone();
                want.sort_by_key(|p| p.key());
                let same = |a: &[u64]| a.iter().zip(&want).all(|(a, b)| a.key() == b.key());
                let mut a = start.clone();
                sort(&mut a);
                assert!(same(&a));
                for k in [0, 1, n / 100, n / 2, n] {
                    let mut a = start.clone();
                    smallest(&mut a, k.min(n), true);
                    assert!(same(&a[..k.min(n)]), "{n} {values} {k}");
                    if k < n {
                        assert_eq!(nth(&mut start.clone(), k).key(), want[k].key());
                    }
                }
            }
        }
    }
}
