import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NatBackend } from '../../runtime/network/default-bridge.ts';
import { decodeNetworkRecord, type NetworkRecord, type NetworkStart, nextNetworkRecord } from './network-record.ts';

const PREVIOUS: NetworkRecord = {
  bootId: 'boot-1',
  stateDir: '/run/a',
  ownsHostPortChains: false,
  podCidrs: ['10.88.0.0/16', '10.9.0.0/16'],
  backends: ['iptables'],
};
const START = {
  ...{ bootId: 'boot-1', stateDir: '/run/a', podCidr: '10.1.0.0/16', hostPortChainsExist: false },
  backend: 'iptables',
} as const;
const NEW: NetworkRecord = {
  bootId: 'boot-1',
  stateDir: '/run/a',
  ownsHostPortChains: true,
  podCidrs: ['10.1.0.0/16'],
  backends: ['iptables'],
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

const { backends: _, ...OF_AN_EARLIER_VERSION } = PREVIOUS;
const backends: Record<string, { previous: object; backend: NetworkStart['backend']; used: readonly NatBackend[] }> = {
  'are those of both processes': { previous: PREVIOUS, backend: 'nftables', used: ['iptables', 'nftables'] },
  'are kept without a program for NAT': { previous: PREVIOUS, backend: 'none', used: ['iptables'] },
  'of an earlier version are iptables': { previous: OF_AN_EARLIER_VERSION, backend: 'none', used: ['iptables'] },
  'of a previous boot are gone': { previous: { ...PREVIOUS, bootId: 'boot-0' }, backend: 'none', used: [] },
  'that are unknown are dropped': { previous: { ...PREVIOUS, backends: ['pf'] }, backend: 'none', used: [] },
};
for (const [what, { previous, backend, used }] of Object.entries(backends)) {
  test(`the backends of a network record ${what}`, () => {
    const decoded = decodeNetworkRecord(JSON.stringify(previous));
    assert.deepEqual(nextNetworkRecord(decoded, { ...START, backend }).backends, used);
  });
}
