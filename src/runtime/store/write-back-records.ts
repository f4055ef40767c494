import type { Clock } from '../../host/clock.ts';
import type { RecordStore } from './record-store.ts';

const INTERVAL_MS = 10_000;

type AnyStore = Pick<RecordStore<{ readonly id: string }>, 'writeBack'>;

/** Periodically writes records to the disk that had no space there. */
export function writeBackRecords(clock: Clock, stores: readonly AnyStore[]) {
  return {
    async run(signal: AbortSignal): Promise<void> {
      for (;;) {
        await Promise.all(stores.map((store) => store.writeBack()));
        await clock.sleep(INTERVAL_MS, signal);
      }
    },
  };
}
