import type { MemoryHost } from '../../src/host/fake/memory-host.ts';
import type { ApiServer } from '../../src/kubelet/api-client/api-server.ts';
import { type CsiDriver, CsiDriverNotFoundError, type CsiDrivers } from '../../src/plugins/csi/csi-drivers.ts';
import { type CsiCall, type CsiFault, FakeCsiDriver } from '../../src/plugins/fake/fake-csi-driver.ts';
import { mountCsiVolumes } from '../../src/plugins/fake/mount-csi-volumes.ts';
import type { Draw } from './draw.ts';
import type { Gate } from './gate.ts';
import { CSI_DRIVER, DISKS, type DiskFault } from './plan-disks.ts';
import { NAMESPACES } from './plan-objects.ts';

const FOREVER = new AbortController().signal;
const DATA_DIR = '/srv/disks';

export interface SimDisksDeps {
  readonly host: MemoryHost;
  /** Called for each call of the agent, before it has any effect. */
  readonly onCall: (call: CsiCall) => void;
  /** The agent broke a rule of CSI. */
  readonly onBrokenRule: (message: string) => void;
}

/** A CSI driver, which outlives the agent processes, and the claims that are bound to its volumes. */
export class SimDisks {
  #driver: FakeCsiDriver;
  readonly #faults: { readonly method: string; readonly fault: CsiFault }[] = [];
  readonly #listeners = new Set<(name: string) => void>();
  readonly #deps: SimDisksDeps;
  readonly #clock: MemoryHost['clock'];
  #isAway = false;

  constructor(deps: SimDisksDeps) {
    this.#clock = deps.host.clock;
    this.#deps = deps;
    this.#driver = this.#newDriver();
  }

  /** The machine was powered off: nothing is mounted any more. */
  reset(): void {
    this.#driver = this.#newDriver();
  }

  #newDriver(): FakeCsiDriver {
    const { host, onCall, onBrokenRule } = this.#deps;
    return new FakeCsiDriver({
      name: CSI_DRIVER,
      clock: host.clock,
      capabilities: ['STAGE_UNSTAGE_VOLUME'],
      effects: mountCsiVolumes({ fs: host.fs, mounts: host.mounts, dataDir: DATA_DIR }),
      faultOf: (call) => {
        onCall(call);
        return this.#takeFault(call);
      },
      onBrokenRule,
    });
  }

  /** Paths at which volumes are published. */
  get published(): ReadonlySet<string> {
    return new Set(Object.values(this.#driver.volumes).flatMap(({ published }) => published.map(({ path }) => path)));
  }

  /** Ids of the volumes that are staged or published. */
  get inUse(): readonly string[] {
    return Object.keys(this.#driver.volumes);
  }

  /** Creates the bound claims of all namespaces. */
  async prepare(api: ApiServer): Promise<void> {
    const driver = { metadata: { name: CSI_DRIVER }, spec: { attachRequired: false } };
    await api.create({ resource: 'csidrivers', namespace: '', name: CSI_DRIVER }, driver, FOREVER);
    for (const namespace of NAMESPACES) for (const name of DISKS) await bindClaim(api, namespace, name);
  }

  inject(fault: DiskFault): void {
    if (fault.kind === 'csi') {
      this.#faults.push(fault);
      return;
    }
    this.#isAway = true;
    this.#clock.schedule(fault.ms, () => this.#register());
  }

  endFaults(): void {
    this.#faults.length = 0;
    this.#register();
  }

  /** The registered drivers as one agent process reaches them. */
  driversOf(gate: Gate, pace: Draw): CsiDrivers {
    const call = <R, T>(work: (request: R, signal: AbortSignal) => Promise<T>) => {
      return (request: R, signal: AbortSignal): Promise<T> =>
        gate.pass(async () => {
          if (pace.chance(0.5)) await gate.clock.sleep(pace.int(1, 2_000), signal);
          return work(request, AbortSignal.any([signal, gate.closed]));
        });
    };
    const inner = this.#driver; // a power off ends the agent process, too
    const driver: CsiDriver = {
      name: inner.name,
      capabilities: inner.capabilities,
      stageVolume: call((request, signal) => inner.stageVolume(request, signal)),
      unstageVolume: call((request, signal) => inner.unstageVolume(request, signal)),
      publishVolume: call((request, signal) => inner.publishVolume(request, signal)),
      unpublishVolume: call((request, signal) => inner.unpublishVolume(request, signal)),
      expandVolume: call((request, signal) => inner.expandVolume(request, signal)),
      volumeStats: call((request, signal) => inner.volumeStats(request, signal)),
    };
    return {
      driver: (name) => {
        if (this.#isAway || name !== CSI_DRIVER) throw new CsiDriverNotFoundError(name);
        return driver;
      },
      subscribe: (listener) => {
        const each = (name: string): void => {
          if (!gate.isClosed) listener(name);
        };
        this.#listeners.add(each);
        return () => void this.#listeners.delete(each);
      },
    };
  }

  #register(): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    for (const listener of [...this.#listeners]) listener(CSI_DRIVER);
  }

  #takeFault({ method }: CsiCall): CsiFault | undefined {
    const index = this.#faults.findIndex((each) => each.method === method);
    return index < 0 ? undefined : this.#faults.splice(index, 1)[0]?.fault;
  }
}

async function bindClaim(api: ApiServer, namespace: string, name: string): Promise<void> {
  const volumeName = `pv-${namespace}-${name}`;
  const claimKey = { resource: 'persistentvolumeclaims', namespace, name } as const;
  const claim = await api.create(claimKey, { metadata: { name, namespace }, spec: { volumeName } }, FOREVER);
  await api.patch(claimKey, { status: { phase: 'Bound' } }, { subresource: 'status' }, FOREVER);
  const spec = {
    accessModes: ['ReadWriteOnce'],
    csi: { driver: CSI_DRIVER, volumeHandle: volumeName },
    claimRef: { namespace, name, uid: claim.metadata.uid },
  };
  const key = { resource: 'persistentvolumes', namespace: '', name: volumeName } as const;
  await api.create(key, { metadata: { name: volumeName }, spec }, FOREVER);
}
