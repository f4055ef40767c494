import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseReservedMemory, parseTaints } from './node-flag-values.ts';

const taintErrors: Record<string, string> = {
  'a=b': 'invalid taint spec: a=b, name part must consist of alphanumeric',
  a: 'invalid taint spec: a',
  'a=b:Never': 'invalid taint effect: Never, unsupported taint effect',
  'a=b=c:NoSchedule': 'invalid taint spec: a=b=c:NoSchedule',
  'a:b:c': 'invalid taint spec: a:b:c',
  'a:NoSchedule,a=x:NoSchedule': 'duplicated taints with the same key and effect: {a x NoSchedule <nil>}',
};

for (const [text, message] of Object.entries(taintErrors)) {
  test(`parseTaints() refuses "${text}"`, () => {
    assert.throws(
      () => parseTaints(text),
      (error) => error instanceof Error && error.message.startsWith(message),
    );
  });
}

test('parseTaints() leaves out what is to be removed', () => {
  assert.deepEqual(parseTaints('a:NoSchedule-,b=:NoExecute'), [{ key: 'b', value: '', effect: 'NoExecute' }]);
});

const memoryErrors: Record<string, string> = {
  memory: 'the reserved memory has incorrect format, expected numaNodeID:type=quantity[,type=quantity...], got memory',
  'x:memory=1Gi': 'failed to convert the NUMA node ID, expected integer, got x',
  '0:memory': 'the reserved limit has incorrect value, expected type=quantity, got memory',
  '0:cpu=1': 'memory type conversion error, unknown type: "cpu"',
  '0:memory=much': 'failed to parse the quantity: much',
};

for (const [text, message] of Object.entries(memoryErrors)) {
  test(`parseReservedMemory() refuses "${text}"`, () => {
    assert.throws(() => parseReservedMemory(text), { message });
  });
}
