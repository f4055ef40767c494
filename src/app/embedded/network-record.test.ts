import assert from 'node:assert/strict';
import { test } from 'node:test';
import { earlierRecord, type NetworkRecord } from './network-record.ts';

const texts: Record<string, { text: string; record: NetworkRecord }> = {
  'as it was written': {
    text: '{"ownsHostPortChains":true,"podCidrs":["10.88.0.0/16","10.9.0.0/16"]}',
    record: { ownsHostPortChains: true, podCidrs: ['10.88.0.0/16', '10.9.0.0/16'] },
  },
  'of a version that did not write ranges': {
    text: '{"ownsHostPortChains":true}',
    record: { ownsHostPortChains: true, podCidrs: [] },
  },
  'cut short': { text: '{"ownsHost', record: { ownsHostPortChains: false, podCidrs: [] } },
  'not even an object': { text: 'null', record: { ownsHostPortChains: false, podCidrs: [] } },
};
for (const [what, { text, record }] of Object.entries(texts)) {
  test(`a network record ${what} is read`, () => {
    assert.deepEqual(earlierRecord(text), record);
  });
}
