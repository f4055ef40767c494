/**
 * Loaded before every test file. Property tests use the same values in each run, so that results are reproducible;
 * `NODELET_SEED=7 make unit` uses others.
 */
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env['NODELET_SEED'] ?? 1) });
