use super::*;
use crate::random::Random;

/// A standard normal number (Box and Muller).
fn normal(random: &mut Random) -> f64 {
    (-2.0 * random.unit().ln()).sqrt() * (std::f64::consts::TAU * random.unit()).cos()
}

/// A Pareto number above 1 whose mean is not finite if `tail` is 1 or less, its variance not if it is 2 or less.
fn pareto(random: &mut Random, tail: f64) -> f64 {
    random.unit().powf(-1.0 / tail)
}

/// How a machine's own stalls look in a pair of windows: to one event or match each.
type Noise = fn(&mut Random, &mut Window) -> f64;

/// What all of a window share.
struct Window {
    scale: f64,
    level: f64,
}

fn quiet(random: &mut Random, _: &mut Window) -> f64 {
    normal(random)
}

/// A build beside: how much it disturbs changes from window to window, and what it does to a moment is log-normal.
fn log_normal(random: &mut Random, window: &mut Window) -> f64 {
    window.scale * (window.level + (1.5 * normal(random)).exp())
}

/// The same with stalls that have no mean.
fn without_a_mean(random: &mut Random, window: &mut Window) -> f64 {
    window.scale * (0.3 * window.level + pareto(random, 0.9))
}

/// Counts, most of them nothing.
fn counts(random: &mut Random, _: &mut Window) -> f64 {
    (-random.unit().ln() * 0.9).floor()
}

/// Pairs of windows of so many events, which add `effect`, and as many matches; which window is first makes no difference here.
fn measured(
    pairs: usize,
    events: usize,
    effect: f64,
    noise: Noise,
    random: &mut Random,
) -> Matched {
    let clusters = (0..pairs).map(|_| {
        let scale = normal(random).exp();
        let mut window = |added: f64| -> Vec<f64> {
            let mut window = Window {
                scale,
                level: normal(random),
            };
            (0..events)
                .map(|_| added + noise(random, &mut window))
                .collect()
        };
        let (with, without) = (window(effect), window(0.0));
        with.iter().zip(&without).map(|(a, b)| a - b).collect()
    });
    Matched::new(clusters.collect::<Vec<Vec<f64>>>(), 0.01)
}

