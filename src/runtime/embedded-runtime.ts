import { abortable } from '../base/abortable.ts';
import type { Log } from '../base/log.ts';
import type { ProxyEnvironment } from '../base/proxy-for.ts';
import { type Part, supervise } from '../base/supervise.ts';
import type { UnhandledErrors } from '../base/unhandled-errors.ts';
import type { Cri } from '../cri/services.ts';
import type { Host } from '../host/host.ts';
import type { ContainerDeps } from './container/container-deps.ts';
import { decodeContainerRecord } from './container/decode-container-record.ts';
import type { ImagePuller } from './images/image-puller.ts';
import { createRegistryPuller } from './images/pull/registry-puller.ts';
import type { RuntimeMetrics } from './metrics/runtime-metrics.ts';
import { createPodNetwork } from './network/create-pod-network.ts';
import type { PodNetwork } from './network/pod-network.ts';
import { createNri } from './nri/create-nri.ts';
import { createCdiInjector } from './nri/inject-cdi-devices.ts';
import { type Nri, type NriRuntime, noNri } from './nri/nri.ts';
import { runRuntime } from './oci/oci-deps.ts';
import { probeRuntimes } from './oci/probe-runtimes.ts';
import { openStorage, type Storage } from './open-storage.ts';
import { decodeSandboxRecord } from './sandbox/decode-sandbox-record.ts';
import { preparePause } from './sandbox/prepare-pause.ts';
import { createContainers } from './server/create-containers.ts';
import { createSandboxes } from './server/create-sandboxes.ts';
import { EventHub } from './server/event-hub.ts';
import { createRuntimeService } from './server/runtime-service.ts';
import { type RuntimePaths, runtimePaths } from './settings/runtime-paths.ts';
import type { RuntimeSettings } from './settings/runtime-settings.ts';
import { type AppArmor, AppArmorLoader, noAppArmor } from './spec/load-apparmor-profile.ts';
import { loadSeccompProfile } from './spec/load-seccomp-profile.ts';
import { readSpecMachine } from './spec/read-spec-machine.ts';
import { createSpecBuilder } from './spec/spec-builder.ts';
import type { SpecMachine } from './spec/spec-request.ts';
import { openRecordStore } from './store/open-record-store.ts';
import { writeBackRecords } from './store/write-back-records.ts';
import { createStreamingServer } from './streaming/streaming-server.ts';

export interface EmbeddedParts {
  readonly host: Host;
  readonly settings: RuntimeSettings;
  /** The program's version, as `Version` reports it. */
  readonly version: string;
  /** Go's name of the architecture: `amd64`. */
  readonly architecture: string;
  /** Environment of the process; only proxy settings are read. */
  readonly env: ProxyEnvironment;
  readonly log: Log;
  readonly unhandled: UnhandledErrors;
  /** Absent: nothing is measured. */
  readonly metrics?: RuntimeMetrics | undefined;
}

/** Limit for `close` to wait for files that are still being removed. */
const SETTLE_TIMEOUT_MS = 2_000;

/** A CRI runtime in this process. */
export interface EmbeddedRuntime {
  readonly cri: Cri;
  readonly storage: Storage;
  readonly puller: ImagePuller;
  /** There is no record of any sandbox or container. */
  isEmpty(): boolean;
  /** Calls `listener` when pod networks were, or may have been, added or removed. Returns the function that unsubscribes. */
  onNetworkChange(listener: () => void): () => void;
  /** Stops all background work of this process; containers keep running. */
  close(): Promise<void>;
}

/**
 * Composition root of the runtime. When it resolves, sandboxes and containers of a previous process are recovered.
 */
