import { dirname } from 'node:path';
import { silentLog } from '../../src/base/log.ts';
import { createMemoryHost, type MemoryHost } from '../../src/host/fake/memory-host.ts';
import { decodeContainerRecord } from '../../src/runtime/container/decode-container-record.ts';
import { IMAGE, MACHINE, plainSpec, stateOutput } from '../../src/runtime/container/fake/container-world.ts';
import { MemorySnapshots } from '../../src/runtime/container/fake/memory-snapshots.ts';
import { createPodNetwork } from '../../src/runtime/network/create-pod-network.ts';
import { noNri } from '../../src/runtime/nri/nri.ts';
import { MemoryOciRuntime } from '../../src/runtime/oci/fake/memory-oci-runtime.ts';
import { decodeSandboxRecord } from '../../src/runtime/sandbox/decode-sandbox-record.ts';
import { type Containers, createContainers } from '../../src/runtime/server/create-containers.ts';
import { createSandboxes, type Sandboxes } from '../../src/runtime/server/create-sandboxes.ts';
import { runtimePaths } from '../../src/runtime/settings/runtime-paths.ts';
import { DEFAULT_HANDLER } from '../../src/runtime/settings/runtime-settings.ts';
import { openRecordStore } from '../../src/runtime/store/open-record-store.ts';
import { ProcessKiller } from './process-killer.ts';

export const paths = runtimePaths({ rootDir: '/lib', stateDir: '/run' });
const PLUGIN = '/opt/cni/bin/bridge';
const signal = new AbortController().signal;

/** What outlives the runtime. */
export interface Machine {
  readonly host: MemoryHost;
  readonly oci: MemoryOciRuntime;
  readonly snapshots: MemorySnapshots;
  /** Sandboxes that have an address. */
  readonly leases: Set<string>;
}

export async function createMachine(): Promise<Machine> {
  const host = createMemoryHost();
  const leases = new Set<string>();
  await host.fs.makeDirectory('/etc/cni/net.d');
  await host.fs.writeFile('/etc/hosts', '127.0.0.1 localhost\n');
  const network = { cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'bridge' }] };
  await host.fs.writeFile('/etc/cni/net.d/10-pods.conflist', JSON.stringify(network));
  host.processes.install(PLUGIN, async ({ env, stdout }) => {
    const { CNI_COMMAND: command, CNI_CONTAINERID: id = '' } = env;
    if (command === 'ADD') {
      leases.add(id);
      stdout('{"interfaces":[{"name":"eth0","sandbox":"/ns"}],"ips":[{"address":"10.0.0.2/24","interface":0}]}');
    } else if (command === 'DEL') leases.delete(id);
    return 0;
  });
  return { host, oci: new MemoryOciRuntime(host), snapshots: new MemorySnapshots(host), leases };
}

/** One process of the runtime on the machine; it ends only when it is killed. */
export interface RuntimeProcess {
  readonly killer: ProcessKiller;
  readonly sandboxes: Sandboxes;
  readonly containers: Containers;
}

/** Returns `undefined` if it was killed during start-up. */
export async function startRuntime(
  machine: Machine,
  killer = new ProcessKiller(),
): Promise<RuntimeProcess | undefined> {
  return Promise.race([open(machine, killer), killer.died.then(() => undefined)]);
}

async function open(
  { host, oci: shared, snapshots, leases: _ }: Machine,
  killer: ProcessKiller,
): Promise<RuntimeProcess> {
  const [fs, oci] = [killer.guard(host.fs), killer.guard(shared)];
  const ports = {
    ...host,
    fs,
    mounts: killer.guard(host.mounts),
    namespaces: killer.guard(host.namespaces),
    processes: killer.guard(host.processes),
  };
  const settings = {
    confDir: '/etc/cni/net.d',
    binDirs: ['/opt/cni/bin'],
    maxConfigs: 1,
    setUpSerially: false,
    ipPreference: 'ipv4' as const,
    handlers: new Map(),
  };
  const network = createPodNetwork({ ...ports, settings, cacheDir: paths.cniCache, log: silentLog });
  const features = { recursiveReadOnlyMounts: true, userNamespaces: true, idmappedMounts: true };
  const common = {
    ...ports,
    log: silentLog,
    paths,
    runtimes: { at: () => oci, handler: () => oci, handlers: [{ name: '', ...features, settings: DEFAULT_HANDLER }] },
    nri: noNri,
    events: { publish() {} },
    bootId: 'boot-1',
  };
  const sandboxes = createSandboxes({
    ...common,
    network,
    records: await openRecordStore({
      folder: paths.sandboxRecords,
      overflowFolder: paths.sandboxOverflow,
      fs,
      log: silentLog,
      decode: decodeSandboxRecord,
    }),
    containers: {
      stopAll: (id, until) => containers.ofSandbox.stopAll(id, until),
      removeAll: (id, until) => containers.ofSandbox.removeAll(id, until),
      statuses: (id) => containers.ofSandbox.statuses(id),
    },
    preparePause: ({ bundle }) => fs.makeDirectory(`${bundle}/rootfs`),
  });
  const containers = createContainers({
    ...common,
    machine: MACHINE,
    records: await openRecordStore({
      folder: paths.containerRecords,
      overflowFolder: paths.containerOverflow,
      fs,
      log: silentLog,
      decode: decodeContainerRecord,
    }),
    sandboxes: sandboxes.view,
    images: { find: () => IMAGE, list: () => [IMAGE] },
    snapshots: killer.guard(snapshots),
    buildSpec: async (request) => plainSpec(request),
    ociCommand: async (_runtime, [, id = '']) => stateOutput(shared.containers.get(id)),
  });
  await sandboxes.recover(signal);
  await containers.recover(signal);
  void sandboxes.run(signal);
  void sandboxes.runCleanups(signal);
  void containers.run(signal);
  return { killer, sandboxes, containers };
}

/** Lists everything on the machine that belongs to pods, one line each. */
export async function listTraces({ host, oci, snapshots, leases }: Machine): Promise<string[]> {
  const below = async (folder: string): Promise<string[]> =>
    (await host.fs.stat(folder)) ? (await host.fs.readDirectory(folder)).map(({ name }) => `${folder}/${name}`) : [];
  const folders = [
    paths.sandboxRecords,
    paths.containerRecords,
    paths.cniCache,
    '/run/sandboxes',
    dirname(paths.sandboxFiles('id')),
    '/run/containers',
  ];
  return [
    ...(await host.mounts.list()).map(({ target }) => `mount ${target}`),
    ...[...snapshots.mounted].map((target) => `mount ${target}`),
    ...[...snapshots.layers].map((id) => `layer of ${id}`),
    ...[...leases].map((id) => `address of ${id}`),
    ...[...oci.containers.keys()].map((id) => `process of ${id}`),
    ...(await Promise.all(folders.map(below))).flat(),
  ];
}
