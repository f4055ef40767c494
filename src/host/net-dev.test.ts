import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNetDev } from './net-dev.ts';

test('parseNetDev() reads every interface', () => {
  const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     100       1    0    0    0     0          0         0      100       1    0    0    0     0       0          0
  eth0:18446744073709551615 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
`;
  assert.deepEqual(parseNetDev(text), [
    {
      name: 'lo',
      received: { bytes: 100n, packets: 1n, errors: 0n, dropped: 0n },
      sent: { bytes: 100n, packets: 1n, errors: 0n, dropped: 0n },
    },
    {
      name: 'eth0',
      received: { bytes: 18446744073709551615n, packets: 2n, errors: 3n, dropped: 4n },
      sent: { bytes: 9n, packets: 10n, errors: 11n, dropped: 12n },
    },
  ]);
});