export async function openEmbeddedRuntime(parts: EmbeddedParts, signal: AbortSignal): Promise<EmbeddedRuntime> {
  const { host, settings, log, unhandled, metrics } = parts;
  const { clock, random } = host;
  const running = new AbortController();
  const paths = runtimePaths(settings);
  const networks = createPodNetwork({ ...host, settings: settings.network, cacheDir: paths.cniCache, log });
  const podNetwork = metrics ? metrics.network(networks) : networks;
  const [foundations] = await Promise.all([openFoundations(parts, paths, signal), podNetwork.refresh()]);
  const { storage } = foundations;
  const { sandboxes, containers, events, nri } = createPods(parts, foundations, { paths, podNetwork });
  const streaming = createStreamingServer({ clock, random, network: host.network, log });
  const runtime = createRuntimeService({
    cgroupDriver: settings.cgroupDriver,
    ...host,
    ...foundations,
    ...storage,
    paths,
    podNetwork,
    events,
    nri,
    streaming,
    version: parts.version,
    storage: paths.storage,
    sandboxes: sandboxes.view,
    containers: containers.records,
    sandboxVerbs: sandboxes.verbs,
    containerVerbs: containers.verbs,
    info: () => ({ settings }),
  });
  metrics?.setRecords({ sandboxes: sandboxes.view, containers: containers.records });
  await sandboxes.recover(signal);
  await containers.recover(signal);
  const records = writeBackRecords(clock, [foundations.sandboxRecords.store, foundations.containerRecords.store]);
  const background = [
    { name: 'network configuration watch', run: (until: AbortSignal) => podNetwork.run(until), isEndless: true },
    { name: 'sandbox cleanups', run: (until: AbortSignal) => sandboxes.runCleanups(until), isEndless: true },
    { name: 'sandboxes', run: (until: AbortSignal) => sandboxes.run(until), isEndless: true },
    { name: 'containers', run: (until: AbortSignal) => containers.run(until), isEndless: true },
    nriPart(nri),
    { name: 'record write-back', run: (until: AbortSignal) => records.run(until), isEndless: true },
    { name: 'storage sweep', run: () => storage.sweep() },
  ].map((part) => supervise(part, { clock, unhandled }, running.signal).catch(() => {})); // a broken invariant is reported
  const close = async (): Promise<void> => {
    running.abort(new Error('the runtime is stopping'));
    await Promise.all([...background, streaming.close()]);
    // `sweep` of the next process removes the rest.
    await abortable(storage.settled(), clock.deadline(SETTLE_TIMEOUT_MS)).catch(() => {});
  };
  await nri.listening.catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const registries = createRegistryPuller({ ...parts, ...host, ingest: storage.ingest });
  const puller = metrics ? metrics.puller(registries) : registries;
  return {
    cri: { runtime, images: storage.imageService(puller) },
    storage,
    puller,
    isEmpty: () => sandboxes.view.all.size + containers.records.all.size === 0,
    onNetworkChange: (listener) => networks.subscribe(listener),
    close,
  };
}

/** Until its socket has listened once, an error ends the start, and `listening` rejects with it. */
function nriPart(nri: Nri): Part {
  let hasListened = false;
  nri.listening.then(
    () => {
      hasListened = true;
    },
    () => undefined,
  );
  return { name: 'nri', run: (until) => nri.run(until), isFatal: () => !hasListened };
}

type Foundations = Awaited<ReturnType<typeof openFoundations>>;

