import type { TestContext } from 'node:test';
import type { LogFields } from '../../../base/log.ts';
import { createMemoryHost } from '../../../host/fake/memory-host.ts';
import type { ContainerRecord } from '../../store/container-record.ts';
import type { SandboxRecord } from '../../store/sandbox-record.ts';
import { createNri, type NriDeps } from '../create-nri.ts';
import type { NriUpdate } from '../nri.ts';
import type { PluginMethod } from '../plugin-calls.ts';
import { MemoryPlugin, type PluginBehaviour } from './memory-plugin.ts';

const SOCKET = '/run/nri/nri.sock';

/** NRI on an in-memory machine, with a runtime that records its calls. */
export async function startNri(
  t: TestContext,
  change: Partial<NriDeps> = {},
  prepare?: (world: World) => Promise<void>,
) {
  const host = createMemoryHost();
  const sandboxes: SandboxRecord[] = [];
  const containers: ContainerRecord[] = [];
  const runtimeCalls: string[] = [];
  const logged: string[] = [];
  const note = (message: string, fields: LogFields = {}): void => {
    logged.push(`${message} ${String(fields['plugin'] ?? fields['program'] ?? fields['container'] ?? '')}`.trim());
  };
  const end = new AbortController();
  const world = { host, sandboxes, containers, runtimeCalls, logged, end };
  await prepare?.(world);
  const nri = createNri({
    settings: {
      socketPath: SOCKET,
      pluginDir: '/opt/nri/plugins',
      pluginConfigDir: '/etc/nri/conf.d',
      registrationTimeoutMs: 5000,
      requestTimeoutMs: 2000,
    },
    runtime: {
      sandboxes: () => sandboxes,
      containers: () => containers,
      update: async (update: NriUpdate) => {
        runtimeCalls.push(`update ${update.containerId} ${JSON.stringify(update.resources)}`);
        if (update.containerId === 'broken') throw new Error('no such container');
      },
      evict: async (id, reason) => {
        runtimeCalls.push(`evict ${id} ${reason}`);
      },
    },
    identity: { name: 'nodelet', version: '1.0' },
    ...host,
    log: { debug: note, info: note, warn: note, error: note },
    ...change,
  });
  const running = nri.run(end.signal);
  running.catch(() => {});
  t.after(async () => {
    end.abort();
    await host.clock.advance(2000);
    await Promise.allSettled([running]); // a test that expects a failure asserts it itself
  });
  await host.clock.advance(0);

  /** Connects without registering. */
  const connect = async (behaviour: PluginBehaviour = {}, missing: readonly PluginMethod[] = []) => {
    const stream = await host.network.connectStream({ socketPath: SOCKET }, end.signal);
    return new MemoryPlugin(stream, behaviour, missing);
  };
  /** Connects, registers, and waits for configuration and synchronization. */
  const join = async (name: string, behaviour: PluginBehaviour = {}, missing: readonly PluginMethod[] = []) => {
    const plugin = await connect(behaviour, missing);
    await plugin.register(name.slice(3), name.slice(0, 2));
    await host.clock.advance(0);
    plugin.calls.length = 0;
    return plugin;
  };
  return { ...world, nri, running, connect, join };
}

interface World {
  readonly host: ReturnType<typeof createMemoryHost>;
  readonly sandboxes: SandboxRecord[];
  readonly containers: ContainerRecord[];
  readonly runtimeCalls: string[];
  readonly logged: string[];
  readonly end: AbortController;
}
