import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { BUSYBOX_IMAGE, busyboxArchive } from '../../src/app/images/local-images.ts';
import { silentLog } from '../../src/base/log.ts';
import { ContainerConfig, NamespaceMode } from '../../src/cri/generated/runtime-v1.ts';
import { decodeContainerRecord } from '../../src/runtime/container/decode-container-record.ts';
import { sandboxRecord } from '../../src/runtime/container/fake/container-world.ts';
import { noNri } from '../../src/runtime/nri/nri.ts';
import { createOciRuntime } from '../../src/runtime/oci/create-oci-runtime.ts';
import { runRuntime } from '../../src/runtime/oci/oci-deps.ts';
import { openStorage, type Storage } from '../../src/runtime/open-storage.ts';
import { type Containers, createContainers } from '../../src/runtime/server/create-containers.ts';
import { runtimePaths } from '../../src/runtime/settings/runtime-paths.ts';
import { DEFAULT_HANDLER } from '../../src/runtime/settings/runtime-settings.ts';
import { noAppArmor } from '../../src/runtime/spec/load-apparmor-profile.ts';
import { readSpecMachine } from '../../src/runtime/spec/read-spec-machine.ts';
import { createSpecBuilder } from '../../src/runtime/spec/spec-builder.ts';
import type { LifecycleEvent } from '../../src/runtime/store/event-sink.ts';
import { openRecordStore } from '../../src/runtime/store/open-record-store.ts';
import type { SandboxRecord } from '../../src/runtime/store/sandbox-record.ts';
import { host, MONITOR, never } from './oci-fixture.ts';

export { never };

const ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch;

/** Containers on the real kernel in a sandbox with the machine's namespaces. `start` starts another process of the runtime. */
export class ContainerFixture {
  readonly folder = mkdtempSync(join(tmpdir(), 'containers-'));
  readonly paths = runtimePaths({ rootDir: join(this.folder, 'root'), stateDir: join(this.folder, 'state') });
  readonly published: LifecycleEvent[] = [];
  readonly cgroupParent = `/nodelet-test-${basename(this.folder)}`;
  readonly #program: string;
  readonly #pid: NamespaceMode;
  #storage: Storage | undefined;
  #process:
    | { readonly containers: Containers; readonly end: AbortController; readonly over: Promise<void> }
    | undefined;

  constructor(program: string, pid: NamespaceMode = NamespaceMode.CONTAINER) {
    this.#program = program;
    this.#pid = pid;
    for (const name of ['hosts', 'hostname', 'resolv.conf']) writeFileSync(join(this.folder, name), '');
    mkdirSync(this.paths.exits, { recursive: true });
  }

  /** As after a kill: nothing is stopped. */
  async start(): Promise<Containers> {
    await this.#endLife();
    this.#storage ??= await this.#openStorage();
    const { images, snapshots } = this.#storage;
    const sandbox = this.#sandbox();
    const oci = {
      ...host,
      ...this.paths,
      program: this.#program,
      monitorProgram: MONITOR,
      stateRoot: this.paths.ociState,
    };
    const runtime = createOciRuntime(oci);
    const features = { recursiveReadOnlyMounts: true, userNamespaces: true, idmappedMounts: true };
    const declaring = images.find(BUSYBOX_IMAGE);
    const containers = createContainers({
      ...host,
      log: silentLog,
      paths: this.paths,
      records: await openRecordStore({
        folder: this.paths.containerRecords,
        overflowFolder: this.paths.containerOverflow,
        fs: host.fs,
        log: silentLog,
        decode: decodeContainerRecord,
      }),
      sandboxes: {
        all: new Map([[sandbox.id, sandbox]]),
        find: (id) => (id === sandbox.id ? sandbox : undefined),
        filesOf: () => ({
          hosts: join(this.folder, 'hosts'),
          hostname: join(this.folder, 'hostname'),
          resolvConf: join(this.folder, 'resolv.conf'),
          shm: '/dev/shm',
        }),
      },
      runtimes: {
        at: () => runtime,
        handler: (name) => (name === '' ? runtime : undefined),
        handlers: [{ name: '', ...features, settings: DEFAULT_HANDLER }],
      },
      snapshots,
      images: {
        find: (reference) =>
          reference === 'declaring' && declaring
            ? { ...declaring, config: { ...declaring.config, volumes: ['/data'] } }
            : images.find(reference),
        list: () => images.list(),
      },
      nri: noNri,
      events: { publish: (happening) => void this.published.push(happening) },
      machine: await readSpecMachine(
        { architecture: ARCHITECTURE, mayLowerOomScore: false, cgroupDriver: 'cgroupfs' },
        host.fs,
      ),
      buildSpec: createSpecBuilder({ fs: host.fs, appArmor: noAppArmor, cdiSpecDirs: [] }),
      ociCommand: (_, args, signal) => runRuntime(oci, args, signal),
      bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    });
    await containers.recover(never);
    const end = new AbortController();
    this.#process = { containers, end, over: containers.run(end.signal) };
    return containers;
  }

  config(script: string, more: Parameters<typeof ContainerConfig.fromPartial>[0] = {}): ContainerConfig {
    return ContainerConfig.fromPartial({
      metadata: { name: 'main', attempt: 0 },
      image: { image: BUSYBOX_IMAGE },
      command: ['sh', '-c', script],
      logPath: 'main.log',
      ...more,
    });
  }

  log(): string {
    const path = join(this.folder, 'logs/main.log');
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  /** Resources of removed containers that still exist. */
  remainingResources(): readonly string[] {
    const below = (path: string): string[] => (existsSync(path) ? readdirSync(path) : []);
    const { containerRecords, ociState, exits, sockets } = this.paths;
    const folders = [containerRecords, ociState, exits, sockets, join(this.folder, 'state/containers')];
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    return [...folders.flatMap(below), ...mounts.filter((line) => line.includes(`${this.folder}/state`))];
  }

  /** A failed test leaves containers. */
  async close(): Promise<void> {
    await this.#process?.containers.ofSandbox.removeAll('pod1', never);
    await this.#endLife();
    rmSync(this.folder, { recursive: true, force: true });
    await host.cgroups.remove(this.cgroupParent);
  }

  async #endLife(): Promise<void> {
    this.#process?.end.abort();
    await this.#process?.over;
    this.#process = undefined;
  }

  async #openStorage(): Promise<Storage> {
    const parts = {
      ...host,
      log: silentLog,
      paths: this.paths,
      settings: { pinnedImages: [] },
      architecture: ARCHITECTURE,
    };
    const storage = await openStorage(parts);
    const { bytes } = await busyboxArchive(host, never);
    await storage.loader.loadArchive(bytes, {}, never);
    return storage;
  }

  #sandbox(): SandboxRecord {
    const options = { network: NamespaceMode.NODE, ipc: NamespaceMode.NODE, pid: this.#pid };
    return sandboxRecord('pod1', {
      logDirectory: join(this.folder, 'logs'),
      linux: { cgroupParent: this.cgroupParent, securityContext: { namespaceOptions: options } },
    });
  }
}
