import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { sampleSpec } from './fake/sample-records.ts';
import { createCdiInjector } from './inject-cdi-devices.ts';

const never = new AbortController().signal;

test('createCdiInjector() applies the edits of the named devices to a specification', async () => {
  const { fs } = createMemoryHost();
  await fs.makeDirectory('/etc/cdi');
  const device = { name: 'one', containerEdits: { env: ['ONE=1'] } };
  const cdi = { cdiVersion: '0.6.0', kind: 'vendor.com/thing', devices: [device] };
  await fs.writeFile('/etc/cdi/vendor.json', JSON.stringify(cdi));
  const inject = createCdiInjector(['/etc/cdi'], fs);
  const { process } = await inject(sampleSpec, ['vendor.com/thing=one'], never);
  assert.deepEqual(process.env, [...sampleSpec.process.env, 'ONE=1']);
  await assert.rejects(inject(sampleSpec, ['vendor.com/thing=two'], never), { name: 'CriError' });
});
