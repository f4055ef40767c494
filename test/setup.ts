/**
 * Loaded before every test file. Properties are checked with the same values each time, so that a green run stays
 * green; `NODELET_SEED=7 make unit` looks elsewhere.
 */
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env['NODELET_SEED'] ?? 1) });
