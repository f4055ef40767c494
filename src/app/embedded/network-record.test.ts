import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeNetworkRecord, type NetworkRecord, nextNetworkRecord } from './network-record.ts';

const PREVIOUS: NetworkRecord = {
  bootId: 'boot-1',
  stateDir: '/run/a',
  ownsHostPortChains: false,
  podCidrs: ['10.88.0.0/16', '10.9.0.0/16'],
};
const START = { bootId: 'boot-1', stateDir: '/run/a', podCidr: '10.1.0.0/16', hostPortChainsExist: false };
const NEW: NetworkRecord = {
  bootId: 'boot-1',
  stateDir: '/run/a',
  ownsHostPortChains: true,
  podCidrs: ['10.1.0.0/16'],
};

const cases: Record<string, { text: string | undefined; record: NetworkRecord; chains?: boolean }> = {
  'without a previous one is new': { text: undefined, record: NEW },
  'without a previous one does not own existing chains': {
    text: undefined,
    chains: true,
    record: { ...NEW, ownsHostPortChains: false },
  },
  'keeps the ranges of the same state folder': {
    text: JSON.stringify(PREVIOUS),
    record: { ...PREVIOUS, podCidrs: ['10.88.0.0/16', '10.9.0.0/16', '10.1.0.0/16'] },
  },
  'drops the ranges of another state folder and keeps the chains': {
    text: JSON.stringify({ ...PREVIOUS, stateDir: '/run/b', ownsHostPortChains: true }),
    chains: true,
    record: NEW,
  },
  'of a previous boot is replaced': { text: JSON.stringify({ ...PREVIOUS, bootId: 'boot-0' }), record: NEW },
  'that is truncated is replaced': { text: '{"bootId":"boo', record: NEW },
  'that is not an object is replaced': { text: 'null', record: NEW },
};
for (const [what, { text, record, chains = false }] of Object.entries(cases)) {
  test(`a network record ${what}`, () => {
    const previous = text === undefined ? undefined : decodeNetworkRecord(text);
    assert.deepEqual(nextNetworkRecord(previous, { ...START, hostPortChainsExist: chains }), record);
  });
}
