import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeNetworkRecord, type NetworkRecord, nextNetworkRecord } from './network-record.ts';

const EARLIER: NetworkRecord = {
  bootId: 'boot-1',
  stateDir: '/run/a',
  ownsHostPortChains: false,
  podCidrs: ['10.88.0.0/16', '10.9.0.0/16'],
};
const START = { bootId: 'boot-1', stateDir: '/run/a', podCidr: '10.1.0.0/16', hostPortChainsExist: false };
const FRESH: NetworkRecord = {
  bootId: 'boot-1',
  stateDir: '/run/a',
  ownsHostPortChains: true,
  podCidrs: ['10.1.0.0/16'],
};

const cases: Record<string, { text: string | undefined; record: NetworkRecord; chains?: boolean }> = {
  'of none is fresh': { text: undefined, record: FRESH },
  'of none owns no chains that are there already': {
    text: undefined,
    chains: true,
    record: { ...FRESH, ownsHostPortChains: false },
  },
  'keeps the ranges of the same state folder': {
    text: JSON.stringify(EARLIER),
    record: { ...EARLIER, podCidrs: ['10.88.0.0/16', '10.9.0.0/16', '10.1.0.0/16'] },
  },
  'drops the ranges of another state folder, and keeps the chains': {
    text: JSON.stringify({ ...EARLIER, stateDir: '/run/b', ownsHostPortChains: true }),
    chains: true,
    record: FRESH,
  },
  'of an earlier boot is fresh': { text: JSON.stringify({ ...EARLIER, bootId: 'boot-0' }), record: FRESH },
  'cut short is fresh': { text: '{"bootId":"boo', record: FRESH },
  'that is not even an object is fresh': { text: 'null', record: FRESH },
};
for (const [what, { text, record, chains = false }] of Object.entries(cases)) {
  test(`a network record ${what}`, () => {
    const earlier = text === undefined ? undefined : decodeNetworkRecord(text);
    assert.deepEqual(nextNetworkRecord(earlier, { ...START, hostPortChainsExist: chains }), record);
  });
}