/// The share of simulated experiments whose interval holds the truth, and how wide they are in the middle.
fn coverage(pairs: usize, events: usize, miss: f64, noise: Noise) -> (f64, f64) {
    let mut random = Random::new(17);
    let runs = 400;
    let mut widths = Vec::new();
    let held = (0..runs).filter(|_| {
        let got = measured(pairs, events, 3.0, noise, &mut random).interval(miss);
        let got = got.unwrap();
        widths.push(got.half());
        got.contains(3.0)
    });
    let share = held.count() as f64 / f64::from(runs);
    (share, crate::stats::median(&widths).unwrap())
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say_whatever_the_noise() {
    for (pairs, events) in [(8, 12), (16, 4), (24, 10)] {
        for (kind, noise) in [
            ("quiet", quiet as Noise),
            ("log-normal", log_normal),
            ("without a mean", without_a_mean),
            ("counts", counts),
        ] {
            // With 400 runs three standard deviations are 3.3 %.
            let (share, _) = coverage(pairs, events, 0.05, noise);
            assert!(share > 0.917, "{pairs} pairs, {kind}: {share}");
            let (strict, _) = coverage(pairs, events, 0.05 / 6.0, noise);
            assert!(strict > 0.977, "{pairs} pairs, {kind}: {strict}");
        }
    }
}

#[test]
fn it_is_about_as_narrow_as_a_means_where_a_mean_is_best() {
    // 24 pairs of 10 differences of two normal numbers: ± 1.96 √2/√240 = 0.179.
    let (_, half) = coverage(24, 10, 0.05, quiet);
    assert!((0.16..0.21).contains(&half), "{half}");
    // Where there is no mean at all it still tells something, a stall of 3 from nothing.
    let (_, half) = coverage(24, 10, 0.05, without_a_mean);
    assert!(half < 2.0, "{half}");
}

#[test]
fn wild_differences_count_as_a_few_others() {
    let mut random = Random::new(3);
    let clusters: Vec<Vec<f64>> = (0..20)
        .map(|_| (0..10).map(|_| 2.0 + normal(&mut random)).collect())
        .collect();
    let tame = Matched::new(clusters.clone(), 0.0).interval(0.05).unwrap();
    let mut wild = clusters;
    for (i, cluster) in wild.iter_mut().take(10).enumerate() {
        cluster[i] = 1e6 * (i as f64 - 3.0);
    }
    let got = Matched::new(wild.clone(), 0.0).interval(0.05).unwrap();
    assert!(
        (got.estimate - tame.estimate).abs() < 0.15,
        "{got:?}, {tame:?}"
    );
    assert!(got.half() < tame.half() * 1.3, "{got:?}, {tame:?}");
    let bounded = Matched::new(wild, 0.0).bounded();
    assert!(bounded.iter().flatten().all(|v| v.abs() < 8.0));
}

#[test]
fn events_of_a_window_that_move_together_are_not_many() {
    // Ten events a window that are one: as wide as of one event each.
    let mut random = Random::new(9);
    let levels: Vec<f64> = (0..16).map(|_| normal(&mut random)).collect();
    let of = |events: usize| {
        let clusters = levels.iter().map(|l| vec![*l; events]);
        Matched::new(clusters, 0.0).interval(0.05).unwrap()
    };
    let (one, ten) = (of(1), of(10));
    assert!((one.half() - ten.half()).abs() < 1e-6, "{one:?}, {ten:?}");
}

#[test]
fn too_few_coins_tell_nothing() {
    let same = |pairs: usize| Matched::new(vec![vec![1.0, 1.1]; pairs], 0.0);
    // Of six coins all on one side come in 2 of 64 throws.
    assert!(same(6).interval(0.05).is_some());
    assert_eq!(same(6).interval(0.01), None);
    assert_eq!(same(3).interval(0.05), None);
    assert_eq!(Matched::new(Vec::new(), 0.0).estimate(), None);
    let one = Matched::new([vec![], vec![4.0]], 0.0);
    assert_eq!((one.known(), one.cluster(1)), (1, &[4.0][..]));
    assert!((one.estimate().unwrap() - 4.0).abs() < 1e-6);
}

#[test]
fn all_alike_is_known_exactly() {
    let got = Matched::new(vec![vec![2.5; 3]; 12], 0.0).interval(0.05);
    let got = got.unwrap();
    assert!(
        (got.estimate - 2.5).abs() < 1e-6 && got.half() < 1e-3,
        "{got:?}"
    );
}

/// Events add 0.7 for each unit of their exposure, which differs tenfold and is larger where the noise of the event itself is; noise has no mean.
#[test]
fn what_an_event_adds_for_its_exposure_is_found() {
    let mut random = Random::new(77);
    let (mut held, mut wide) = (0, 0);
    for _ in 0..300 {
        let clusters = (0..16).map(|_| {
            let one = |random: &mut Random| {
                let own = 0.3 * pareto(random, 0.9);
                let exposure = 0.5 + 4.5 * random.unit() + own.min(5.0);
                (0.7 * exposure + own - 0.3 * pareto(random, 0.9), exposure)
            };
            (0..6).map(|_| one(&mut random)).collect::<Vec<_>>()
        });
        let interval = Matched::exposed(clusters.collect::<Vec<_>>(), 0.0)
            .interval(0.05)
            .unwrap();
        held += u32::from(interval.contains(0.7));
        wide += u32::from(interval.half() > 0.2);
    }
    // Of 300: three standard deviations less than 95 % are 274.
    assert!(held >= 274, "{held} of 300 hold it");
    assert!(wide <= 15, "{wide} of 300 are wide");
}

/// With one exposure for all, it is the difference in other units.
#[test]
fn an_exposure_that_all_have_is_a_unit() {
    let mut random = Random::new(5);
    let values: Vec<Vec<f64>> = (0..12)
        .map(|_| (0..5).map(|_| 2.0 + normal(&mut random)).collect())
        .collect();
    let four = |cluster: &Vec<f64>| cluster.iter().map(|v| (*v, 4.0)).collect::<Vec<_>>();
    let plain = Matched::new(values.clone(), 0.0).interval(0.05).unwrap();
    let exposed = Matched::exposed(values.iter().map(four), 0.0)
        .interval(0.05)
        .unwrap();
    for (a, b) in [
        (plain.estimate, exposed.estimate),
        (plain.low, exposed.low),
        (plain.high, exposed.high),
    ] {
        assert!((a - b * 4.0).abs() < 1e-3, "{plain:?} {exposed:?}");
    }
}
