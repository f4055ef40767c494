import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeMemory, encodeMemory, type MemoryCheckpoint } from './memory-checkpoint.ts';

/** Written by kubelet v1.36.4. */
const NONE = '{"policyName":"None","machineState":{},"checksum":4236770233}';
const TABLE = { total: 0, systemReserved: 0, allocatable: 0, reserved: 0, free: 0 };

const STATIC: MemoryCheckpoint = {
  policyName: 'Static',
  machine: new Map([
    [2, { numberOfAssignments: 0, memoryMap: new Map(), cells: [2] }],
    [
      10,
      {
        numberOfAssignments: 2,
        memoryMap: new Map([
          ['memory', { ...TABLE, total: 1, systemReserved: 2 }],
          ['hugepages-2Mi', { ...TABLE, free: 7 }],
        ]),
        cells: [0, 10],
      },
    ],
  ]),
  assignments: new Map([
    ['b', new Map([['c', [{ numaAffinity: [0, 1], type: 'memory', size: 5 }]]])],
    ['a', new Map([['c', []]])],
  ]),
};

test('encodeMemory() sorts keys as Go does', () => {
  const text = encodeMemory(STATIC);
  assert.match(text, /^\{"policyName":"Static","machineState":\{"10":\{.*"hugepages-2Mi".*"memory".*\},"2":/);
  assert.match(
    text,
    /"entries":\{"a":\{"c":\[\]\},"b":\{"c":\[\{"numaAffinity":\[0,1\],"type":"memory","size":5\}\]\}\}/,
  );
  assert.equal(encodeMemory(decodeMemory(text)), text);
});

test('encodeMemory() writes the file of a kubelet without assignments', () => {
  assert.equal(encodeMemory({ policyName: 'None', machine: new Map(), assignments: new Map() }), NONE);
  assert.equal(encodeMemory(decodeMemory(NONE)), NONE);
});

test('decodeMemory() accepts a file without a checksum', () => {
  assert.equal(decodeMemory('{"policyName":"None","machineState":{}}').policyName, 'None');
});

const wrong: Record<string, { text: string; message: string | RegExp }> = {
  'an empty file': { text: '', message: 'unexpected end of JSON input' },
  'a truncated file': { text: NONE.slice(0, 30), message: 'unexpected end of JSON input' },
  'a file that ends within a text': { text: NONE.slice(0, 5), message: 'unexpected end of JSON input' },
  'a changed file': { text: NONE.replace('None', 'Static'), message: 'checkpoint is corrupted' },
  'a file of another kind': { text: '# state', message: "invalid character '#' looking for beginning of value" },
  'a list': { text: '[]', message: 'checkpoint: expected object' },
  'blocks that are none': { text: '{"entries":{"a":{"c":7}}}', message: 'entries[a][c]: expected array' },
  'a size that is no number': {
    text: '{"entries":{"a":{"c":[{"numaAffinity":[0],"type":"memory","size":"5"}]}}}',
    message: 'entries[a][c].size: expected integer',
  },
};

for (const [name, { text, message }] of Object.entries(wrong)) {
  test(`decodeMemory() rejects ${name}`, () => {
    assert.throws(() => decodeMemory(text), { message });
  });
}