/** Creates sandboxes and containers, which refer to each other, with the events and NRI plugins that both notify. */
function createPods(
  parts: EmbeddedParts,
  foundations: Foundations,
  { paths, podNetwork }: { readonly paths: RuntimePaths; readonly podNetwork: PodNetwork },
) {
  const { host, settings, log } = parts;
  const { fs, clock } = host;
  const { storage, machine, appArmor } = foundations;
  const events = new EventHub({
    clock,
    sandboxStatus: (id) => sandboxes.view.status(id),
    containerStatuses: (id) => containers.ofSandbox.statuses(id),
  });
  const nri = openNri(parts, {
    sandboxes: () => [...sandboxes.view.all.values()],
    containers: () => containers.nri.containers(),
    update: (update, until) => containers.nri.update(update, until),
    evict: (id, reason, until) => containers.nri.evict(id, reason, until),
  });
  const common = { ...host, ...foundations, log, paths, events, nri, network: podNetwork };
  const sandboxes = createSandboxes({
    ...common,
    records: foundations.sandboxRecords,
    containers: {
      stopAll: (id, until) => containers.ofSandbox.stopAll(id, until),
      removeAll: (id, until) => containers.ofSandbox.removeAll(id, until),
      statuses: (id) => containers.ofSandbox.statuses(id),
    },
    preparePause: preparePause({
      fs,
      machine,
      pauseProgram: settings.pauseProgram,
      runtimes: foundations.runtimes,
      seccomp: (context) => loadSeccompProfile(context, machine, fs),
    }),
  });
  const containers = createContainers({
    ...common,
    records: foundations.containerRecords,
    sandboxes: sandboxes.view,
    images: storage.images,
    snapshots: storage.snapshots,
    buildSpec: createSpecBuilder({ fs, appArmor, cdiSpecDirs: settings.cdiSpecDirs }),
    ociCommand: ociCommand(host),
  });
  return { sandboxes, containers, events, nri };
}

/** Opens storage, record stores and OCI runtimes: the parts that do not depend on sandboxes. */
async function openFoundations(
  { host, settings, log, architecture }: EmbeddedParts,
  paths: RuntimePaths,
  signal: AbortSignal,
) {
  const { fs } = host;
  const { mayLowerOomScore, cgroupDriver } = settings;
  const [storage, runtimes, machine, bootId, sandboxRecords, containerRecords] = await Promise.all([
    openStorage({ ...host, log, paths, settings, architecture }),
    probeRuntimes({ host, paths, settings, log }, signal),
    readSpecMachine({ architecture, mayLowerOomScore, cgroupDriver }, fs),
    fs.readText('/proc/sys/kernel/random/boot_id').then((text) => text.trim()),
    openRecordStore({
      folder: paths.sandboxRecords,
      overflowFolder: paths.sandboxOverflow,
      fs,
      log,
      decode: decodeSandboxRecord,
    }),
    openRecordStore({
      folder: paths.containerRecords,
      overflowFolder: paths.containerOverflow,
      fs,
      log,
      decode: decodeContainerRecord,
    }),
  ]);
  const appArmor = await openAppArmor(machine, { host, paths, log });
  return { storage, runtimes, machine, appArmor, bootId, sandboxRecords, containerRecords };
}

/** Loads the default AppArmor profile, and warns where `RuntimeDefault` cannot be enforced. */
async function openAppArmor(
  machine: SpecMachine,
  { host, paths, log }: Pick<EmbeddedParts, 'host' | 'log'> & { readonly paths: RuntimePaths },
): Promise<AppArmor> {
  if (!machine.seccomp) log.warn('the kernel does not support seccomp; containers with a seccomp profile are rejected');
  if (!machine.appArmor) return noAppArmor;
  const appArmor = new AppArmorLoader({ ...host, log, recordPath: paths.appArmorProfile });
  await appArmor.refresh();
  return appArmor;
}

function openNri({ host, settings, version, log }: EmbeddedParts, runtime: NriRuntime): Nri {
  if (settings.nri === undefined) return noNri;
  const identity = { name: 'nodelet', version };
  const injectCdiDevices = createCdiInjector(settings.cdiSpecDirs, host.fs);
  return createNri({ ...host, settings: settings.nri, runtime, identity, log, injectCdiDevices });
}

/** Runs OCI runtime commands that `OciRuntime` does not offer, such as `checkpoint`. */
function ociCommand({ processes }: Host): ContainerDeps['ociCommand'] {
  return ({ program, stateRoot }, args, signal) => runRuntime({ program, stateRoot, processes }, args, signal);
}
