import assert from 'node:assert/strict';
import test from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { hugePageCapacity } from './huge-pages.ts';

test('hugePageCapacity() is the kernel’s pools by resource name', async () => {
  const { fs } = createMemoryHost();
  const folder = '/sys/kernel/mm/hugepages';
  for (const [size, count] of [
    ['1048576kB', '0\n'],
    ['2048kB', '3\n'],
  ]) {
    await fs.makeDirectory(`${folder}/hugepages-${size}`);
    await fs.writeFile(`${folder}/hugepages-${size}/nr_hugepages`, count ?? '');
  }
  assert.deepEqual(await hugePageCapacity(fs), { 'hugepages-1Gi': '0', 'hugepages-2Mi': '6291456' });
});

test('hugePageCapacity() is empty without huge pages', async () => {
  assert.deepEqual(await hugePageCapacity(createMemoryHost().fs), {});
});
