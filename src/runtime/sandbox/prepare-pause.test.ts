import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { MACHINE } from '../container/fake/container-world.ts';
import { type NAMESPACES, podWith } from './fake/sandbox-world.ts';
import { pauseRole, planSandbox } from './plan-sandbox.ts';
import { preparePause } from './prepare-pause.ts';

/** The namespaces that the OCI runtime joins (`path`) or creates (`new`), and the owner of the root directory. */
const cases: Partial<Record<keyof typeof NAMESPACES, { namespaces: Record<string, string>; owner: number }>> = {
  sharedProcesses: {
    namespaces: { mount: 'new', network: '/s/ns/net', ipc: '/s/ns/ipc', uts: '/s/ns/uts', pid: 'new' },
    owner: 0,
  },
  ownUsers: {
    namespaces: { mount: 'new', network: 'new', ipc: 'new', uts: 'new', pid: 'new', user: 'new' },
    owner: 65536,
  },
};
for (const [name, expected] of Object.entries(cases) as [keyof typeof NAMESPACES, (typeof cases)['ownUsers']][]) {
  test(`preparePause() writes a bundle that joins or creates the namespaces of ${name}`, async () => {
    const { fs } = createMemoryHost();
    const config = podWith(name);
    const { namespaces } = planSandbox('s', config, { sandbox: () => '/s' });
    const role = pauseRole(namespaces);
    assert.notEqual(role, 'none');
    const record = {
      id: 's',
      config,
      runtimeHandler: '',
      createdAtNs: 0n,
      state: { phase: 'creating' },
      namespaces,
      pause: true,
      ips: [],
      networkResults: {},
    } as const;
    const prepare = preparePause({
      fs,
      machine: MACHINE,
      pauseProgram: '/bin/pause',
      runtimes: { handlers: [] },
      seccomp: async () => undefined,
    });
    await prepare({ record, role: role === 'creates' ? role : 'joins', bundle: '/b' }, new AbortController().signal);
    const spec: { linux: { namespaces: { type: string; path?: string }[] } } = JSON.parse(
      await fs.readText('/b/config.json'),
    );
    const joined = spec.linux.namespaces.map(({ type, path }) => [type, path ?? 'new']);
    const { uid, mode } = (await fs.stat('/b/rootfs')) ?? assert.fail();
    assert.deepEqual({ namespaces: Object.fromEntries(joined), owner: uid }, expected);
    assert.deepEqual([mode, (await fs.stat('/b'))?.mode], [0o755, 0o711]);
  });
}
