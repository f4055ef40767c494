import type { Container, Pod, PodSpec } from '../../src/api/generated/core-v1.ts';
import type { MachineName } from '../../src/kubelet/cpu-manager/machines.fixture.ts';
import type { ShutdownSettings } from '../../src/kubelet/shutdown/shutdown-groups.ts';
import type { TopologyPolicyName, TopologySettings } from '../../src/kubelet/topology/topology-options.ts';
import type { Draw } from './draw.ts';
import type { PlannedFault } from './plan-faults.ts';

/** A machine whose CPUs, memory and devices are assigned to pods, and which shuts down gracefully. */
export interface MachinePlan {
  readonly name: MachineName;
  /** Options of the static CPU policy. */
  readonly cpuOptions: Readonly<Record<string, string>>;
  readonly topology: TopologySettings;
  readonly isMemoryStatic: boolean;
  /** Absent: shutdowns are not delayed. */
  readonly shutdown: ShutdownSettings | undefined;
}

/** Resources of device plugins, and how many devices each has. */
export const DEVICES: ReadonlyMap<string, number> = new Map([
  ['example.com/gpu', 8],
  ['example.com/nic', 6],
]);
const RESOURCES: readonly [string, ...string[]] = ['example.com/gpu', 'example.com/nic'];

/** The drivers of the claims of each namespace. Pods share the claims. */
export const CLAIMS: ReadonlyMap<string, readonly string[]> = new Map([
  ['claim-0', ['acc.example.com']],
  ['claim-1', ['acc.example.com', 'net.example.com']],
  ['claim-2', ['net.example.com']],
]);
export const DRA_DRIVERS: readonly [string, ...string[]] = ['acc.example.com', 'net.example.com'];

export type CallFault = 'before' | 'after' | 'hang';

/** A fault of the machine's resources. */
export type MachineFault =
  /** A device is unhealthy for `ms`. */
  | { readonly kind: 'deviceHealth'; readonly resource: string; readonly index: number; readonly ms: number }
  /** The plugin is gone for `ms`. */
  | { readonly kind: 'devicePluginAway'; readonly resource: string; readonly ms: number }
  /** A new plugin registers while the old one is connected, and reports its devices after `ms`. */
  | { readonly kind: 'devicePluginRolls'; readonly resource: string; readonly ms: number }
  | { readonly kind: 'deviceCall'; readonly method: DeviceMethod; readonly how: CallFault }
  | { readonly kind: 'claimDriverAway'; readonly driver: string; readonly ms: number }
  | {
      readonly kind: 'claimCall';
      readonly driver: string;
      readonly method: 'prepare' | 'unprepare';
      readonly how: CallFault | 'claimError' | 'skip';
    }
  /** The machine is about to shut down: it is cancelled after `ms`, or powers off and boots `ms` later. */
  | { readonly kind: 'shutdown'; readonly ends: 'cancelled' | 'poweredOff'; readonly ms: number };

export type DeviceMethod = 'preferredAllocation' | 'allocate' | 'preStartContainer';

const CPU_OPTIONS: readonly [Readonly<Record<string, string>>, ...Readonly<Record<string, string>>[]] = [
  {},
  {},
  {},
  { 'full-pcpus-only': 'true' },
  { 'strict-cpu-reservation': 'true' },
];

export function drawMachine(draw: Draw): MachinePlan | undefined {
  if (!draw.chance(0.4)) return undefined;
  const name = draw.pick<MachineName>(['vm-4', 'xeon-e-2288g', 'xeon-e-2288g', 'xeon-2s-numa-off', 'xeon-4214-2s']);
  const cpuOptions = draw.pick(CPU_OPTIONS);
  const policy = draw.pick<TopologyPolicyName>(['none', 'best-effort', 'restricted', 'single-numa-node']);
  const topology: TopologySettings = { policy, scope: draw.pick(['container', 'pod'] as const), options: {} };
  const isMemoryStatic = draw.chance(0.4);
  const shutdown = draw.chance(0.6) ? drawShutdown(draw) : undefined;
  return { name, cpuOptions, topology, isMemoryStatic, shutdown };
}

function drawShutdown(draw: Draw): ShutdownSettings {
  const byPriority = [
    { priority: 0, seconds: draw.int(5, 40) },
    { priority: 1_000, seconds: draw.int(5, 20) },
    { priority: 2_000_000_000, seconds: draw.int(5, 20) },
  ];
  const isByPriority = draw.chance(0.5);
  return { graceMs: 45_000, criticalMs: 15_000, byPriority: isByPriority ? byPriority : [], isPriorityOn: true };
}

