/** NRI over real sockets: a plugin that connects, and one that is started as a program. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { createNri } from '../../src/runtime/nri/create-nri.ts';
import { MemoryPlugin } from '../../src/runtime/nri/fake/memory-plugin.ts';
import { sampleContainer, sampleSandbox, sampleSpec } from '../../src/runtime/nri/fake/sample-records.ts';
import { ContainerAdjustment } from '../../src/runtime/nri/generated/nri-v1alpha1.ts';
import { temporaryFolder } from '../contract/host/temporary-folder.ts';

const never = new AbortController().signal;

test('NRI: a program of the plugin directory and a plugin that connects adjust a container in order', async (t) => {
  const root = await temporaryFolder(t);
  const program = join(import.meta.dirname, 'nri-plugin-program.ts');
  await mkdir(`${root}/plugins`);
  await mkdir(`${root}/conf`);
  await writeFile(`${root}/plugins/10-program`, `#!/bin/sh\nexec ${process.execPath} ${program}\n`, { mode: 0o755 });
  await writeFile(`${root}/conf/program.conf`, 'as configured');
  const host = createLinuxHost(process.env);
  const end = new AbortController();
  const socketPath = `${root}/nri/nri.sock`;
  const nri = createNri({
    settings: {
      socketPath,
      pluginDir: `${root}/plugins`,
      pluginConfigDir: `${root}/conf`,
      registrationTimeoutMs: 60_000,
      requestTimeoutMs: 60_000,
    },
    runtime: { sandboxes: () => [], containers: () => [], update: async () => {}, evict: async () => {} },
    identity: { name: 'nodelet', version: '1.0' },
    ...host,
    log: silentLog,
  });
  const running = nri.run(end.signal);
  t.after(async () => {
    end.abort();
    await running;
  });
  const pod = sampleSandbox();
  await nri.runPodSandbox(pod, never); // waits for the socket and the program

  const synchronized = Promise.withResolvers<void>();
  const plugin = new MemoryPlugin(await host.network.connectStream({ socketPath }, never), {
    synchronize: () => {
      synchronized.resolve();
      return {};
    },
    createContainer: ({ container }) => ({
      adjust: ContainerAdjustment.fromPartial({ args: ['', ...(container?.env ?? [])] }),
    }),
  });
  await plugin.register('connected', '20');
  await synchronized.promise;
  const { spec } = await nri.createContainer(pod, sampleContainer({ state: { phase: 'creating' } }), sampleSpec, never);
  const env = [...sampleSpec.process.env, 'ADDED_BY=10-program as configured'];
  assert.deepEqual([spec.process.env, spec.process.args], [env, env]);

  end.abort();
  await running;
  await plugin.closed;
  assert.deepEqual(plugin.calls.at(-1), 'shutdown');
});
