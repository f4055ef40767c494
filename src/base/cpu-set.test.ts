import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpuSetError, parseCpuSet } from './cpu-set.ts';

const lists: Record<string, readonly number[] | string> = {
  '': [],
  '3': [3],
  '0-2,7,1': [0, 1, 2, 7],
  '5-5': [5],
  '2-1': 'invalid range "2-1" (2 > 1)',
  'a-2': 'strconv.Atoi: parsing "a": invalid syntax',
  '1,': 'strconv.Atoi: parsing "": invalid syntax',
  '0-99999999': 'strconv.Atoi: parsing "99999999": value out of range',
};

for (const [text, cpus] of Object.entries(lists)) {
  test(`parseCpuSet() reads "${text}"`, () => {
    assert.deepEqual(cpuSetError(text) ?? parseCpuSet(text), cpus);
  });
}
