/** Preloaded into `nodelet`: SIGUSR2 throws in a callback and leaves a rejection unhandled; SIGUSR1 breaks an invariant. */
import process from 'node:process';
import { InvariantError } from '../../src/base/invariant-error.ts';

process.on('SIGUSR2', () => {
  void Promise.reject(new Error('rejected on a signal'));
  throw new Error('thrown on a signal');
});

process.on('SIGUSR1', () => {
  throw new InvariantError('broken on a signal');
});
