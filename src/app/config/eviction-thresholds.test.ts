import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseQuantity } from '../../base/quantity.ts';
import { parseEvictionThresholds } from './eviction-thresholds.ts';

type Fields = Parameters<typeof parseEvictionThresholds>[0];
type Parsed = ReturnType<typeof parseEvictionThresholds>;

const quantity = (text: string) => ({ quantity: parseQuantity(text) });

const cases: Record<string, { fields: Fields } & Partial<Parsed>> = {
  'reads amounts and shares': {
    fields: { evictionHard: { 'memory.available': '100Mi', 'nodefs.inodesFree': '5%' } },
    thresholds: [
      { signal: 'memory.available', value: quantity('100Mi'), gracePeriodMs: 0 },
      { signal: 'nodefs.inodesFree', value: { fraction: 0.05 }, gracePeriodMs: 0 },
    ],
  },
  'takes 0% and 100% for off': {
    fields: { evictionHard: { 'memory.available': '0%', 'nodefs.available': '100%' } },
  },
  'puts soft thresholds behind hard ones, each with its grace': {
    fields: {
      evictionHard: { 'memory.available': '100Mi' },
      evictionSoft: { 'memory.available': '200Mi' },
      evictionSoftGracePeriod: { 'memory.available': '1m30s' },
      evictionMinimumReclaim: { 'memory.available': '10%' },
    },
    thresholds: [
      {
        signal: 'memory.available',
        value: quantity('100Mi'),
        gracePeriodMs: 0,
        minimumReclaim: { fraction: 0.1 },
      },
      {
        signal: 'memory.available',
        value: quantity('200Mi'),
        gracePeriodMs: 90_000,
        minimumReclaim: { fraction: 0.1 },
      },
    ],
  },
  'wants a grace for each soft threshold': {
    fields: { evictionHard: {}, evictionSoft: { 'memory.available': '200Mi' } },
    messages: ['grace period must be specified for the soft eviction threshold memory.available'],
  },
  'knows its signals': {
    fields: {
      evictionHard: { 'memory.free': '1Gi' },
      evictionSoftGracePeriod: { x: '1s' },
      evictionMinimumReclaim: { y: '1' },
    },
    messages: [
      'unsupported eviction signal memory.free',
      'unsupported eviction signal x',
      'unsupported eviction signal y',
    ],
  },
  'refuses what leaves nothing, or more than there is': {
    fields: {
      evictionHard: {
        'memory.available': '0',
        'nodefs.available': '-1%',
        'imagefs.available': '101%',
        'pid.available': 'x%',
      },
    },
    messages: [
      'eviction threshold memory.available must be positive: 0',
      'eviction percentage threshold nodefs.available must be >= 0%: -1%',
      'eviction percentage threshold imagefs.available must be <= 100%: 101%',
      'strconv.ParseFloat: parsing "x": invalid syntax',
    ],
  },
  'refuses graces and reclaims that are none': {
    fields: {
      evictionHard: {},
      evictionSoft: { 'memory.available': '1Gi' },
      evictionSoftGracePeriod: { 'memory.available': '-1s', 'nodefs.available': 'soon' },
      evictionMinimumReclaim: { 'memory.available': '-1', 'nodefs.available': '0%' },
    },
    messages: [
      'invalid eviction grace period specified: -1s, must be a positive value',
      'time: invalid duration "soon"',
      'negative eviction minimum reclaim specified for memory.available',
      'eviction percentage minimum reclaim nodefs.available must be positive: 0%',
    ],
  },
};

for (const [name, { fields, thresholds = [], messages = [] }] of Object.entries(cases)) {
  test(`parseEvictionThresholds() ${name}`, () => {
    assert.deepEqual(parseEvictionThresholds(fields), { thresholds, messages });
  });
}
