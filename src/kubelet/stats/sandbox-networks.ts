import type { NetworkStats } from '../../api/stats-summary.ts';
import { formatNanoTime } from '../../base/rfc3339.ts';
import type { CgroupDriver, Cgroups } from '../../host/cgroups.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { parseNetDev } from '../../host/net-dev.ts';
import { containerCgroups } from './container-cgroups.ts';
import { networkStats } from './network-stats.ts';

export interface NetworkTarget {
  readonly sandbox: { readonly id: string; readonly hostNetwork: boolean };
  readonly containers: readonly { readonly id: string }[];
  readonly cgroup: string | undefined;
}

export interface SandboxNetworksDeps {
  readonly fs: Pick<FileSystem, 'readText'>;
  readonly cgroups: Pick<Cgroups, 'processes'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly cgroupDriver: CgroupDriver;
}

/** Networks of pods whose runtime does not report them, read through a process of the pod. */
export class SandboxNetworks {
  readonly #deps: SandboxNetworksDeps;
  /** A process of each sandbox. */
  readonly #pids = new Map<string, number>();

  constructor(deps: SandboxNetworksDeps) {
    this.#deps = deps;
  }

  /** By sandbox id; without pods on the host network. */
  async read(targets: readonly NetworkTarget[]): Promise<ReadonlyMap<string, NetworkStats>> {
    const own = targets.filter(({ sandbox }) => !sandbox.hostNetwork);
    const ids = new Set(own.map(({ sandbox }) => sandbox.id));
    for (const id of this.#pids.keys()) if (!ids.has(id)) this.#pids.delete(id);
    const networks = new Map<string, NetworkStats>();
    for (const target of own) {
      const text = await this.#counters(target);
      const time = formatNanoTime(BigInt(Math.trunc(this.#deps.clock.now())) * 1_000_000n);
      if (text !== undefined) networks.set(target.sandbox.id, networkStats(time, parseNetDev(text)));
    }
    return networks;
  }

  async #counters(target: NetworkTarget): Promise<string | undefined> {
    const { id } = target.sandbox;
    const known = this.#pids.get(id);
    const text = known === undefined ? undefined : await this.#countersOf(known);
    if (text !== undefined) return text;
    const pid = await this.#findProcess(target);
    if (pid === undefined) return undefined;
    this.#pids.set(id, pid);
    return this.#countersOf(pid);
  }

  /** `undefined` if the process has ended. */
  async #countersOf(pid: number): Promise<string | undefined> {
    return this.#deps.fs.readText(`/proc/${pid}/net/dev`).catch(() => undefined);
  }

  /** The sandbox has a process of its own, which lives as long as it; without one, any container is as good. */
  async #findProcess({ sandbox, containers, cgroup }: NetworkTarget): Promise<number | undefined> {
    const { cgroups, cgroupDriver } = this.#deps;
    const paths = containerCgroups({ cgroup, containers: [sandbox, ...containers] }, cgroupDriver);
    for (const path of [...paths.values()].flat()) {
      const [pid] = await cgroups.processes(path).catch(() => []);
      if (pid !== undefined) return pid;
    }
    return undefined;
  }
}