/** Draws faults until `untilMs`. */
export function drawMachineFaults(draw: Draw, { shutdown }: MachinePlan, untilMs: number): PlannedFault[] {
  const at = (): number => draw.int(0, untilMs);
  const faults: PlannedFault[] = [
    ...draw.several(0, 12, (): PlannedFault => {
      return {
        at: at(),
        kind: 'deviceHealth',
        resource: draw.pick(RESOURCES),
        index: draw.int(0, 7),
        ms: draw.int(1_000, 400_000),
      };
    }),
    ...draw.several(0, 4, (): PlannedFault => {
      const kind = draw.pick(['devicePluginAway', 'devicePluginRolls'] as const);
      return {
        at: at(),
        kind,
        resource: draw.pick(RESOURCES),
        ms: draw.int(100, kind === 'devicePluginAway' ? 500_000 : 20_000),
      };
    }),
    ...draw.several(0, 8, (): PlannedFault => {
      const method = draw.pick<DeviceMethod>(['allocate', 'allocate', 'preStartContainer', 'preferredAllocation']);
      return { at: at(), kind: 'deviceCall', method, how: draw.pick<CallFault>(['before', 'after', 'hang']) };
    }),
    ...draw.several(0, 3, (): PlannedFault => {
      return { at: at(), kind: 'claimDriverAway', driver: draw.pick(DRA_DRIVERS), ms: draw.int(1_000, 300_000) };
    }),
    ...draw.several(0, 14, (): PlannedFault => {
      const how = draw.pick(['before', 'after', 'after', 'hang', 'claimError', 'skip'] as const);
      return {
        at: at(),
        kind: 'claimCall',
        driver: draw.pick(DRA_DRIVERS),
        method: draw.pick(['prepare', 'unprepare'] as const),
        how,
      };
    }),
    ...draw.several(0, 6, (): PlannedFault => {
      const how = draw.pick(['before', 'after'] as const);
      const fault = { kind: how, code: 'Unavailable', delayMs: 0, listsFailMs: 0 } as const;
      return { at: at(), kind: 'rpc', method: 'updateContainerResources', fault };
    }),
    ...(shutdown
      ? draw.several(0, 2, (): PlannedFault => {
          const ends = draw.pick(['cancelled', 'poweredOff'] as const);
          return { at: at(), kind: 'shutdown', ends, ms: draw.int(1_000, 60_000) };
        })
      : []),
  ];
  return faults;
}

/** The number of pods that are added to a world with such a machine. */
export const BOUND_PODS = 12;

type Kind = 'cpus' | 'devices' | 'both' | 'claims' | 'shared';
const KINDS: readonly [Kind, ...Kind[]] = ['cpus', 'cpus', 'devices', 'both', 'claims', 'claims', 'claims', 'shared'];

/** Gives a pod resources of the machine. The result depends only on the draw: an edited pod keeps them. */
export function withMachineResources(draw: Draw, pod: Pod, { hasClaims }: { readonly hasClaims: boolean }): Pod {
  const kind = draw.pick(KINDS);
  const priority = draw.pick([undefined, undefined, 1_000, 5_000, 2_000_000_000] as const);
  const prior = { ...pod, spec: { ...pod.spec, ...(hasClaims && priority !== undefined && { priority }) } };
  const cpus = kind === 'cpus' || kind === 'both' ? withCpus(draw, prior.spec) : prior.spec;
  const devices = kind === 'devices' || kind === 'both' ? withDevices(draw, cpus) : cpus;
  const spec = kind === 'claims' && hasClaims ? withClaims(draw, devices) : devices;
  return { ...prior, spec };
}

/** A Guaranteed pod: its first main container has whole CPUs, and some of the others. */
function withCpus(draw: Draw, spec: PodSpec): PodSpec {
  const assigned = (container: Container, isFirst: boolean): Container => {
    const isWhole = isFirst || draw.chance(0.25);
    const cpu = isWhole ? String(draw.int(1, 3)) : '50m';
    const amounts = { cpu, memory: draw.pick(['64Mi', '256Mi', '1Gi']) };
    return { ...container, resources: { requests: amounts, limits: amounts } };
  };
  const initContainers = spec.initContainers?.map((each) => assigned(each, false));
  const containers = spec.containers.map((each, index) => assigned(each, index === 0));
  return { ...spec, ...(initContainers && { initContainers }), containers };
}

function withDevices(draw: Draw, spec: PodSpec): PodSpec {
  const added = (container: Container): Container => {
    const more = { [draw.pick(RESOURCES)]: String(draw.int(1, 2)) };
    const { requests, limits } = container.resources ?? {};
    return { ...container, resources: { requests: { ...requests, ...more }, limits: { ...limits, ...more } } };
  };
  const initContainers = spec.initContainers?.map((each) => (draw.chance(0.2) ? added(each) : each));
  const containers = spec.containers.map((each, index) => (index === 0 || draw.chance(0.2) ? added(each) : each));
  return { ...spec, ...(initContainers && { initContainers }), containers };
}

function withClaims(draw: Draw, spec: PodSpec): PodSpec {
  const names = [...CLAIMS.keys()].filter(() => draw.chance(0.5));
  const resourceClaims = (names.length > 0 ? names : ['claim-1']).map((name) => ({ name, resourceClaimName: name }));
  const using = (container: Container): Container => {
    const claims = resourceClaims.map(({ name }) => ({ name }));
    return { ...container, resources: { ...container.resources, claims } };
  };
  const containers = spec.containers.map((each, index) => (index === 0 || draw.chance(0.3) ? using(each) : each));
  return { ...spec, resourceClaims, containers };
}
