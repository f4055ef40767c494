import type { FakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import type { MemoryFileSystem } from '../../src/host/fake/memory-file-system.ts';
import type { MemoryHost } from '../../src/host/fake/memory-host.ts';
import type { VirtualClock } from '../../src/host/fake/virtual-clock.ts';
import type { FileSystemUsage } from '../../src/host/file-system.ts';
import type { ApiFault } from '../../src/kubelet/api-client/fake/api-faults.ts';
import type { MemoryApiServer } from '../../src/kubelet/api-client/fake/memory-api-server.ts';
import { SETTINGS } from '../agent/memory-agent.ts';
import type { ClusterState } from './cluster-state.ts';
import type { MachineSide } from './machine-side.ts';
import { type PendingFaults, simulatedError } from './pending-faults.ts';
import type { ClusterFault } from './plan-cluster.ts';
import type { PlannedApiFault, PlannedFault } from './plan-faults.ts';
import type { SimDisks } from './sim-disks.ts';

/** A planned kill of the agent. */
export type PlannedKill = Extract<PlannedFault, { kind: 'kill' }>;

export interface InjectFaultDeps {
  readonly clock: VirtualClock;
  readonly runtime: FakeRuntime;
  readonly apiServer: MemoryApiServer;
  readonly faults: PendingFaults;
  readonly fs: MemoryFileSystem;
  readonly clusterState: ClusterState;
  readonly disks: SimDisks;
  readonly machine: MachineSide | undefined;
  readonly memory: Pick<MemoryHost, 'cgroupStats' | 'pressureEvents'>;
  readonly kill: (planned: PlannedKill) => void;
}

/** Applies a fault, or queues it for the call that it affects. */
export function injectFault(fault: PlannedFault, deps: InjectFaultDeps): void {
  const { clock, runtime, apiServer, faults, clusterState, kill } = deps;
  switch (fault.kind) {
    case 'rpc':
      return faults.addRpc(fault.method, fault.fault);
    case 'runtimeDown':
      faults.isRuntimeDown = true;
      clusterState.setSilent(true);
      clock.schedule(fault.ms, () => {
        faults.isRuntimeDown = false;
        clusterState.setSilent(false);
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
      clusterState.noteApiFault(fault.ms);
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
    case 'csi':
    case 'csiAway':
      return deps.disks.inject(fault);
    case 'memoryShort':
      useMemory(true, deps);
      clock.schedule(fault.ms, () => useMemory(false, deps));
      return;
    case 'deviceHealth':
    case 'devicePluginAway':
    case 'devicePluginRolls':
    case 'deviceCall':
    case 'claimDriverAway':
    case 'claimCall':
    case 'shutdown':
      return deps.machine?.inject(fault);
    case 'loseSandbox':
      return loseSandbox(fault.index, runtime);
    case 'crash':
      return crash(fault.index, runtime);
    default:
      return injectClusterFault(fault, deps);
  }
}

function injectClusterFault(fault: ClusterFault, { clock, runtime, faults, clusterState }: InjectFaultDeps): void {
  switch (fault.kind) {
    case 'apiBusy':
    case 'apiSlow':
      faults.apiDegradation = fault;
      clock.schedule(fault.ms, () => {
        if (faults.apiDegradation === fault) faults.apiDegradation = undefined;
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
      setNetwork(false, runtime, clusterState);
      clock.schedule(fault.ms, () => setNetwork(true, runtime, clusterState));
      return;
  }
}

/** Ends all faults that last, and forgets those that wait for a call. */
export function endFaults({ runtime, apiServer, faults, clusterState, disks, machine }: InjectFaultDeps): void {
  faults.clear();
  disks.endFaults();
  machine?.endFaults();
  apiServer.faults.setOutage(false);
  clusterState.setSilent(false);
  setNetwork(true, runtime, clusterState);
}

function setNetwork(hasNetwork: boolean, runtime: FakeRuntime, clusterState: ClusterState): void {
  const condition = hasNetwork ? {} : { reason: 'NetworkPluginNotReady', message: 'cni plugin not initialized' };
  runtime.setCondition('NetworkReady', { status: hasNetwork, ...condition });
  clusterState.setNetwork(hasNetwork);
}

/** The node is under disk pressure below this percentage of free space. */
export const SHORT_PERCENT = 10;

function useDisk(percent: number, { fs, clusterState }: InjectFaultDeps): void {
  fs.setUsage('/', diskUsedTo(percent));
  clusterState.setDiskShort(100 - percent < SHORT_PERCENT);
}

/** The kernel reports that tasks wait for memory. */
function useMemory(isShort: boolean, { memory, clusterState }: InjectFaultDeps): void {
  setMemory(memory, isShort);
  clusterState.setMemoryShort(isShort);
  if (isShort) memory.pressureEvents.stall();
}

/** Lets the machine use all of its memory, or little of it. */
export function setMemory({ cgroupStats }: Pick<MemoryHost, 'cgroupStats'>, isShort: boolean): void {
  const bytes = isShort ? SETTINGS.memoryCapacityBytes : 2 ** 30;
  const figures = { usageBytes: bytes, workingSetBytes: bytes, rssBytes: bytes, pageFaults: 0, majorPageFaults: 0 }; // words: quoted
  cgroupStats.set('/', { memory: figures });
}

const DISK_BYTES = 100 * 2 ** 20;

function diskUsedTo(percent: number): FileSystemUsage {
  const availableBytes = (DISK_BYTES / 100) * (100 - percent);
  const usedBytes = DISK_BYTES - availableBytes;
  return { capacityBytes: DISK_BYTES, availableBytes, usedBytes, inodes: 1e6, inodesFree: 1e6 };
}

function loseSandbox(index: number, runtime: FakeRuntime): void {
  const ready = [...runtime.sandboxes.values()].filter(({ state }) => state === 'ready');
  const lost = ready[index % ready.length];
  if (lost) runtime.loseSandbox(lost.id);
}

function crash(index: number, runtime: FakeRuntime): void {
  const running = [...runtime.containers.values()].filter(({ state: phase }) => phase.phase === 'running');
  const crashed = running[index % running.length];
  if (crashed) runtime.exitContainer(crashed.id, { exitCode: 137, reason: 'OOMKilled' });
}

function apiFault(fault: PlannedApiFault): ApiFault {
  if (fault.kind === 'delay') return fault;
  return { kind: fault.kind, error: simulatedError(fault.reason) };
}
