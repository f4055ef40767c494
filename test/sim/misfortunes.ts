import type { FakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import type { MemoryFileSystem } from '../../src/host/fake/memory-file-system.ts';
import type { VirtualClock } from '../../src/host/fake/virtual-clock.ts';
import type { FileSystemUsage } from '../../src/host/file-system.ts';
import { ApiError } from '../../src/kubelet/cluster/api-server.ts';
import type { ApiFault } from '../../src/kubelet/cluster/fake/api-faults.ts';
import type { MemoryApiServer } from '../../src/kubelet/cluster/fake/memory-api-server.ts';
import type { FaultBox } from './fault-box.ts';
import type { PlannedApiFault, PlannedFault } from './plan-faults.ts';

/** The kill of an agent, as it is planned. */
export type PlannedKill = Extract<PlannedFault, { kind: 'kill' }>;

export interface StrikeDeps {
  readonly clock: VirtualClock;
  readonly runtime: FakeRuntime;
  readonly apiServer: MemoryApiServer;
  readonly faults: FaultBox;
  readonly fs: MemoryFileSystem;
  readonly kill: (planned: PlannedKill) => void;
}

/** Makes a misfortune happen, or lets it wait for the call that it is to hit. */
export function strike(fault: PlannedFault, { clock, runtime, apiServer, faults, fs, kill }: StrikeDeps): void {
  switch (fault.kind) {
    case 'rpc':
      return faults.addRpc(fault.method, fault.fault);
    case 'runtimeDown':
      faults.isRuntimeDown = true;
      clock.schedule(fault.ms, () => {
        faults.isRuntimeDown = false;
      });
      return runtime.breakEventStreams();
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
      fs.setUsage('/', diskUsedTo(fault.usedPercent));
      clock.schedule(fault.ms, () => fs.setUsage('/', diskUsedTo(0)));
      return;
    }
    case 'api':
      return faults.addApi(fault.verb, apiFault(fault.fault));
    case 'apiDown':
      apiServer.faults.setOutage(true);
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
      return runtime.breakEventStreams();
    case 'jump':
      return clock.jump(fault.ms);
    case 'kill':
      return kill(fault);
    case 'loseSandbox':
      return loseSandbox(fault.place, runtime);
    case 'crash':
      return crash(fault.place, runtime);
  }
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
  const running = [...runtime.containers.values()].filter(({ phase }) => phase.phase === 'running');
  const crashed = running[place % running.length];
  if (crashed) runtime.exitContainer(crashed.id, { exitCode: 137, reason: 'OOMKilled' });
}

function apiFault(fault: PlannedApiFault): ApiFault {
  if (fault.kind === 'delay') return fault;
  return { kind: fault.kind, error: new ApiError(fault.reason, 'simulated') };
}
