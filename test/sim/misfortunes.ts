import type { FakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import type { MemoryFileSystem } from '../../src/host/fake/memory-file-system.ts';
import type { VirtualClock } from '../../src/host/fake/virtual-clock.ts';
import type { FileSystemUsage } from '../../src/host/file-system.ts';
import type { ApiFault } from '../../src/kubelet/api-client/fake/api-faults.ts';
import type { MemoryApiServer } from '../../src/kubelet/api-client/fake/memory-api-server.ts';
import type { ClusterBook } from './cluster-book.ts';
import { type FaultBox, refusal } from './fault-box.ts';
import type { ClusterFault } from './plan-cluster.ts';
import type { PlannedApiFault, PlannedFault } from './plan-faults.ts';

/** The kill of an agent, as it is planned. */
export type PlannedKill = Extract<PlannedFault, { kind: 'kill' }>;

export interface StrikeDeps {
  readonly clock: VirtualClock;
  readonly runtime: FakeRuntime;
  readonly apiServer: MemoryApiServer;
  readonly faults: FaultBox;
  readonly fs: MemoryFileSystem;
  readonly book: ClusterBook;
  readonly kill: (planned: PlannedKill) => void;
}

/** Makes a misfortune happen, or lets it wait for the call that it is to hit. */
export function strike(fault: PlannedFault, deps: StrikeDeps): void {
  const { clock, runtime, apiServer, faults, book, kill } = deps;
  switch (fault.kind) {
    case 'rpc':
      return faults.addRpc(fault.method, fault.fault);
    case 'runtimeDown':
      faults.isRuntimeDown = true;
      book.setSilent(true);
      clock.schedule(fault.ms, () => {
        faults.isRuntimeDown = false;
        book.setSilent(false);
      });
      return runtime.failEventStreams();
    case 'file':
    case 'mount':
    case 'cgroup':
      return faults.addHost(fault.operation, fault.code);
    case 'diskFull':
      faults.isDiskFull = true;
      clock.schedule(fault.ms, () => {
        faults.isDiskFull = false;
      });
      return;
    case 'imageDisk': {
      useDisk(fault.usedPercent, deps);
      clock.schedule(fault.ms, () => useDisk(0, deps));
      return;
    }
    case 'api':
      return faults.addApi(fault.verb, apiFault(fault.fault));
    case 'apiDown':
      apiServer.faults.setOutage(true);
      book.serverTrouble(fault.ms);
      clock.schedule(fault.ms, () => apiServer.faults.setOutage(false));
      return;
    case 'closeWatches':
      if (fault.forgets) apiServer.compact();
      return apiServer.closeWatches();
    case 'loseEvent':
      faults.lostEvents++;
      return;
    case 'delayEvent':
      faults.delayedEvents.push(fault.ms);
      return;
    case 'breakStreams':
      return runtime.failEventStreams();
    case 'jump':
      return clock.jump(fault.ms);
    case 'kill':
      return kill(fault);
    case 'loseSandbox':
      return loseSandbox(fault.place, runtime);
    case 'crash':
      return crash(fault.place, runtime);
    default:
      return strikeCluster(fault, deps);
  }
}

function strikeCluster(fault: ClusterFault, { clock, runtime, faults, book }: StrikeDeps): void {
  switch (fault.kind) {
    case 'apiBusy':
    case 'apiSlow':
      faults.apiMood = fault;
      clock.schedule(fault.ms, () => {
        if (faults.apiMood === fault) faults.apiMood = undefined;
      });
      return;
    case 'eventsDown':
      faults.eventsDown = fault;
      clock.schedule(fault.ms, () => {
        if (faults.eventsDown === fault) faults.eventsDown = undefined;
      });
      return;
    case 'apiHang':
      return faults.addApi(fault.verb, { kind: 'hang' });
    case 'networkDown':
      setNetwork(false, runtime, book);
      clock.schedule(fault.ms, () => setNetwork(true, runtime, book));
      return;
  }
}

export function setNetwork(hasNetwork: boolean, runtime: FakeRuntime, book: ClusterBook): void {
  const words = hasNetwork ? {} : { reason: 'NetworkPluginNotReady', message: 'cni plugin not initialized' };
  runtime.setCondition('NetworkReady', { status: hasNetwork, ...words });
  book.setNetwork(hasNetwork);
}

/** Below which share of the disk the node is short of it, in percent. */
export const SHORT_PERCENT = 10;

function useDisk(percent: number, { fs, book }: StrikeDeps): void {
  fs.setUsage('/', diskUsedTo(percent));
  book.setDiskShort(100 - percent < SHORT_PERCENT);
}

const DISK_BYTES = 100 * 2 ** 20;

function diskUsedTo(percent: number): FileSystemUsage {
  const availableBytes = (DISK_BYTES / 100) * (100 - percent);
  return { capacityBytes: DISK_BYTES, availableBytes, inodes: 1e6, inodesFree: 1e6 };
}

function loseSandbox(place: number, runtime: FakeRuntime): void {
  const ready = [...runtime.sandboxes.values()].filter(({ state }) => state === 'ready');
  const lost = ready[place % ready.length];
  if (lost) runtime.loseSandbox(lost.id);
}

function crash(place: number, runtime: FakeRuntime): void {
  const running = [...runtime.containers.values()].filter(({ state: phase }) => phase.phase === 'running');
  const crashed = running[place % running.length];
  if (crashed) runtime.exitContainer(crashed.id, { exitCode: 137, reason: 'OOMKilled' });
}

function apiFault(fault: PlannedApiFault): ApiFault {
  if (fault.kind === 'delay') return fault;
  return { kind: fault.kind, error: refusal(fault.reason) };
}
